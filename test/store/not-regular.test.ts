/**
 * A FIFO, a socket, a device or a folder in place of any file of a memory: every call ends, with an answer or a
 * sentence, and none waits for the other end of a FIFO.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";
import type { Line, NotRegular, Work } from "./not-regular-child.ts";

/** A call on these memories takes milliseconds; one that waits for a FIFO never ends. */
const HANGS_MS = 60_000;

const scratch = scratchDir();
const work: Omit<Work, "cases"> = {
  memory: join(scratch, "memory"),
  repository: join(scratch, "repository"),
  kinds: join(scratch, "kinds"),
};
/** Names of the kinds that can be made here. */
const kinds = ["fifo", "socket", "folder"];
const server = createServer();

beforeAll(async () => {
  mkdirSync(work.kinds);
  await makeKinds();
  mkdirSync(work.repository);
  for (const name of ["one", "two"])
    writeFileSync(join(work.repository, `${name}.ts`), `export const ${name} = "ships";\n`);
  const m = await TestMemory.open(work.memory, work.repository);
  await m.call("create_collection", { name: "notes", filter_columns: ["kind"], lexical: true });
  const ids = Array.from({ length: 40 }, (_, i) => `row ${i}`);
  const metadata = ids.map((_, i) => ({ kind: `kind ${i % 3}` }));
  await m.call("add", { collection: "notes", ids, metadata, texts: ids.map((id) => `the text of ${id} about ships`) });
  await m.call("build_lexical", { collection: "notes" });
  await m.call("build_ivf", { collection: "notes", min_rows: 1 });
  await m.call("add", { collection: "notes", texts: ["beside the base"], ids: ["late"] });
  await m.call("repo_search", { query: "ships" });
  await m.close();
});
afterAll(() => {
  server.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** One of each kind, to be linked to in place of a file. */
async function makeKinds(): Promise<void> {
  Bun.spawnSync(["mkfifo", join(work.kinds, "fifo")]);
  const path = join(scratch, "listening");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  renameSync(path, join(work.kinds, "socket"));
  // A device that has as many bytes as one reads.
  if (Bun.spawnSync(["mknod", join(work.kinds, "device"), "c", "1", "5"]).success) kinds.push("device");
  else console.log("devices are not tried: only root can make one");
}

/** Every file that a memory may have. */
function files(): string[] {
  const there = ["notes", "repo_symbols"].flatMap((name) =>
    readdirSync(join(work.memory, name)).map((file) => `${name}/${file}`),
  );
  const id = /repo-([0-9a-f]{16})/.exec(there.join())![1];
  const roles = ["base-", "delta-", "ivf-", "lexical-", "id_map.npy", "collection.json", ".lock", ".ballast"];
  for (const role of roles) expect(there.some((file) => file.startsWith(`notes/${role}`))).toBe(true);
  expect(there.some((file) => file.endsWith(".fingerprints"))).toBe(true);
  return [
    ...there,
    "notes/.first-save",
    "notes/base-00000000000000aa.slab",
    "notes/collection.json.tmp-1",
    "notes/spill.tmp-1-1",
    `repo_symbols/repo-${id}.lock`,
    `repo_symbols/repo-${id}.00000000.fingerprints`,
    // Beside the collections: another program's, what killed processes leave, a folder that lost all but its manifest.
    "other",
    "mcp-monitor.jsonl",
    ".svc-staged-left/.lock",
    ".svc-backup-left",
    ".discarded-left",
    "alone/collection.json",
  ];
}

/** Runs the cases in processes, each up to the call that hangs, which is added to `hung`. */
async function runAll(cases: NotRegular[], hung: string[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (let left = cases; left.length > 0; ) {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "not-regular-child.ts")], {
      stdin: new TextEncoder().encode(JSON.stringify({ ...work, cases: left })),
      stdout: "pipe",
      stderr: "inherit",
    });
    let timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
    let rest = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
      const whole = `${rest}${piece}`.split("\n");
      rest = whole.pop()!;
      lines.push(...whole.map((line) => JSON.parse(line) as Line));
    }
    clearTimeout(timer);
    const code = await child.exited;
    if (code === 0) break;
    const last = lines.at(-1)!;
    hung.push(
      `${last.file} as ${last.kind}: ${last.call} ${child.signalCode === "SIGKILL" ? "hangs" : `ends with ${code}`}`,
    );
    left = left.slice(left.findIndex(({ file, kind }) => file === last.file && kind === last.kind) + 1);
  }
  return lines;
}

/** What messages call the kinds. */
const WORDS: Record<string, string> = { fifo: "a FIFO", socket: "a socket", folder: "a folder", device: "a device" };

test("no file of a memory is opened in a way that can block, and each is called what it is", async () => {
  const cases = kinds.flatMap((kind) => files().map((file) => ({ file, kind })));
  const hung: string[] = [];
  const half = Math.ceil(cases.length / 2);
  const lines = (await Promise.all([cases.slice(0, half), cases.slice(half)].map((some) => runAll(some, hung)))).flat();
  expect(hung).toEqual([]);
  const odd = lines.filter(({ isOdd }) => isOdd);
  expect(odd.map(({ file, kind, call, said }) => `${file} as ${kind}: ${call}: ${said}`)).toEqual([]);
  for (const { file, kind } of cases) {
    const own = lines.filter((line) => line.file === file && line.kind === kind && line.said !== undefined);
    const saidBy = (call: string) => own.find((line) => line.call === call)?.said;
    expect(own.at(-1)?.call).toBe("drop repo_symbols");
    const what = `is ${WORDS[kind]}, not a regular file`;
    if (/^notes\/(collection\.json|id_map\.npy|(base|delta|ivf|lexical)-0.*[1-9]\.slab)$/.test(file)) {
      expect(saidBy("check")).toContain(`"what":"it ${what}"`);
    }
    if (/^notes\/(base|delta)-0.*[1-9]\.slab$/.test(file)) expect(saidBy("svc_get notes")).toContain(what);
    if (file === "notes/.lock") expect(saidBy("svc_add")).toBe(`OSError: .lock: it ${what}: remove it`);
    if (file === "notes/.lock")
      expect(saidBy("drop notes")).toBe(`OSError: collection 'notes': '.lock' ${what}: remove it`);
    if (file === "notes/collection.json") expect(saidBy("list")).toContain(`'collection.json' ${what}`);
  }
}, 900_000);
