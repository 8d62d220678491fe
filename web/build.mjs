// Bundles the page's script and style into the two assets that the report embeds, with the notices of what is in them.
//
// usage: node build.mjs OUTPUT_FOLDER

import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Licences that may be in a page that looptax writes. A new one needs a sentence in the commit. */
const ALLOWED = ["BSD-3-Clause", "ISC", "MIT", "0BSD"];

const output = resolve(process.argv[2] ?? "../crates/report/assets");
const options = {
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  entryPoints: ["src/main.ts"],
  write: false,
  metafile: true,
  outdir: "out",
};

/** The packages whose code is in the bundle. */
function packages(metafile) {
  const used = Object.values(metafile.outputs).flatMap((it) => Object.entries(it.inputs));
  const names = used
    .filter(([path, { bytesInOutput }]) => path.startsWith("node_modules/") && bytesInOutput > 0)
    .map(
      ([path]) =>
        path
          .split("node_modules/")
          .at(-1)
          .match(/^(@[^/]+\/)?[^/]+/)[0],
    );
  return [...new Set(names)].sort();
}

/** Every licence text once, under the packages that have it. */
function notices(names) {
  const texts = new Map();
  for (const name of names) {
    const folder = join("node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (!ALLOWED.includes(about.license))
      throw new Error(`${name} has a licence that is not allowed: ${about.license}`);
    const file = readdirSync(folder).find((it) => /^licen[cs]e(\.(md|txt))?$/i.test(it));
    if (file === undefined) throw new Error(`${name} brings no licence text`);
    const text = readFileSync(join(folder, file), "utf8").replaceAll("\r", "").trim();
    const key = `${about.license}\n\n${text}`;
    texts.set(key, [...(texts.get(key) ?? []), `${name} ${about.version}`]);
  }
  return [...texts].map(([text, owners]) => `${owners.join(", ")}\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`);
}

const result = await build(options);
const names = packages(result.metafile);
const licences = `Third-party code in the report page, and its notices.\n\n${notices(names)}`;
const asset = (end) => result.outputFiles.find(({ path }) => path.endsWith(end)).text;
if (/<\/script|<!--/i.test(asset(".js"))) throw new Error("the script would end its own element");
if (!existsSync(output)) mkdirSync(output, { recursive: true });
writeFileSync(join(output, "page.js"), asset(".js"));
writeFileSync(join(output, "page.css"), asset(".css"));
writeFileSync(join(output, "LICENSES.txt"), licences);
console.log(`${names.length} packages, script ${asset(".js").length} bytes, style ${asset(".css").length} bytes`);
