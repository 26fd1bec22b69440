// What can be said of the page without a server: types, translations, size, rules.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import { texts } from "../build/texts.mjs";

const web = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const dist = process.env.HEKLA_WEB_DIST ?? path.join(web, "dist");

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? sources(path.join(folder, entry.name)) : [path.join(folder, entry.name)]);
}

test("the types fit", () => {
  execFileSync(process.execPath, [path.join(web, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", web], { stdio: "pipe", encoding: "utf8" });
});

test("every text has its Chinese one", () => {
  const known = new Set();
  for (const file of sources(path.join(web, "src")).filter((name) => name.endsWith("/zh.ts")))
    for (const match of fs.readFileSync(file, "utf8").matchAll(/"((?:[^"\\]|\\.)*)":/g)) known.add(JSON.parse(`"${match[1]}"`));
  const same = new Set(["YAML", "IP", "CPU"]);
  assert.deepEqual(texts(path.join(web, "src")).filter((text) => !known.has(text) && !same.has(text)), []);
});

test("a page has its place, its titles and its view", () => {
  for (const name of fs.readdirSync(path.join(web, "src/pages"))) {
    const page = fs.readFileSync(path.join(web, "src/pages", name, "page.ts"), "utf8");
    assert.match(page, /path: ["[]/, name);
    assert.match(page, /title: \{ en: ".+", zh: ".+" \}/, name);
    assert.match(page, /load: \(\) => import\("\.\/view"\)/, name);
  }
});

test("nothing is written into the document as HTML", () => {
  for (const file of sources(path.join(web, "src")))
    assert.doesNotMatch(fs.readFileSync(file, "utf8"), /innerHTML|dangerouslySetInnerHTML|outerHTML|insertAdjacentHTML|document\.write/, file);
});

test("the page is small without editor and terminal", () => {
  const meta = JSON.parse(fs.readFileSync(path.join(dist, "meta.json"), "utf8"));
  let small = 0, all = 0;
  for (const [name, info] of Object.entries(meta.outputs)) {
    const bytes = zlib.gzipSync(fs.readFileSync(path.join(dist, path.basename(name)))).length;
    all += bytes;
    if (!Object.keys(info.inputs).some((input) => /@codemirror|@xterm|js-yaml/.test(input))) small += bytes;
  }
  console.log(`page ${(small / 1024).toFixed(1)} KB gzip, with editor and terminal ${(all / 1024).toFixed(1)} KB`);
  assert.ok(small <= 150 * 1024, `${small} bytes`);
  assert.ok(all <= 400 * 1024, `${all} bytes`);
});

test("the lock names no registry", () => {
  assert.doesNotMatch(fs.readFileSync(path.join(web, "package-lock.json"), "utf8"), /"resolved"/);
});
