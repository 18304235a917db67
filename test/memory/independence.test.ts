/** Repositories of one collection: what one of them is asked, and what it stores, is as if it were alone. */
import { describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RepoCollections } from "../../src/memory/repos/collections.ts";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { resolveWorkspace } from "../../src/repo/files/workspace.ts";
import { rankFiles } from "../../src/repo/rank/ranking.ts";
import type { Store } from "../../src/store/store.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { BM25 } from "../../src/texts/ranking.ts";
import { native, openStore, scratchDir } from "../fixture.ts";
import { random } from "../random.ts";
import { commitAll, git, putAll } from "../repo/helpers.ts";
import { indexRepo } from "../repo/indexing/runs.ts";

const WORDS =
  "lock file index token vector parse header retry socket buffer cache digest commit branch label query score window chunk folder".split(
    " ",
  );

/** Files of made-up code: common words, rare ones, names, and some with the very same lines. */
function tree(seed: number, files: number, tongue: string[]): Record<string, string> {
  const next = random(seed);
  const one = (list: readonly string[]) => list[Math.floor(next() * next() * list.length)]!;
  const made: Record<string, string> = {};
  for (let i = 0; i < files; i++) {
    const lines = Array.from({ length: 3 + Math.floor(next() * 90) }, (_, at) =>
      at % 7 === 0
        ? `export function ${one(tongue)}${one(WORDS)}${Math.floor(next() * 40)}() {`
        : `  ${one(WORDS)}.${one(tongue)}(${one(WORDS)}); // ${one(WORDS)} ${one(tongue)} ${one(WORDS)}`,
    );
    made[`${one(["src", "test", "docs"])}/${one(WORDS)}/${one(tongue)}-${i}.${one(["ts", "py", "md"])}`] =
      lines.join("\n");
    if (i % 9 === 0) made[`src/same-${i}.ts`] = "export const same = lock(file);\n";
  }
  return made;
}

function questions(seed: number, tongue: string[]): string[] {
  const next = random(seed);
  const one = (list: readonly string[]) => list[Math.floor(next() * list.length)]!;
  const asked = ["same lock file", "same", "lcok flie", "no such wordatall", "src/lock", tongue[0]!];
  for (let i = 0; i < 60; i++) {
    asked.push(Array.from({ length: 1 + (i % 4) }, (_, at) => one(at % 2 ? tongue : WORDS)).join(" "));
  }
  return asked;
}

const embedder = native().then(({ kernel }) => new MultigramEmbedder(kernel));

/** The repositories of one store. */
class Repos {
  /** The indexed files of each root. */
  private readonly paths = new Map<string, readonly string[]>();

  private constructor(
    readonly store: Store,
    private readonly collections: RepoCollections,
    private readonly model: MultigramEmbedder,
  ) {}

  static async open(dir = scratchDir()): Promise<Repos> {
    const store = await openStore(dir);
    return new Repos(store, new RepoCollections(store, await embedder), await embedder);
  }

  get collection() {
    return this.collections.open("repo_symbols");
  }

  get folder(): string {
    return this.collections.folder("repo_symbols");
  }

  async index(root: string) {
    const { collection } = this;
    const result = await indexRepo({
      workspace: await resolveWorkspace(root),
      collection: "repo_symbols",
      sink: this.collections.sink(collection, undefined),
      folder: this.folder,
      onIndexed: (paths) => this.paths.set(root, paths),
    });
    if (collection.stats().lexical_built === 0) await collection.buildLexical(BM25.k1, BM25.b);
    return result;
  }

  /** Everything of the answers that could differ, without the repository's id. */
  async answers(root: string, asked: readonly string[]) {
    const workspace = await resolveWorkspace(root);
    const all: unknown[] = [];
    for (const query of asked) {
      const question = { query, topK: 10, paths: this.paths.get(root)!, readEach: () => {}, linesOf: () => undefined };
      const { files, notice } = await rankFiles(this.collection, this.model, workspace, question, undefined);
      const windows = files.flatMap((file) => file.windows.map(({ id, score }) => [id.slice(17), score]));
      all.push({ query, notice: notice ?? null, windows });
    }
    return all;
  }

  /** Rows with their vectors, without the repository's id. */
  rows(root: string) {
    const ids = this.collection.ids({ where: { column: "repo_id", value: repoIdOf(root) } });
    return this.collection
      .get(ids, { vector: true })
      .map(({ id, vector }) => [
        id.slice(17),
        Buffer.from(vector!.buffer, vector!.byteOffset, vector!.byteLength).toString("base64"),
      ]);
  }
}

const OURS = "alder birch cedar cypress elm hazel larch maple rowan spruce".split(" ");
const THEIRS = "basalt chert flint gneiss granite marble obsidian pumice quartz slate".split(" ");

describe.each([
  ["of hundreds of windows", 150, 90],
  ["too small for weights of its own", 12, 150],
])("a repository %s", (_, ours, theirs) => {
  test("answers as alone beside another and a linked work tree, to the score", async () => {
    const [oursFiles, theirsFiles] = [tree(1, ours, OURS), tree(2, theirs, THEIRS)];
    const main = putAll(scratchDir(), oursFiles);
    git(main, "init", "-q");
    commitAll(main);
    const linked = join(scratchDir(), "linked");
    git(main, "worktree", "add", "-q", linked);
    putAll(linked, { "src/changed.ts": "export const changed = birch(lock);\n", "src/same-0.ts": "// another\n" });
    const other = putAll(scratchDir(), theirsFiles);
    const asked = [...questions(3, OURS), ...questions(4, THEIRS)];

    const alone = new Map<string, { answers: unknown; rows: unknown }>();
    for (const root of [main, linked, other]) {
      const repos = await Repos.open();
      await repos.index(root);
      alone.set(root, { answers: await repos.answers(root, asked), rows: repos.rows(root) });
      await repos.store.close();
    }
    const together = await Repos.open();
    const check = async () => {
      for (const root of [main, linked, other]) {
        expect(await together.answers(root, asked)).toEqual(alone.get(root)!.answers as never);
        expect(together.rows(root)).toEqual(alone.get(root)!.rows as never);
      }
    };
    for (const root of [other, main, linked]) await together.index(root);
    await check();
    // As a base, and with rows of both in the delta again, in another order.
    await together.collection.compact();
    await check();
    for (const [root, files] of [
      [main, oursFiles],
      [other, theirsFiles],
    ] as const) {
      const [path, text] = Object.entries(files)[3]!;
      // As many windows as before: a new row would come after the others where scores are equal.
      for (const now of [`changed ${text}`, text]) {
        putAll(root, { [path]: now });
        await together.index(root);
      }
    }
    await check();
    await together.store.close();
  }, 60_000);
});

test("a linked work tree's rows have the stored vectors of its sibling's", async () => {
  const main = putAll(scratchDir(), { "a.ts": "export const alder = 1;\n", "b.ts": "export const birch = 2;\n" });
  git(main, "init", "-q");
  commitAll(main);
  const linked = join(scratchDir(), "linked");
  git(main, "worktree", "add", "-q", linked);
  const repos = await Repos.open();
  await repos.index(main);
  // A vector that no text has shows where those of the linked rows are from; the other row is not there any more.
  const { collection } = repos;
  const [a, b] = ["a.ts", "b.ts"].map((path) => `${repoIdOf(main)}:${path}:0`);
  const { metadata } = collection.get([a!], { metadata: true })[0]!;
  const vectors = Float32Array.from({ length: collection.schema.dim }, (_, i) => Math.sin(i));
  await collection.upsert({ ids: [a!], vectors, metadata: [metadata] });
  await collection.delete([b!]);
  await repos.index(linked);
  const rows = new Map(repos.rows(linked) as [string, string][]);
  const first = new Map(repos.rows(main) as [string, string][]);
  expect(rows.get("a.ts:0")).toBe(first.get("a.ts:0")!);
  await repos.index(main);
  expect(rows.get("b.ts:0")).toBe(new Map(repos.rows(main) as [string, string][]).get("b.ts:0")!);
  await repos.store.close();
});

test("a change of another repository makes a call that finds nothing new write nothing", async () => {
  const [one, other] = [putAll(scratchDir(), tree(5, 20, OURS)), putAll(scratchDir(), tree(6, 5, THEIRS))];
  const repos = await Repos.open();
  await repos.index(one);
  // A file stamped less than two seconds before a run is read again by the next.
  await Bun.sleep(2100);
  await repos.index(one);
  const files = () => {
    const { folder } = repos;
    const stat = (name: string) => statSync(join(folder, name), { bigint: true });
    return readdirSync(folder).map((name) => [name, stat(name).ino, stat(name).mtimeNs, stat(name).size]);
  };
  for (const change of ["index", "edit", "compact"]) {
    if (change === "edit") putAll(other, { "new.ts": "export const added = 1;\n" });
    if (change === "compact") await repos.collection.compact();
    else await repos.index(other);
    const before = files();
    expect(await repos.index(one)).toMatchObject({ status: "hit" });
    expect(files()).toEqual(before);
  }
  // Its own rows, deleted by someone else, are noticed.
  const [gone] = repos.collection.ids({ where: { column: "repo_id", value: repoIdOf(one) } });
  await repos.collection.delete([gone!]);
  expect(await repos.index(one)).toMatchObject({ status: "refreshed", files_changed: 1 });
  await repos.store.close();
});

test("a collection that was dropped, or restored from an older copy of its folder, is noticed", async () => {
  const files = tree(7, 12, OURS);
  const root = putAll(scratchDir(), files);
  const dir = scratchDir();
  const folder = join(dir, "repo_symbols");
  const [first] = Object.keys(files);
  /** One run of a process of its own, and whether the rows are those of a collection made of nothing. */
  const run = async () => {
    const [repos, fresh] = [await Repos.open(dir), await Repos.open()];
    const result = await repos.index(root);
    await fresh.index(root);
    expect(repos.rows(root).sort()).toEqual(fresh.rows(root).sort());
    for (const { store } of [repos, fresh]) await store.close();
    return result;
  };
  await run();
  cpSync(folder, join(dir, ".older"), { recursive: true });
  putAll(root, { [first!]: "export const edited = 1;\n", "new.ts": "export const added = 1;\n" });
  await run();
  // The copy with its fingerprints, then without: those of the later state stay.
  for (const keeps of [false, true]) {
    const kept = readdirSync(folder).filter((name) => keeps && name.endsWith(".fingerprints"));
    const bytes = kept.map((name) => [name, readFileSync(join(folder, name))] as const);
    rmSync(folder, { recursive: true });
    cpSync(join(dir, ".older"), folder, { recursive: true });
    for (const [name, content] of bytes) writeFileSync(join(folder, name), content);
    if (keeps) putAll(root, { [first!]: "export const edited = 2;\n" });
    expect(await run()).toMatchObject({ status: "refreshed", files_changed: 2 });
  }
  rmSync(folder, { recursive: true });
  expect(await run()).toMatchObject({ status: "built" });
  expect(await run()).toMatchObject({ files_changed: 0 });
});
