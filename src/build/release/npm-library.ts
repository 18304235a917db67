/**
 * The npm package of the TypeScript client: one file of JavaScript for Node and Bun, and the declarations that it needs.
 * It has no dependencies.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { NPM_CLIENT, PROJECT_URL } from "../../published.ts";
import { BuildError } from "../step.ts";
import type { ArchiveFile } from "./archives.ts";
import { commonManifest, type NpmPackage, packNpm } from "./npm.ts";
import type { Project } from "./project.ts";

/** What a program imports, relative to the checkout. */
const ENTRY = "src/remote/client/index.ts";

/** The package. @throws BuildError for a client that needs more than Node has */
export async function npmClientPackage(root: string, project: Project): Promise<NpmPackage> {
  const types = declarations(root);
  const manifest = {
    ...commonManifest(project, NPM_CLIENT),
    description: "The client of svc serve: collections of vectors and texts that live in another process or host.",
    type: "module",
    engines: { node: ">=20.16" },
    exports: { ".": { types: `./types/${ENTRY.replace(/ts$/, "d.ts")}`, default: "./client.js" } },
    sideEffects: false,
  };
  const readme = `# ${NPM_CLIENT}\n\n${manifest.description}\n\n${EXAMPLE}\n${PROJECT_URL}\n`;
  return packNpm(project, manifest, [
    { name: "client.js", bytes: await bundle(root) },
    { name: "README.md", bytes: Buffer.from(readme) },
    ...types,
  ]);
}

const EXAMPLE = `    import { connect } from "${NPM_CLIENT}";

    const memory = await connect("./svc.sock");
    const notes = await memory.openCollection("notes");
    console.log(await notes.searchText("how do we deploy", { topK: 3 }));
    await memory.close();

It runs on Node 20 and newer and on Bun. The types need @types/node.
`;

async function bundle(root: string): Promise<Uint8Array> {
  const { outputs } = await Bun.build({
    entrypoints: [join(root, ENTRY)],
    target: "node",
    // Comments would name the folder in which this process works.
    minify: { whitespace: true, syntax: true },
    plugins: [
      {
        name: "no C",
        setup(build) {
          // Of files that others may write too the client only reads, which takes no call of C.
          build.onLoad({ filter: /ffi[\\/]system[\\/]calls\.ts$/ }, () => {
            return { contents: "export const fullSync = undefined, tryLock = undefined;", loader: "ts" };
          });
        },
      },
    ],
  });
  const text = await outputs[0]!.text();
  const more = /fullSync|tryLock|\bbun:\w+|\bBun\.(?!connect\b)\w+/.exec(text);
  if (more) throw new BuildError(`the client of the npm package must run on Node, and uses ${more[0]}`);
  return Buffer.from(text);
}

/** Of checkouts: the compiler takes seconds, and the sources stay the same while a process makes releases. */
const declared = new Map<string, ArchiveFile[]>();

/** The declarations of the entry and of what it imports. */
function declarations(root: string): ArchiveFile[] {
  const files = declared.get(root) ?? makeDeclarations(root);
  declared.set(root, files);
  return files;
}

function makeDeclarations(root: string): ArchiveFile[] {
  const folder = mkdtempSync(join(tmpdir(), "svc-types-"));
  try {
    const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: ".", rootDir: root };
    const typeRoots = [join(root, "node_modules/@types")];
    const compilerOptions = { ...options, typeRoots, stripInternal: true, removeComments: false };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, files: [join(root, ENTRY)], include: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "-p", folder]);
    if (!tsc.success) throw new BuildError(`the declarations of the client: ${tsc.stdout}${tsc.stderr}`);
    const found = new Map<string, ArchiveFile>();
    add(join(folder, ENTRY));
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
