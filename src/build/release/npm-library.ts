/**
 * The npm packages for programs: the TypeScript client for Node and Bun, and the SDK, which has the store as well, for Bun.
 * Each is one file of JavaScript and the declarations that it needs, and has no dependencies.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { buildInfo } from "../../build-info.ts";
import { NPM_CLIENT, NPM_SDK, PROJECT_URL } from "../../published.ts";
import { BuildError } from "../step.ts";
import type { ArchiveFile } from "./archives.ts";
import { commonManifest, type NpmPackage, packNpm } from "./npm.ts";
import type { Project } from "./project.ts";

/** The oldest Node that runs the client. */
const NODE_MIN = "20.16";
/** What a program imports, relative to the checkout. */
const CLIENT = "src/remote/client/index.ts";
const SDK = "src/sdk.ts";

/** The package of the client. @throws BuildError for a client that needs more than Node has */
export async function npmClientPackage(root: string, project: Project): Promise<NpmPackage> {
  const text = await bundle(root, CLIENT, { target: "node", plugins: [withoutC] });
  const more = /fullSync|tryLock|\bbun:\w+|\bBun\.(?!connect\b)\w+/.exec(text);
  if (more) throw new BuildError(`the client of the npm package must run on Node, and uses ${more[0]}`);
  const description = "The client of svc serve: collections of vectors and texts that live in another process or host.";
  const manifest = { ...commonManifest(project, NPM_CLIENT), description, engines: { node: `>=${NODE_MIN}` } };
  const use = `    const memory = await connect("./svc.sock");
    const notes = await memory.openCollection("notes");
    console.log(await notes.searchText("how do we deploy", { topK: 3 }));
    await memory.close();

It runs on Node ${NODE_MIN} and newer, and on Bun. The types need @types/node.`;
  return library(root, project, { manifest, entry: CLIENT, text, imported: "connect", use });
}

/** The package of the SDK. It trusts what the checkout was built to trust. @param notices licences of what is in it */
export async function npmSdkPackage(root: string, project: Project, notices: Uint8Array): Promise<NpmPackage> {
  // The same on every platform: the platform is that of the runtime which a login installs.
  const facts = { ...buildInfo(), platform: undefined };
  const define = { SVC_BUILD_INFO: JSON.stringify(facts) };
  const text = await bundle(root, SDK, { target: "bun", define });
  const manifest = { ...commonManifest(project, NPM_SDK), engines: { bun: ">=1.3" } };
  const use = `    await using store = await Store.open();
    const notes = await store.openCollection("notes");
    console.log(await notes.searchText("how do we deploy", { topK: 3 }));

It runs on Bun, with the native runtime that \`svc login\` of this version installs. The types need @types/bun.`;
  const more = [{ name: "notices.txt", bytes: notices }];
  return library(root, project, { manifest, entry: SDK, text, imported: "Store", use }, more);
}

interface Library {
  manifest: ReturnType<typeof commonManifest> & { engines: object };
  entry: string;
  /** The JavaScript. */
  text: string;
  /** What the example imports, and what it does with it. */
  imported: string;
  use: string;
}

function library(
  root: string,
  project: Project,
  { manifest, entry, text, imported, use }: Library,
  more: readonly ArchiveFile[] = [],
): NpmPackage {
  const { name, description } = manifest;
  const types = `./types/${entry.replace(/ts$/, "d.ts")}`;
  const exports = { ".": { types, default: "./index.js" } };
  const readme = `# ${name}\n\n${description}\n\n    import { ${imported} } from "${name}";\n\n${use}\n\n${PROJECT_URL}\n`;
  const whole = { ...manifest, type: "module", exports, sideEffects: false };
  return packNpm(project, whole, [
    { name: "index.js", bytes: Buffer.from(text) },
    { name: "README.md", bytes: Buffer.from(readme) },
    ...declarations(root, entry),
    ...more,
  ]);
}

/** Of files that others may write too the client only reads, which takes no call of C. */
const withoutC: Bun.BunPlugin = {
  name: "without C",
  setup(build) {
    build.onLoad({ filter: /ffi[\\/]system[\\/]calls\.ts$/ }, () => {
      return { contents: "export const fullSync = undefined, tryLock = undefined;", loader: "ts" };
    });
  },
};

async function bundle(
  root: string,
  entry: string,
  options: Pick<Bun.BuildConfig, "target" | "plugins" | "define">,
): Promise<string> {
  // Comments would name the folder in which this process works.
  const minify = { whitespace: true, syntax: true };
  const { outputs } = await Bun.build({ entrypoints: [join(root, entry)], minify, ...options });
  return outputs[0]!.text();
}

/** By entry: the compiler takes seconds, and the sources stay the same while a process makes releases. */
const declared = new Map<string, ArchiveFile[]>();

/** The declarations of an entry and of what it imports. */
function declarations(root: string, entry: string): ArchiveFile[] {
  const path = join(root, entry);
  const files = declared.get(path) ?? makeDeclarations(root, path);
  declared.set(path, files);
  return files;
}

function makeDeclarations(root: string, entry: string): ArchiveFile[] {
  const folder = mkdtempSync(join(tmpdir(), "svc-types-"));
  try {
    const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: ".", rootDir: root };
    const typeRoots = [join(root, "node_modules/@types")];
    const compilerOptions = { ...options, typeRoots };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, files: [entry], include: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", folder]);
    if (!tsc.success) throw new BuildError(`the declarations of ${entry}: ${tsc.stdout}${tsc.stderr}`);
    const found = new Map<string, ArchiveFile>();
    add(join(folder, relative(root, entry)));
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));

    function add(source: string): void {
      const path = source.replace(/\.ts$/, ".d.ts");
      if (found.has(path)) return;
      const text = readFileSync(path, "utf8");
      found.set(path, { name: `types/${relative(folder, path)}`, bytes: Buffer.from(text) });
      for (const [, target] of text.matchAll(/(?:from|import\() ?"(\.{1,2}\/[^"]+)"/g))
        add(join(dirname(path), target!));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
