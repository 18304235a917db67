/**
 * Makes one module of the pages of `svc ui`, which the executable embeds as a file. Bun compiles every other module to
 * bytecode, which is four times as large as its source. A person who opens a page does not notice the few
 * milliseconds in which the source is parsed.
 *
 * The module does not contain what it imports from the rest of svc, because the executable has that already. It gets it from
 * `src/cli/ui/host.gen.ts`, which this file generates: `bun src/build/ui-bundle.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type BunPlugin, Glob } from "bun";
import { UI_HOST } from "../build-info.ts";
import { bundledPackages, type Metafile } from "./notices.ts";
import { BuildError } from "./step.ts";

/** Below `src`. Its name is that of the file in the executable, where the `import()` of `ui/server/load.ts` finds it. */
export const UI_ENTRY = "ui/server/pages-server.ts";
/** It loads the module, and is not part of it. */
const LOADER = "ui/server/load.ts";
/** Folders of `src` whose files are in the module. */
const INSIDE = ["ui/", "pages/"];
const IMPORT = /^import (?!type )([^;]*?) from "(\.{1,2}\/[^"]+)";/gms;

/** `src`, from `host.gen.ts`. */
const SRC = "../..";

/** The names that the pages import, by the module that exports them: its path below `src`. */
type Needs = Map<string, Set<string>>;

/** Writes the module to `path`. @returns folders of the packages that are in it */
export async function bundleUi(root: string, path: string, buildInfo: string): Promise<string[]> {
  if (!isHostCurrent(root))
    throw new BuildError("src/cli/ui/host.gen.ts is out of date: run bun src/build/ui-bundle.ts");
  const built = await Bun.build({
    entrypoints: [join(root, "src", UI_ENTRY)],
    target: "bun",
    format: "esm",
    minify: true,
    metafile: true,
    define: { SVC_BUILD_INFO: buildInfo },
    plugins: [fromHost(root)],
  });
  const [output] = built.outputs;
  if (output === undefined || built.metafile === undefined) throw new BuildError("the pages of svc ui are not bundled");
  writeFileSync(path, new Uint8Array(await output.arrayBuffer()));
  return bundledPackages(built.metafile as Metafile);
}

/** Replaces modules outside of the pages by what `host.gen.ts` has of them. */
function fromHost(root: string): BunPlugin {
  const src = join(root, "src");
  const needs = needsOfUi(src);
  return {
    name: "host",
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer }) => {
        const target = relative(src, resolve(dirname(importer), path));
        if (importer.includes("/node_modules/") || isInside(target)) return undefined;
        if (!needs.has(target))
          throw new BuildError(`${importer}: import ${path} by names, at the beginning of the file`);
        return { path: target, namespace: "host" };
      });
      build.onLoad({ filter: /.*/, namespace: "host" }, ({ path }) => {
        const names = [...(needs.get(path) ?? [])];
        const exported = names.map((name) => `export const ${name} = host.${name};`);
        const host = `globalThis[Symbol.for(${JSON.stringify(UI_HOST.description)})][${JSON.stringify(path)}]`;
        return { contents: [`const host = ${host};`, ...exported].join("\n"), loader: "js" };
      });
    },
  };
}

/** What the pages import from other modules of svc. @throws BuildError for an import of a whole module */
function needsOfUi(src: string): Needs {
  const needs: Needs = new Map();
  const files = [...new Glob("{ui,pages}/**/*.ts").scanSync(src)].filter((file) => file !== LOADER);
  for (const file of files.sort()) {
    for (const [, what = "", from = ""] of readFileSync(join(src, file), "utf8").matchAll(IMPORT)) {
      const target = relative(src, resolve(src, dirname(file), from));
      if (isInside(target)) continue;
      const names = /^\{([^}]*)\}$/s.exec(what)?.[1];
      if (names === undefined) throw new BuildError(`${file}: import names of ${from}, not '${what}'`);
      const list = names.split(",").map((name) => name.trim());
      const values = list.filter((name) => name !== "" && !name.startsWith("type "));
      if (values.length === 0) continue;
      const found = needs.get(target) ?? new Set();
      for (const name of values) found.add(name.split(" as ")[0]!);
      needs.set(target, found);
    }
  }
  return needs;
}

function isInside(path: string): boolean {
  return INSIDE.some((folder) => path.startsWith(folder));
}

/** Whether `host.gen.ts` has what the pages import. */
export function isHostCurrent(root: string): boolean {
  // Compares without the imports, which the formatter sorts differently, and without spaces and commas.
  const words = (text: string) => text.replace(/^.*(?=export const HOST)|[\s,]/gs, "");
  return words(readFileSync(hostPath(root), "utf8")) === words(hostSource(root));
}

function hostPath(root: string): string {
  return join(root, "src/cli/ui/host.gen.ts");
}

function hostSource(root: string): string {
  const needs = [...needsOfUi(join(root, "src"))].sort(([a], [b]) => (a < b ? -1 : 1));
  const listed = needs.map(([path, names]) => ({ path, names: [...names].sort().join(", ") }));
  return `// What the pages of svc ui take from the rest of svc. Made by src/build/ui-bundle.ts.
${listed.map(({ path, names }) => `import { ${names} } from "${SRC}/${path}";`).join("\n")}

export const HOST = {
${listed.map(({ path, names }) => `  "${path}": { ${names} },`).join("\n")}
};
`;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "../..");
  writeFileSync(hostPath(root), hostSource(root));
  Bun.spawnSync([join(root, "node_modules/.bin/biome"), "check", "--write", hostPath(root)]);
}
