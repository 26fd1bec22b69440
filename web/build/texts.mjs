// Every English text of the page, as the sources have it: what t() and tn() are given, titles of columns and tabs,
// states. The test of translations compares them with the Chinese ones.
import fs from "node:fs";
import path from "node:path";

function files(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    return entry.isDirectory() ? files(full) : /\.tsx?$/.test(entry.name) && !/(zh|page)\.ts$/.test(entry.name) ? [full] : [];
  });
}
const TEXT = '"((?:[^"\\\\]|\\\\.)*)"';
const PATTERNS = [
  new RegExp(`\\bt\\(${TEXT}`, "g"), new RegExp(`\\bt\\([^"()]*\\? ${TEXT} : ${TEXT}`, "g"), new RegExp(`\\btn\\([^"]*${TEXT},\\s*${TEXT}`, "g"),
  new RegExp(`\\btitle: ${TEXT}`, "g"), new RegExp(`<State [^>]*?text=${TEXT}`, "g"), new RegExp(`\\bsays: ${TEXT}`, "g"),
  new RegExp(`text=\\{[^}]*?\\? ${TEXT} : ${TEXT}`, "g"),
];

export function texts(source) {
  const found = new Set();
  for (const file of files(source)) {
    const code = fs.readFileSync(file, "utf8");
    for (const pattern of PATTERNS)
      for (const match of code.matchAll(pattern))
        for (const text of match.slice(1)) if (text && /[A-Za-z]{2}/.test(text)) found.add(JSON.parse(`"${text}"`));
    for (const match of code.matchAll(/\/\/ texts: (.*)/g)) for (const text of match[1].split("|")) found.add(text.trim());
  }
  return [...found].sort();
}
if (process.argv[1].endsWith("texts.mjs")) console.log(texts(path.resolve(path.dirname(process.argv[1]), "../src")).join("\n"));
