// A data scientist's first day in a real browser, on a platform whose pods really run: log in by the address that
// tutorials forward, make a notebook by the form, clone and train in its terminal, train with TensorFlow in a cell, and
// look at the curves in TensorBoard; then by a name that has no second origin, with and without company.
// HEKLA is the binary, HEKLA_CACHE keeps environments, CHROMIUM is the browser, SCREENSHOTS a directory for pictures.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import test, { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url)), NS = "kubeflow-user-example-com", BUILD = 1_200_000;
const hekla = process.env.HEKLA, cache = process.env.HEKLA_CACHE, shots = process.env.SCREENSHOTS;
const data = fs.mkdtempSync(path.join(os.tmpdir(), "hekla-day-")), lent = fs.mkdtempSync(path.join(os.tmpdir(), "hekla-lent-"));
const kubeconfig = path.join(data, "admin.kubeconfig");
const tool = ["kubectl-newer/kubectl", "kubectl-debian/usr/bin/kubectl"].map((one) => path.join(cache ?? "", one)).find(fs.existsSync) ?? "kubectl";
let platform, forwarder, browser, context, page, port, listens, own;

// The first match in what a program says.
const said = (program, pattern) => new Promise((done, failed) => {
  let text = "";
  const read = (piece) => {
    text += piece;
    const found = pattern.exec(text);
    if (found) done(found[1]);
  };
  program.stdout.on("data", read);
  program.stderr.on("data", read);
  program.on("exit", () => failed(new Error(text)));
  setTimeout(() => failed(new Error(`not ready: ${text}`)), 120_000).unref();
});
const kubectl = (...words) => execFileSync(tool, ["--kubeconfig", kubeconfig, ...words], { encoding: "utf8" });
const shot = (of, name) => shots && of.screenshot({ path: path.join(shots, `${name}.png`) });

const free_port = () => new Promise((done) => { const probe = net.createServer().listen(0, "127.0.0.1", () => { const { port } = probe.address(); probe.close(() => done(port)); }); });
async function start_platform() {
  platform = spawn(hekla, ["up", "--data-dir", data, ...listens, "--eviction-hard", "memory.available<1Mi"], { stdio: ["ignore", "pipe", "pipe"] });
  own = await said(platform, /the dashboard is at (http:\/\/\S+)/);
}

// A repository to clone and what stands for the digits, on a directory of this machine that pods may read.
function lend_files() {
  const made = path.join(lent, "work");
  fs.cpSync(path.join(here, "lent"), lent, { recursive: true });
  fs.cpSync(path.join(here, "mnist"), made, { recursive: true });
  const git = (...words) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...words], { cwd: made, stdio: "ignore" });
  git("init", "-q"); git("add", "."); git("commit", "-qm", "train on digits");
  execFileSync("git", ["clone", "-q", "--bare", made, path.join(lent, "mnist.git")]);
  fs.rmSync(made, { recursive: true });
  execFileSync("chown", ["-R", "1000:0", lent]);
}

before(async () => {
  assert.ok(hekla, "HEKLA names the binary");
  if (cache) {
    fs.mkdirSync(path.join(cache, "framework-images"), { recursive: true });
    fs.symlinkSync(path.join(cache, "framework-images"), path.join(data, "images"));
  }
  lend_files();
  listens = ["--listen", `127.0.0.1:${await free_port()}`, "--web-listen", `127.0.0.1:${await free_port()}`, "--objects-listen", `127.0.0.1:${await free_port()}`];
  await start_platform();
  execFileSync(hekla, ["volume", "add", "lent", lent, "--read-only", "-n", NS, "--kubeconfig", kubeconfig]);
  for (;;) try { kubectl("wait", "-n", "istio-system", "pod", "-l", "istio=ingressgateway", "--for=condition=Ready", "--timeout=60s"); break; } catch { await new Promise((later) => setTimeout(later, 500)); }
  forwarder = spawn(tool, ["--kubeconfig", kubeconfig, "port-forward", "svc/istio-ingressgateway", "-n", "istio-system", ":80", "--address", "127.0.0.1"], { stdio: ["ignore", "pipe", "pipe"] });
  port = await said(forwarder, /Forwarding from 127\.0\.0\.1:(\d+)/);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP hekla.example 127.0.0.1"] });
});
after(async () => {
  await browser?.close();
  for (const program of [forwarder, platform])
    if (program?.exitCode === null) { program.kill("SIGTERM"); await new Promise((done) => program.on("exit", done)); }
  execFileSync(hekla, ["down", "--data-dir", data]);
  for (const directory of [data, lent]) fs.rmSync(directory, { recursive: true, force: true });
});

async function log_in(base) {
  context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${base}/`);
  await page.fill("#login", "user@example.com");
  await page.fill("#password", "12341234");
  await page.click("#submit-login");
  await page.waitForSelector(".shell");
  await page.getByRole("button", { name: NS }).first().waitFor();
}
async function opened_by(button) {
  const [tab] = await Promise.all([context.waitForEvent("page"), button.click()]);
  tab.setDefaultTimeout(120_000);
  return tab;
}
// Types a line into JupyterLab's terminal and waits until a file says that it has ended well.
async function type_line(lab, line) {
  await lab.keyboard.type(`${line} && touch /tmp/typed\n`, { delay: 2 });
  const end = Date.now() + 300_000;
  for (;;) {
    try { execFileSync(tool, ["--kubeconfig", kubeconfig, "exec", "-n", NS, "lab-0", "--", "rm", "/tmp/typed"], { stdio: "ignore" }); return; } catch { /* not yet */ }
    assert.ok(Date.now() < end, `${line}: not within 300 s`);
    await lab.waitForTimeout(500);
  }
}

test("a notebook by the form, cloned code trained in its terminal", async () => {
  await log_in(`http://127.0.0.1:${port}`);
  await page.goto(`http://127.0.0.1:${port}/jupyter/new`);
  await page.getByLabel("Name *").fill("lab");
  const images = page.getByRole("combobox", { name: "Image", exact: true });
  const wanted = await images.locator("option", { hasText: /jupyter-tensorflow-full/ }).first().getAttribute("value");
  await images.selectOption(wanted);
  for (const [label, value] of [["Maximum CPU", "0"], ["Maximum Memory Gi", "0"]]) await page.getByLabel(label).fill(value);
  const volumes = page.locator("section", { hasText: "Data Volumes" });
  await volumes.getByRole("button", { name: "Add a volume" }).click();
  await volumes.getByRole("button", { name: "Existing volume" }).click();
  await volumes.getByRole("combobox", { name: "Volume", exact: true }).selectOption("lent");
  await volumes.getByLabel("Mount path").fill("/lent");
  await shot(page, "day-form");
  await page.getByRole("button", { name: "Launch" }).click();
  await page.waitForURL(/\/jupyter\/$/);
  const row = page.getByRole("row", { name: /lab/ });
  await row.getByText(/Building|Running/).waitFor({ timeout: 120_000 });
  await shot(page, "day-building");
  await row.getByText("Running").waitFor({ timeout: BUILD });
  const lab = await opened_by(row.getByRole("button", { name: "Connect" }));
  await lab.locator(".jp-Launcher").first().waitFor();
  // The browser was sent to the content's origin without having to log in once more.
  assert.equal(new URL(lab.url()).origin, `http://content.localhost:${port}`);
  await lab.locator('.jp-LauncherCard[data-category="Other"]', { hasText: "Terminal" }).first().click();
  await lab.locator(".jp-Terminal .xterm-helper-textarea").first().waitFor({ state: "attached" });
  await type_line(lab, "pwd");
  await type_line(lab, "git clone /lent/mnist.git && cd mnist && python train.py && cd ~");
  assert.match(kubectl("exec", "-n", NS, "lab-0", "--", "cat", "/home/jovyan/mnist/mnist.txt"), /^accuracy: (9\d|100)/);
  await type_line(lab, "sh /lent/place_digits.sh");
  await shot(lab, "day-terminal");
});

test("TensorFlow in a cell, its curves in TensorBoard", async () => {
  const base = `http://127.0.0.1:${port}`, lab = context.pages().at(-1);
  await lab.keyboard.press("Control+Shift+L");
  await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click();
  const cell = lab.locator(".jp-Cell .cm-content").first(), idle = lab.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first();
  await idle.waitFor();  // a kernel that comes up takes the focus
  await cell.click();
  await lab.keyboard.insertText(fs.readFileSync(path.join(here, "first_model.py"), "utf8"));
  await cell.getByText("model.fit").waitFor();
  await lab.keyboard.press("Shift+Enter");
  await lab.locator(".jp-OutputArea-output", { hasText: "Epoch 5/5" }).first().waitFor({ timeout: 600_000 });
  await idle.waitFor({ timeout: 300_000 });
  await shot(lab, "day-cell");
  await page.goto(`${base}/tensorboards/new`);
  await page.getByLabel("Name *").fill("curves");
  await page.getByRole("combobox", { name: "Volume", exact: true }).selectOption("lab-workspace");
  await page.getByLabel("Path on it").fill("logs");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/tensorboards\/$/);
  const row = page.getByRole("row", { name: /curves/ });
  await row.getByText("Ready").waitFor({ timeout: BUILD });
  const board = await opened_by(row.getByRole("button", { name: "Connect" }));
  await board.getByText("epoch_accuracy").first().waitFor();
  await board.getByText("epoch_loss").first().waitFor();
  await shot(board, "day-curves");
  await page.goto(`${base}/volumes/volume/details/${NS}/lab-workspace?tab=files&path=logs`);
  await page.getByRole("link", { name: "train", exact: true }).waitFor();
});

test("by a name without a second origin: alone, and in company", async () => {
  const base = `http://hekla.example:${port}`;
  await log_in(base);
  await page.getByText("open only in namespaces where you alone work").waitFor();
  await page.goto(`${base}/jupyter/`);
  const row = page.getByRole("row", { name: /lab/ });
  const lab = await opened_by(row.getByRole("button", { name: "Connect" }));
  await lab.locator("#jp-main-dock-panel").waitFor();
  assert.equal(new URL(lab.url()).origin, base);
  await shot(lab, "day-shared");
  await lab.close();
  await page.goto(`${base}/manage-users`);
  await page.getByLabel("Email address").fill("ann@example.com");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("ann@example.com").first().waitFor();
  await page.goto(`${base}/jupyter/`);
  const refused = await opened_by(row.getByRole("button", { name: "Connect" }));
  await refused.getByText(`others may work in ${NS}`).waitFor();
  await shot(refused, "day-refused");
});

test("the page comes back by itself when the platform was killed", async () => {
  await log_in(own);
  await page.goto(`${own}/jupyter/`);
  const row = page.getByRole("row", { name: /lab/ });
  await row.getByText("Running").waitFor();
  platform.removeAllListeners("exit");
  platform.kill("SIGKILL");
  await page.getByText("The connection is lost.").waitFor();
  await start_platform();
  await page.getByText("The connection is lost.").waitFor({ state: "detached", timeout: 120_000 });
  await row.getByText("Running").waitFor();  // its pod went on
  kubectl("annotate", "-n", NS, "notebook", "lab", "kubeflow-resource-stopped=now");
  await row.getByText("Stopped").waitFor();
});
