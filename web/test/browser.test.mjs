// The page in a real browser, on a platform of its own: what a visitor reads on every page, in both themes and both
// languages, without an error, a warning of the policy or a request that leads elsewhere.
// HEKLA is the binary, CHROMIUM the browser; SCREENSHOTS, if set, a directory for pictures of every page.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url));
const hekla = process.env.HEKLA, shots = process.env.SCREENSHOTS;
const data = fs.mkdtempSync(path.join(os.tmpdir(), "hekla-page-"));
let platform, browser, base;

async function start_platform() {
  platform = spawn(hekla, ["up", "--data-dir", data, "--listen", "127.0.0.1:0", "--web-listen", "127.0.0.1:0", "--no-agent",
    "--fake-nodes", "4", "--fake-node-resources", "cpu=8,memory=32Gi,pods=110,nvidia.com/gpu=2"], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  base = await new Promise((done, failed) => {
    const read = (piece) => {
      text += piece;
      const found = /the dashboard is at (http:\/\/\S+)/.exec(text);
      if (found) done(found[1]);
    };
    platform.stdout.on("data", read);
    platform.stderr.on("data", read);
    platform.on("exit", () => failed(new Error(text)));
    setTimeout(() => failed(new Error(`not ready: ${text}`)), 60_000).unref();
  });
}
const apply = (file) => execFileSync(hekla, ["apply", "--data-dir", data, "-f", file], { encoding: "utf8" });

before(async () => {
  assert.ok(hekla, "HEKLA names the binary");
  await start_platform();
  apply(path.join(here, "objects.yaml"));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
});
after(async () => {
  await browser?.close();
  if (platform?.exitCode === null) { platform.kill("SIGTERM"); await new Promise((done) => platform.on("exit", done)); }
  fs.rmSync(data, { recursive: true, force: true });
});

// A page that has logged in; whatever goes wrong in it fails the test at its end.
async function visit(theme, language, run, refused = /status of (401|404|501)/) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  await context.addInitScript(([to, tongue]) => {
    if (self !== top) return;  // documents of steps, in their sandbox
    localStorage.setItem("hekla.theme", to);
    localStorage.setItem("hekla.language", tongue);
    localStorage.setItem("/centraldashboard/selectedNamespace/.user@example.com", "default");
    addEventListener("securitypolicyviolation", (event) => { console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`); });
  }, [theme, language]);
  const page = await context.newPage(), wrong = [];
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => { if (message.type() === "error" && !refused.test(message.text())) wrong.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith(base) && !request.url().startsWith("data:")) wrong.push(`leads elsewhere: ${request.url()}`); });
  await page.goto(`${base}/`);
  await page.fill("#login", "user@example.com");
  await page.fill("#password", "12341234");
  await page.click("#submit-login");
  await page.waitForSelector(".shell");
  try { await run(page); } finally { await context.close(); }
  assert.deepEqual(wrong, []);
}
const PAGES = [
  ["/", "Newest jobs", "最新作业"], ["/submit", "Drop YAML files here", "将 YAML 文件拖到这里"], ["/jobs", "waits-for-room", "waits-for-room"], ["/jobs/vcjob/default/small", "small", "small"],
  ["/jobs/vcjob/default/waits-for-room", "Why it waits", "等待原因"], ["/pods", "small-worker-0", "small-worker-0"], ["/pods/default/small-worker-0", "tensorflow", "tensorflow"],
  ["/queues", "research", "research"], ["/queues/research", "Overview", "概览"], ["/nodes", "fake-0", "fake-0"], ["/nodes/fake-0", "Resources", "资源"], ["/events", "Reason", "原因"],
  ["/jupyter/", "Notebooks", "笔记本"], ["/tensorboards/", "TensorBoards", "TensorBoard"], ["/volumes/", "workspace", "workspace"], ["/volumes/volume/details/default/workspace", "ReadWriteOnce", "ReadWriteOnce"],
  ["/pipelines", "Pipelines", "流水线"], ["/experiments", "Experiments", "实验"], ["/runs", "Runs", "运行"], ["/recurringruns", "Recurring runs", "周期运行"], ["/artifacts", "Artifacts", "制品"],
  ["/manage-users", "user@example.com", "user@example.com"], ["/no-such-page", "There is no such page", "没有这个页面"],
];
for (const [theme, language] of [["light", "en"], ["dark", "zh"]])
  test(`every page, ${theme}, ${language}`, async () => visit(theme, language, async (page) => {
    for (const [at, english, chinese] of PAGES) {
      await page.goto(base + at);
      await page.locator("#content").getByText(language === "en" ? english : chinese).first().waitFor();
      if (shots) { await page.waitForTimeout(400); await page.screenshot({ path: path.join(shots, `${at.replace(/\W+/g, "_")}-${theme}-${language}.png`) }); }
    }
  }));

test("a change is seen at once, and a job goes by the form", async () => visit("light", "en", async (page) => {
  await page.goto(`${base}/jobs`);
  await page.getByRole("link", { name: "small", exact: true }).waitFor();
  await page.goto(`${base}/submit`);
  await page.getByLabel("Name *").fill("by-form");
  await page.locator(".cm-line", { hasText: "name: by-form" }).first().waitFor();  // what will be sent has followed
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.waitForURL(/\/jobs\/vcjob\/default\/by-form$/);
  await page.locator(".state", { hasText: "Running" }).first().waitFor();
  await page.locator("a.cell.run").nth(2).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL(/\/jobs$/);
}));

test("a notebook goes by the form, is stopped, started and deleted", async () => visit("light", "en", async (page) => {
  await page.goto(`${base}/jupyter/new`);
  await page.getByLabel("Namespace").selectOption("default");
  await page.getByLabel("Name *").fill("Not-A-Label");
  await page.getByText("Small letters, digits and dashes; a letter first.").waitFor();
  assert.ok(await page.getByRole("button", { name: "Launch" }).isDisabled());
  await page.getByLabel("Name *").fill("first");
  await page.getByRole("button", { name: "Remove" }).click();  // the workspace: nobody makes volumes without a node agent
  await page.getByRole("button", { name: "Launch" }).click();
  await page.waitForURL(/\/jupyter\/$/);
  const row = page.getByRole("row", { name: /first/ });
  await row.getByText("Running").waitFor();
  assert.match(await row.getByRole("button", { name: "Connect" }).getAttribute("href"), /\/notebook\/default\/first\/$/);
  await row.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Stop" }).click();
  await row.getByText("Stopped").waitFor();
  assert.equal(await row.getByRole("button", { name: "Connect" }).getAttribute("href"), null);
  await row.getByRole("button", { name: "Start" }).click();
  await row.getByText("Running").waitFor();
  await row.getByRole("link", { name: "first" }).click();
  await page.getByText("jupyter-scipy").first().waitFor();
  await page.locator("#content").getByText("user@example.com").waitFor();
  if (shots) await page.screenshot({ path: path.join(shots, "notebook.png") });
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL(/\/jupyter\/$/);
  await page.getByText("No notebooks yet").waitFor();
}));

// The pages of pipelines on answers of our own: what they make of a run does not depend on what runs here.
const read_json = (name) => JSON.parse(fs.readFileSync(path.join(here, name), "utf8"));
const MADE = "2026-01-02T03:04:05Z";
function pipeline_answers(asked) {
  const run = read_json("run.json"), tasks = read_json("tasks.json");
  const other = { ...run, run_id: "r2", display_name: "weekly", state: "SUCCEEDED", error: undefined, runtime_config: { parameters: { epochs: 9 } } };
  const others = { tasks: tasks.tasks.map((task) => JSON.parse(JSON.stringify(task).replaceAll('"r1', '"r2').replace('"epochs":5', '"epochs":9').replace("0.9825", "0.9911"))) };
  const recurring = { recurring_run_id: "c1", display_name: "each-night", status: "ENABLED", created_at: MADE, experiment_id: "e1", max_concurrency: "2", trigger: { cron_schedule: { cron: "0 0 3 * * *" } }, no_catchup: true, pipeline_spec: run.pipeline_spec };
  const artifact = { artifact_id: "7", run_id: "r1", task_id: "r1/root/load", name: "data", type: "system.Dataset", uri: "minio://mlpipeline/v2/data", metadata: {}, created_at: MADE };
  const texts = { "v2/data": "number,label\n1,one\n2,two\n", "v2/notes": "# Notes\n\n* **sharp** edges\n* see [the log](https://example.com/log)\n" };
  return (route) => {
    const request = route.request(), url = new URL(request.url()), at = url.pathname.replace("/apis/v2beta1", "");
    if (request.method() !== "GET") asked.push(`${request.method()} ${at} ${request.headers()["x-xsrf-token"] ? "with its token" : ""} ${request.postData() ?? ""}`);
    if (at === "/artifacts/get" && url.searchParams.get("view")) return route.fulfill({ contentType: "text/html", body: "<!doctype html><h1>Confident</h1>", headers: { "Content-Security-Policy": "sandbox" } });
    if (at === "/artifacts/get") return route.fulfill({ contentType: "text/plain", body: texts[url.searchParams.get("key")] ?? "" });
    if (at === "/k8s/pod/logs") return route.fulfill({ contentType: "text/plain", body: `log of ${url.searchParams.get("podname")}\nloss 0.06\n` });
    if (at === "/k8s/pod/events") return route.fulfill({ json: { items: [{ metadata: { uid: "1" }, type: "Normal", reason: "Started", message: "Started container main", lastTimestamp: MADE }] } });
    const posted = request.method() === "POST";
    const found = { "/runs": posted ? run : { runs: [run, other], total_size: 2 }, "/runs/r1": run, "/runs/r2": other, "/tasks": url.searchParams.get("run_id") === "r2" ? others : tasks,
      "/experiments": { experiments: [{ experiment_id: "e1", display_name: "Default", created_at: MADE }] }, "/experiments/e1": { experiment_id: "e1", display_name: "Default", created_at: MADE },
      "/recurringruns": posted ? recurring : { recurringRuns: [recurring] }, "/recurringruns/c1": recurring, "/artifacts": { artifacts: [artifact] }, "/artifacts/7": artifact,
      "/pipelines": { pipelines: [{ pipeline_id: "p1", display_name: "mnist", description: "digits by a small network", created_at: MADE }] }, "/pipelines/p1": { pipeline_id: "p1", display_name: "mnist", created_at: MADE },
      "/pipelines/p1/versions": { pipeline_versions: [{ pipeline_id: "p1", pipeline_version_id: "v1", display_name: "mnist", created_at: MADE, pipeline_spec: run.pipeline_spec }] } }[at];
    return route.fulfill({ json: found ?? {} });
  };
}
async function with_pipelines(page, asked = []) {
  for (const served of ["/apis/v2beta1/**", "/artifacts/get?**", "/k8s/pod/**"]) await page.route(base + served, pipeline_answers(asked));
}

test("a run is seen as a graph, step by step", async () => visit("light", "en", async (page) => {
  const asked = [];
  await with_pipelines(page, asked);
  await page.goto(`${base}/runs`);
  await page.getByRole("link", { name: "nightly" }).click();
  await page.getByText("task train: the step has ended with exit code 1").waitFor();
  await page.locator(".step.none", { hasText: "report" }).getByText("Not reached").waitFor();
  await page.locator(".step.done", { hasText: "load" }).getByRole("button").first().click();
  const panel = page.locator(".panel");
  await panel.getByText("60000").waitFor();
  await panel.getByRole("button", { name: "Look at data" }).click();
  await panel.getByRole("cell", { name: "two" }).waitFor();
  await panel.getByRole("tab", { name: "Log" }).click();
  await panel.getByText("log of mnist-x-load-0").waitFor();
  await panel.getByRole("tab", { name: "Events" }).click();
  await panel.getByText("Started container main").waitFor();
  await panel.getByRole("tab", { name: "Details" }).click();
  await panel.getByText("example/load").waitFor();
  await page.getByRole("button", { name: "Open for-each" }).click();
  await page.locator(".step.done", { hasText: "train" }).getByRole("button").first().click();
  await panel.getByText("0.9825").waitFor();
  await panel.getByRole("img", { name: "ROC curve" }).waitFor();
  await panel.locator(".confusion").getByText("46").waitFor();
  await panel.frameLocator("iframe").getByText("Confident").waitFor();
  await panel.locator(".markdown").getByText("sharp").waitFor();
  if (shots) await page.screenshot({ path: path.join(shots, "run-graph.png") });
  await page.getByRole("button", { name: "1", exact: true }).click();
  await page.locator(".step.fail", { hasText: "train" }).getByRole("button").first().click();
  await panel.getByText("the step has ended with exit code 1", { exact: true }).waitFor();
  await page.goto(`${base}/pipeline/#/runs/details/r1`);  // as the SDK prints it
  await page.waitForURL(/\/runs\/details\/r1$/);
  await page.getByRole("link", { name: "Clone" }).click();
  await page.getByLabel(/epochs/).fill("x");
  await page.getByText("This is not a number of that kind.").waitFor();
  await page.getByLabel(/epochs/).fill("7");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/runs\/details\/r1$/);
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("Failed steps are tried again.").waitFor();
  assert.match(asked[0], /^POST \/runs with its token .*"parameters":\{"epochs":7\}/);
  assert.match(asked[1], /^POST \/runs\/r1:retry with its token/);
}));

test("runs are compared, scheduled, and lead to their artifacts", async () => visit("dark", "en", async (page) => {
  const asked = [], shot = async (name) => { if (shots) { await page.waitForTimeout(300); await page.screenshot({ path: path.join(shots, `${name}.png`) }); } };
  await with_pipelines(page, asked);
  await page.goto(`${base}/runs`);
  for (const name of ["nightly", "weekly"]) await page.getByRole("checkbox", { name: `Choose ${name}` }).check();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator("tr.differs", { hasText: "epochs" }).getByRole("cell", { name: "9", exact: true }).waitFor();
  await page.locator("tr.differs b", { hasText: "0.9911" }).waitFor();
  await page.getByRole("checkbox", { name: "Only what differs" }).check();
  assert.equal(await page.getByRole("row", { name: /loss/ }).count(), 0);
  await shot("compare");
  await page.goto(`${base}/pipeline/#/pipelines/details/p1/version/v1`);
  await page.getByRole("link", { name: "By the clock" }).click();
  await page.getByRole("button", { name: "Cron" }).click();
  await page.getByLabel(/^Cron/).fill("0 0 3 * *");
  await page.getByText(/Six fields are wanted/).waitFor();
  assert.ok(await page.getByRole("button", { name: "Create" }).isDisabled());
  await page.getByRole("button", { name: "On weekdays" }).click();
  await shot("schedule");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/recurringruns\/details\/c1$/);
  await page.getByText("only the newest is made up for").waitFor();
  await shot("recurring-run");
  await page.getByRole("button", { name: "Switch off" }).click();
  await page.goto(`${base}/artifacts`);
  await page.getByRole("link", { name: "data", exact: true }).click();
  await page.getByRole("cell", { name: "two" }).waitFor();
  await page.locator(".lineage").getByRole("link", { name: "for-each/0/train" }).waitFor();
  await shot("artifact");
  await page.goto(`${base}/#/experiments/details/e1`);
  await page.getByRole("button", { name: "Archive" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Archive" }).click();
  await page.getByText("Put into the archive.").waitFor();
  assert.match(asked[0], /"trigger":\{"cron_schedule":\{"cron":"0 30 9 \* \* 1-5"\}\}/);
  assert.deepEqual(asked.slice(1).map((one) => one.split(" ")[1]), ["/recurringruns/c1:disable", "/experiments/e1:archive"]);
}));

test("a bad object is refused with the server's words", async () => visit("dark", "en", async (page) => {
  await page.goto(`${base}/submit?by=yaml`);
  await page.setInputFiles("input[type=file]", { name: "bad.yaml", mimeType: "text/yaml", buffer: Buffer.from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndat: {}\n") });
  await page.getByRole("button", { name: "Try it (dry run)" }).click();
  await page.getByText(/dat/).last().waitFor();
  await page.locator(".note.fail").waitFor();
}, /status of (401|500)/));
