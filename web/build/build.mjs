// Builds the page: generates the list of pages and the types, bundles with esbuild, writes hashed files and the
// documents that name them. usage: node build/build.mjs OUT_DIR [--watch]
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { write_types } from "./types.mjs";

const web = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const PREFIX = "/hekla/assets/";

// A page is a folder below src/pages with a page.ts; its Chinese texts stand in a zh.ts beside it.
export function generate() {
  const generated = path.join(web, "generated");
  fs.mkdirSync(generated, { recursive: true });
  const pages = fs.readdirSync(path.join(web, "src/pages"))
    .filter((name) => fs.existsSync(path.join(web, "src/pages", name, "page.ts"))).sort();
  const imports = pages.map((name, index) => `import page${index} from "../src/pages/${name}/page";`);
  write_changed(path.join(generated, "pages.ts"), `// Generated from the folders of src/pages.\n${imports.join("\n")}\n` +
    `export const pages = [${pages.map((_, index) => `page${index}`).join(", ")}];\n`);
  const texts = ["src/text", ...pages.map((name) => `src/pages/${name}`)]
    .filter((folder) => fs.existsSync(path.join(web, folder, "zh.ts")));
  write_changed(path.join(generated, "zh.ts"), "// Generated from every zh.ts.\n" +
    texts.map((folder, index) => `import zh${index} from "../${folder}/zh";`).join("\n") +
    `\nexport const zh: Record<string, string> = {${texts.map((_, index) => `...zh${index}`).join(", ")}};\n`);
  write_types(path.join(web, "../api"), path.join(generated, "kinds.ts"));
}

function write_changed(file, text) {
  if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== text) fs.writeFileSync(file, text);
}

export const options = (out) => ({
  absWorkingDir: web,
  entryPoints: { main: "src/main.tsx", terminal: "src/terminal.ts", theme: "src/theme.ts" },
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: "es2021",
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  publicPath: PREFIX,
  loader: { ".svg": "file" },
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
});

// index.html and terminal.html name their hashed files: {main.js} and so on.
export function write_documents(result, out) {
  const named = {};
  for (const [file, info] of Object.entries(result.metafile.outputs)) {
    const entry = info.entryPoint && /^src\/(\w+)\.tsx?$/.exec(info.entryPoint);
    if (!entry) continue;
    named[`${entry[1]}.js`] = PREFIX + path.basename(file);
    if (info.cssBundle) named[`${entry[1]}.css`] = PREFIX + path.basename(info.cssBundle);
  }
  for (const name of ["index.html", "terminal.html"]) {
    const text = fs.readFileSync(path.join(web, "public", name), "utf8");
    fs.writeFileSync(path.join(out, name), text.replace(/\{(\w+\.(?:js|css))\}/g, (_, key) => {
      if (!named[key]) throw new Error(`${name} names ${key}, which was not built`);
      return named[key];
    }));
  }
  fs.copyFileSync(path.join(web, "public/favicon.svg"), path.join(out, "favicon.svg"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = path.resolve(process.argv[2] ?? "dist");
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  generate();
  const result = await esbuild.build(options(out));
  write_documents(result, out);
  fs.writeFileSync(path.join(out, "meta.json"), JSON.stringify(result.metafile));
}
