/**
 * A process that calls everything on memories in which a file was replaced by something that is not a file. Before each
 * call it prints what it is about to do, after it what came of it: a line that nothing follows names the call that
 * hangs.
 */
import { cpSync, linkSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { checkMemory } from "../../src/cli/doctor/memory.ts";
import { checkRepositories } from "../../src/cli/doctor/repositories.ts";
import { errorLine, SvcError } from "../../src/errors.ts";
import { scratchDir, TestMemory } from "../fixture.ts";
import { openBuiltNative } from "../native.ts";

/** A file of a memory directory, and what stands in its place: something that `kinds` has under that name. */
export interface NotRegular {
  file: string;
  kind: string;
}

/** What the child prints. */
export interface Line extends NotRegular {
  call: string;
  /** Absent before the call. */
  said?: string;
  /** Its error is not one of ours. */
  isOdd?: boolean;
}

/** What the child works with: a sound memory, a repository that is indexed in it, and one of each kind. */
export interface Work {
  memory: string;
  repository: string;
  kinds: string;
  cases: NotRegular[];
}

const VERSION = "0.0.0-test";

/** Every call on a memory, each in an object that has opened nothing yet. */
async function callAll(dir: string, { repository }: Work, ask: (call: string, work: () => unknown) => Promise<void>) {
  const native = await openBuiltNative();
  const inMemory = async (work: (m: TestMemory) => unknown) => {
    const m = await TestMemory.open(dir, repository);
    try {
      return await work(m);
    } finally {
      await m.close();
    }
  };
  const inStore = async (work: (store: LocalStore) => unknown) => {
    const store = new LocalStore(dir, native, VERSION);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  const names = ["notes", "repo_symbols"];
  await ask("list", () => inMemory(async (m) => m.memory.overview()));
  await ask("svc_list_collections", () => inMemory((m) => m.call("list_collections")));
  await ask("repos", () => inMemory(async (m) => (await m.memory.repositories()).overview.list()));
  await ask("doctor, outside", () => checkMemory({ env: { SVC_MEMORY_PATH: dir }, license: undefined }));
  await ask("doctor, repositories", () => checkRepositories({ SVC_MEMORY_PATH: dir, HOME: dir }));
  await ask("check", () => inStore((store) => store.check()));
  for (const collection of names) {
    const inOne = (call: string, work: (m: TestMemory) => unknown) =>
      ask(`${call} ${collection}`, () => inMemory(work));
    await inOne("svc_stats", (m) => m.call("stats", { collection }));
    await inOne("svc_search", (m) => m.call("search", { collection, query: "ships" }));
    await inOne("svc_search_lexical", (m) => m.call("search_lexical", { collection, query: "ships" }));
    await inOne("svc_get", async (m) => m.call("get", { collection, ids: (await m.call("ids", { collection })).ids }));
    await inOne("svc_delete", (m) => m.call("delete", { collection, ids: ["row 1"] }));
  }
  await ask("svc_add", () => inMemory((m) => m.call("add", { collection: "notes", texts: ["one more"] })));
  await ask("svc_repo_search", () => inMemory((m) => m.call("repo_search", { query: "ships" })));
  await ask("undo", () =>
    inMemory(async (m) => (await m.memory.terminal()).undo({ collection: "notes", force: false, dry_run: false }, {})),
  );
  const folder = join(dirname(dir), "backup");
  await ask("backup", () => inStore((store) => store.backup(folder)));
  await ask("check --repair", () =>
    inStore(async (store) => {
      for (const { name } of await store.check()) await store.repair(name);
    }),
  );
  await ask("svc_compact", () => inMemory((m) => m.call("compact", { collection: "notes" })));
  for (const name of names) await ask(`drop ${name}`, () => inStore((store) => store.dropCollection(name)));
}

/** A memory of its own, in which the case's file is what the case says. */
async function run(work: Work, { file, kind }: NotRegular): Promise<void> {
  const scratch = scratchDir();
  const dir = join(scratch, "memory");
  cpSync(work.memory, dir, { recursive: true });
  const path = join(dir, file);
  rmSync(path, { force: true });
  if (kind === "folder") mkdirSync(path, { recursive: true });
  else {
    mkdirSync(dirname(path), { recursive: true });
    linkSync(join(work.kinds, kind), path);
  }
  const say = (line: Omit<Line, "file" | "kind">) =>
    process.stdout.write(`${JSON.stringify({ file, kind, ...line })}\n`);
  await callAll(dir, work, async (call, asked) => {
    say({ call });
    try {
      const answer = (await asked()) as unknown;
      say({ call, said: JSON.stringify(answer) ?? "" });
    } catch (error) {
      say({ call, said: errorLine(error), isOdd: !(error instanceof SvcError) });
    }
  });
  rmSync(scratch, { recursive: true, force: true });
}

if (import.meta.main) {
  const work = JSON.parse(await Bun.stdin.text()) as Work;
  for (const one of work.cases) await run(work, one);
}
