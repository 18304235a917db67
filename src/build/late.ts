/**
 * Late modules: those that are loaded rarely and not in a hurry, which the executable embeds as source. Bun compiles every
 * other module to bytecode, which takes five times the bytes of its source.
 *
 * The sources do not know of this. A second bundle has what only the entries below reach. Where a source loads an entry, the
 * first bundle gets a module that hands over what the entry imports from it, as properties of an object of `globalThis`,
 * and loads the entry's file. So nothing is in the executable twice, and a class is one class, as `instanceof` needs.
 */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type BunPlugin, Transpiler } from "bun";
import { bundledPackages, type Metafile } from "./notices.ts";
import { BuildError } from "./step.ts";

/** What others load of them, with `import()` only. */
const ENTRIES = [
  "src/cli/authority/admins.ts",
  "src/cli/authority/audit.ts",
  "src/cli/authority/backup.ts",
  "src/cli/authority/devices.ts",
  "src/cli/authority/enroll.ts",
  "src/cli/authority/keys.ts",
  "src/cli/authority/license.ts",
  "src/cli/authority/serve.ts",
  "src/cli/doctor/doctor.ts",
  "src/cli/join/join.ts",
  "src/cli/login/login.ts",
  "src/cli/login/logout.ts",
  "src/cli/mcp/install.ts",
  "src/cli/mcp/status.ts",
  "src/cli/mcp/uninstall.ts",
  "src/cli/serve/invite.ts",
  "src/cli/serve/serve.ts",
  "src/cli/serve/status.ts",
  "src/cli/serve/tokens.ts",
  "src/cli/serve/unit.ts",
  "src/cli/upgrade/upgrade.ts",
  "src/formats/csv-parser.ts",
  "src/replication/node/move.ts",
  "src/replication/node/node.ts",
  "src/trust/authority/renew.ts",
  "src/trust/authority/server/server.ts",
  "src/ui/server/pages-server.ts",
];

/** Names of their files, which the first bundler leaves as they are. */
export const LATE_FILES = "*.late.js";
const fileOf = (entry: string) => `${entry.slice("src/".length, -".ts".length).replaceAll("/", "-")}.late`;

/** The object with what modules of the first bundle export, by their path, and with functions that load what is late. */
const HOST = `globalThis[Symbol.for("svc.late")]`;
const inHost = (key: string) => `${HOST}[${JSON.stringify(key)}]`;
const loaderOf = (path: string) => inHost(`import ${path}`);

/** An import of values, or a re-export; and one that is done later. */
const IMPORT = /^(?:import|export) (?!type )([^;]*?) from "(\.{1,2}\/[^"]+)";/gms;
const LATER = /(?<!typeof )\bimport\("(\.{1,2}\/[^"]+)"\)/g;

/** All paths are relative to the checkout. */
export interface Late {
  readonly root: string;
  /** All late modules. */
  readonly inside: ReadonlySet<string>;
  /** Those that are loaded with `import()`, also by each other. */
  readonly entries: ReadonlySet<string>;
  readonly imports: Imports;
}

interface Import {
  /** Relative to the checkout; the name of a package or of a module of Bun as it is. */
  readonly to: string;
  readonly dynamic: boolean;
}

/** Imports of values, of a file of the checkout. */
type Imports = (file: string) => readonly Import[];

/**
 * The late modules of a program.
 * @param starts the files with which its threads start, absolute
 * @throws BuildError for an entry that cannot be one
 */
export function lateModules(root: string, starts: readonly string[], own: readonly string[] = ENTRIES): Late {
  const imports = importsIn(root);
  const main = new Set<string>();
  for (let more = starts.map((path) => relative(root, path)); ; ) {
    for (const { file, to, dynamic } of reach(more, imports, main, (path) => own.includes(path)))
      if (!dynamic) throw new BuildError(`${to} cannot be late: ${file} imports it otherwise than with import()`);
    const inside = new Set<string>();
    reach(own, imports, inside, (file) => main.has(file));
    // A package is in one of the bundles only, and with it what imports it.
    const packages = new Set([...main].flatMap((file) => packagesOf(imports(file))));
    more = [...inside].filter((file) => packagesOf(imports(file)).some((name) => packages.has(name)));
    if (more.length === 0) {
      const loaded = [...inside].flatMap((file) =>
        imports(file).filter(({ to, dynamic }) => dynamic && inside.has(to)),
      );
      return { root, inside, imports, entries: new Set([...own, ...loaded.map(({ to }) => to)]) };
    }
    const wrong = more.find((file) => own.includes(file));
    if (wrong) throw new BuildError(`${wrong} cannot be late: it imports a package that is loaded early`);
  }
}

/** Adds to `found` the files `from` and all that they import, but what is elsewhere. @returns imports of that */
function reach(
  from: Iterable<string>,
  imports: Imports,
  found: Set<string>,
  isElsewhere: (file: string) => boolean,
): (Import & { file: string })[] {
  for (const file of from) found.add(file);
  const left: (Import & { file: string })[] = [];
  // What is added to a set while it is walked comes later.
  for (const file of found) {
    for (const one of imports(file)) {
      if (!isOurs(one.to)) continue;
      if (isElsewhere(one.to)) left.push({ file, ...one });
      else found.add(one.to);
    }
  }
  return left;
}

function importsIn(root: string): Imports {
  const transpiler = new Transpiler({ loader: "ts" });
  const known = new Map<string, readonly Import[]>();
  const scan = (file: string): readonly Import[] =>
    transpiler.scanImports(readFileSync(join(root, file), "utf8")).map(({ path, kind }) => ({
      to: targetOf(root, join(root, file), path),
      dynamic: kind === "dynamic-import",
    }));
  return (file) => {
    const found = known.get(file) ?? (file.endsWith(".ts") ? scan(file) : []);
    known.set(file, found);
    return found;
  };
}

function targetOf(root: string, importer: string, path: string): string {
  return /^[./]/.test(path) ? relative(root, resolve(dirname(importer), path)) : path;
}

const isOurs = (path: string) => /^(src|ffi)\//.test(path);

function packagesOf(imports: readonly Import[]): string[] {
  return imports.flatMap(({ to }) => (isOurs(to) || /^(node|bun)(:|$)/.test(to) ? [] : to));
}

/** Names of the values that late modules import, by the file that exports them. @throws BuildError for an import of all */
function neededNames({ root, inside }: Late): Map<string, Set<string>> {
  const needed = new Map<string, Set<string>>();
  for (const file of inside) {
    for (const [, what = "", path = ""] of readFileSync(join(root, file), "utf8").matchAll(IMPORT)) {
      const target = targetOf(root, join(root, file), path);
      if (inside.has(target)) continue;
      const list = /^\{([^}]*)\}$/s.exec(what)?.[1];
      if (list === undefined) throw new BuildError(`${file}: import names of ${path}, not '${what}'`);
      const values = list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !name.startsWith("type "));
      const names = needed.get(target) ?? new Set();
      for (const name of values) names.add(name.split(" as ")[0]!);
      if (names.size > 0) needed.set(target, names);
    }
  }
  return needed;
}

/** For the first bundler: what stands in for the entries. */
export function lateLoaders(late: Late): BunPlugin {
  const { root, inside, entries, imports } = late;
  const needed = neededNames(late);
  const absolute = (file: string) => JSON.stringify(join(root, file));
  return {
    name: "late loaders",
    setup(build) {
      build.onResolve({ filter: /^[./]/ }, ({ path, importer, kind }) => {
        const target = targetOf(root, importer, path);
        return kind === "dynamic-import" && entries.has(target) ? { path: target, namespace: "late" } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: "late" }, ({ path }) => {
        const atOnce = new Set<string>();
        const atStart = (file: string) => imports(file).filter(({ dynamic }) => !dynamic);
        const taken = reach([path], atStart, atOnce, (file) => !inside.has(file)).map(({ to }) => to);
        const hosts = [...new Set(taken)].filter((file) => needed.has(file)).sort();
        const later = [...atOnce].flatMap((file) => imports(file).filter(({ to, dynamic }) => dynamic && isOurs(to)));
        const loads = [...new Set(later.map(({ to }) => to))].sort();
        const names = exportsOf(root, path);
        const lines = [
          ...hosts.map((file) => `import "host:${file}";`),
          ...(loads.length > 0 ? [`${HOST} ??= {};`] : []),
          ...loads.map((file) => `${loaderOf(file)} = () => import(${absolute(file)});`),
          `const from = await import("./${fileOf(path)}.js");`,
          `export const { ${names.filter((name) => name !== "default").join(", ")} } = from;`,
          names.includes("default") ? "export default from.default;" : "",
        ];
        return { contents: lines.join("\n"), loader: "js" };
      });
      build.onResolve({ filter: /^host:/ }, ({ path }) => ({ path: path.slice("host:".length), namespace: "host" }));
      build.onLoad({ filter: /.*/, namespace: "host" }, ({ path }) => {
        const names = [...needed.get(path)!].sort().join(", ");
        const contents = `import { ${names} } from ${absolute(path)};\n(${HOST} ??= {})[${JSON.stringify(path)}] = { ${names} };`;
        return { contents, loader: "js" };
      });
    },
  };
}

/** Names of the values that a module exports. */
function exportsOf(root: string, file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  if (/^export \*/m.test(source)) throw new BuildError(`${file} cannot be late: it does not name what it exports`);
  return new Transpiler({ loader: "ts" }).scan(source).exports;
}

/** Bundles the late modules into a folder. @returns paths of the files, and folders of the packages that are in them */
export async function bundleLate(
  late: Late,
  folder: string,
  define: Record<string, string>,
): Promise<{ files: string[]; packages: string[] }> {
  const { root, inside, entries } = late;
  const needed = neededNames(late);
  const isLate = (path: string) => inside.has(relative(root, path));
  const plugin: BunPlugin = {
    name: "late",
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer }) => {
        const target = targetOf(root, importer, path);
        return !isLate(importer) || inside.has(target) ? undefined : { path: target, namespace: "host" };
      });
      build.onLoad({ filter: /.*/, namespace: "host" }, ({ path }) => {
        const names = [...(needed.get(path) ?? [])].join(", ");
        return { contents: `export const { ${names} } = ${inHost(path)};`, loader: "js" };
      });
      build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (!isLate(path)) return undefined;
        const source = await Bun.file(path).text();
        const contents = source.replace(LATER, (_, from) => `${loaderOf(targetOf(root, path, from))}()`);
        return { contents, loader: "ts" };
      });
    },
  };
  const start = (entry: string) => join(root, "src", `${fileOf(entry)}.js`);
  const all = [...entries].sort();
  const built = await Bun.build({
    entrypoints: all.map(start),
    files: Object.fromEntries(
      all.map((entry) => [
        start(entry),
        `export { ${exportsOf(root, entry).join(", ")} } from "${join(root, entry)}";`,
      ]),
    ),
    outdir: folder,
    naming: { entry: "[name].[ext]", chunk: "[hash].late.[ext]" },
    target: "bun",
    format: "esm",
    minify: true,
    splitting: true,
    metafile: true,
    define,
    plugins: [plugin],
  });
  const packages = bundledPackages(built.metafile as Metafile);
  return { files: built.outputs.map(({ path }) => path), packages };
}
