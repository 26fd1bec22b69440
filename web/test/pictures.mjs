// Takes the pictures of docs/pictures anew, on a platform of its own with pictures.yaml (next to the page's tests, whose
// packages it uses: run make test-web once before).
// usage: HEKLA=build/release/hekla node web/test/pictures.mjs
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url)), place = path.join(here, "../../docs/pictures");
const hekla = process.env.HEKLA, password = "as the first one is known to all";
const data = fs.mkdtempSync(path.join(os.tmpdir(), "hekla-pictures-"));
const PICTURES = { page: "/", why: "/jobs/pytorchjob/default/translate-large", queues: "/queues" };

function address(platform) {
  let text = "";
  return new Promise((done, failed) => {
    for (const stream of [platform.stdout, platform.stderr])
      stream.on("data", (piece) => {
        text += piece;
        const found = /the dashboard is at (http:\/\/\S+)/.exec(text);
        if (found) done(found[1]);
      });
    platform.on("exit", () => failed(new Error(text)));
  });
}

const platform = spawn(hekla, ["up", "--data-dir", data, "--web-listen", "127.0.0.1:0", "--no-agent", "--fake-nodes", "4",
  "--fake-node-resources", "cpu=16,memory=64Gi,pods=110,nvidia.com/gpu=2"], { stdio: ["ignore", "pipe", "pipe"] });
const base = await address(platform);
execFileSync(hekla, ["apply", "--data-dir", data, "-f", path.join(here, "pictures.yaml")]);
execFileSync(hekla, ["user", "passwd", "user@example.com", "--data-dir", data], { input: `${password}\n` });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
  const context = await browser.newContext({ viewport: { width: 1180, height: 720 } });
  await context.addInitScript(() => {
    localStorage.setItem("hekla.theme", "light");
    localStorage.setItem("hekla.language", "en");
    localStorage.setItem("/centraldashboard/selectedNamespace/.user@example.com", "default");
  });
  const page = await context.newPage();
  await page.goto(`${base}/`);
  await page.fill("#login", "user@example.com");
  await page.fill("#password", password);
  await page.click("#submit-login");
  await page.waitForSelector(".shell");
  await page.waitForTimeout(5000);  // until the short job has ended
  for (const [name, at] of Object.entries(PICTURES)) {
    await page.goto(base + at);
    await page.waitForTimeout(3000);
    await page.screenshot({ path: path.join(place, `${name}.png`) });
  }
} finally {
  await browser.close();
  platform.removeAllListeners("exit");
  platform.kill("SIGTERM");
  await new Promise((done) => platform.on("exit", done));
  fs.rmSync(data, { recursive: true, force: true });
}
