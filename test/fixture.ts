/** The native libraries of this checkout, built where something changed, and scratch memories for tests. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answerText } from "../src/answers/answer.ts";
import { parseArguments } from "../src/memory/arguments.ts";
import { Memory } from "../src/memory/memory.ts";
import type { NamedWorkspaces } from "../src/memory/repos/workspaces.ts";
import { Repositories } from "../src/memory/repositories.ts";
import type { CallContext, VerbName } from "../src/memory/requests.ts";
import type { CompactionOptions } from "../src/store/compaction/compactor.ts";
import { Store } from "../src/store/store.ts";
import { MultigramEmbedder } from "../src/texts/kernel.ts";
import type { Native } from "../src/trust/runtime/libraries.ts";
import { checkCollections } from "./complete-check.ts";
import { buildValidator } from "./native/validator.ts";
import { builtLibraries, openBuiltNative } from "./native.ts";
import { closedAtEnd } from "./opened.ts";

const ROOT = join(import.meta.dir, "..");

let checked: Promise<Native> | undefined;

/** The libraries of this checkout. In a test every collection is checked when it is closed and at the test's end. */
export function native(): Promise<Native> {
  checked ??= (async () => {
    const [opened, { runtime }] = await Promise.all([openBuiltNative(), builtLibraries()]);
    // A process that a test started has no such hooks.
    if (Bun.main.endsWith(".test.ts")) checkCollections(opened.env, runtime, await buildValidator());
    return opened;
  })();
  return checked;
}

/** A directory of its own; `npm test` removes what tests leave. */
export function scratchDir(): string {
  return mkdtempSync(join(tmpdir(), "svc-test-"));
}

/**
 * One for large files, such as copies of the executable, removed at the end of the test, or of the file. Others stay until
 * all tests have run, in memory where `npm test` has put them there.
 */
export function largeDir(): string {
  const dir = scratchDir();
  removedAtEnd(dir);
  return dir;
}

/** Removes a folder at the end of the test, or of the file. */
export function removedAtEnd(dir: string): void {
  closedAtEnd({ close: async () => rmSync(dir, { recursive: true, force: true }) });
}

/** The files of a collection, byte for byte, without the lock, which names the last writer, and the ballast. */
export function contents(dir: string): Record<string, string> {
  const files = readdirSync(dir).filter((name) => name !== ".lock" && name !== ".ballast");
  return Object.fromEntries(files.sort().map((name) => [name, readFileSync(join(dir, name)).toString("base64")]));
}

/** A store on a directory, closed at the test's end; several on one directory behave like several processes. */
export async function openStore(dir = scratchDir(), compaction: CompactionOptions = {}): Promise<Store> {
  return closedAtEnd(new Store(dir, (await native()).env, "0.0.0-test", undefined, compaction));
}

/** Works with a memory as from a server that was started in a directory. */
export async function fromDirectory<T>(
  directory: string,
  named: NamedWorkspaces,
  work: (m: TestMemory) => Promise<T>,
): Promise<T> {
  const before = process.cwd();
  const m = await TestMemory.open(undefined, named);
  process.chdir(directory);
  try {
    return await work(m);
  } finally {
    process.chdir(before);
    await m.close();
  }
}

/** A memory with all verbs, called as a client does: with arguments that still have to be parsed. */
export class TestMemory {
  private constructor(
    readonly dir: string,
    readonly memory: Memory,
  ) {}

  /**
   * @param named the workspace, as by `--workspace`, or what names it
   * @param compaction what it compacts by itself; nothing by default
   */
  static async open(
    dir = scratchDir(),
    named?: string | NamedWorkspaces,
    persistent = true,
    compaction: CompactionOptions = {},
  ): Promise<TestMemory> {
    const workspace = typeof named === "string" ? { flag: named } : (named ?? {});
    const store = await openStore(dir, compaction);
    const repoStore = persistent ? store : await openStore();
    const embedder = new MultigramEmbedder((await native()).kernel);
    const options = { repoStore, embedder, workspace, persistent, neverIndexed: [dir] };
    const repositories = async () => new Repositories(options);
    const memory = new Memory({ store, repoStore, embedder, repositories, dispose: async () => {} });
    return new TestMemory(dir, closedAtEnd(memory));
  }

  // biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
  async call(verb: VerbName, args: unknown = {}, context: CallContext = {}): Promise<any> {
    return JSON.parse(await this.text(verb, args, context));
  }

  /** The repositories that are indexed. */
  async repos(collection?: string) {
    return (await this.memory.repositories()).overview.list(collection);
  }

  async forget(repository: string, collection?: string) {
    return (await this.memory.repositories()).overview.forget(repository, collection);
  }

  /** The text block that a client gets. */
  async text(verb: VerbName, args: unknown = {}, context: CallContext = {}): Promise<string> {
    const parsed = parseArguments(verb, args);
    return answerText(await this.memory[verb](parsed as never, context), parsed.max_bytes);
  }

  close(): Promise<void> {
    return this.memory.close();
  }
}

/** The notes that this project ships. */
export function notes(): { id: string; text: string; metadata: Record<string, string> }[] {
  const path = join(ROOT, "test/data/notes.jsonl");
  if (!existsSync(path)) throw new Error("test/data/notes.jsonl is missing from this checkout");
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
