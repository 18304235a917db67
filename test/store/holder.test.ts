/** Who keeps a writer waiting: real processes that hold the lock, and the sentence about them. */
import { afterAll, expect, test } from "bun:test";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Holder, HolderState } from "../../ffi/ty_collection.ts";
import { heldError, patienceMs } from "../../src/store/lock/holder.ts";
import { beginWithin, HolderWatch } from "../../src/store/lock/lock.ts";
import { native, openStore, scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { runScript } from "../script.ts";

const DIM = 8;
const FIXTURE = JSON.stringify(join(import.meta.dir, "../fixture.ts"));
const LOCK = JSON.stringify(join(import.meta.dir, "../../src/store/lock/lock.ts"));
const one = (id: string) => ({ ids: [id], vectors: unitVectors(1, DIM, random(1)) });
const isLinux = process.platform === "linux";

const children: Bun.Subprocess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** A process that stages a row in collection `c` and keeps the lock. */
async function holding(dir: string) {
  const script = `
    const store = await openStore(process.argv[1]);
    const rows = { ids: ["theirs"], vectors: unitVectors(1, ${DIM}, random(2)) };
    await store.open("c").stage((t) => t.put(0, rows));
    console.log("held");
    setInterval(() => {}, 1000);`;
  const child = runScript(script, dir);
  children.push(child);
  await child.stdout.getReader().read();
  return child;
}

async function untilState(pid: number, state: string): Promise<void> {
  while (!readFileSync(`/proc/${pid}/stat`, "utf8").includes(`) ${state} `)) await Bun.sleep(5);
}

async function memory() {
  const { env } = await native();
  const store = await openStore();
  await store.create("c", { dim: DIM }).add(one("x"));
  return { store, waiter: env.openCollection(join(store.dir, "c")) };
}

test.skipIf(!isLinux)(
  "a holder that is stopped is named, with the commands that help, and not waited for",
  async () => {
    const { store, waiter } = await memory();
    const child = await holding(store.dir);
    const wait = (ms: number) => beginWithin("c", waiter, undefined, ms);
    await expect(wait(30)).rejects.toThrow(
      new RegExp(`^collection 'c' has unsaved changes in process ${child.pid} \\(`),
    );
    child.kill("SIGSTOP");
    await untilState(child.pid, "T");
    const stopped = `process ${child.pid} \\(.*\\), which is stopped: continue it with 'kill -CONT ${child.pid}' or end it`;
    await expect(wait(30)).rejects.toThrow(new RegExp(stopped));
    // Longer than this test may take.
    await expect(wait(600_000)).rejects.toThrow(new RegExp(stopped));
    // What is continued within the wait is waited for.
    const waiting = wait(600_000);
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await waiting;
    waiter.rollback();
    waiter.close();
    await store.close();
  },
  120_000,
);

const unshare = isLinux ? Bun.which("unshare") : null;
const asOther = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const canUnshare = unshare !== null && Bun.spawnSync([unshare, ...asOther, "true"]).success;

test.skipIf(!canUnshare)(
  "a holder in another pid namespace is not taken for a process here",
  async () => {
    const { store, waiter } = await memory();
    const child = await holding(store.dir);
    child.kill("SIGSTOP");
    const script = `
    import { native } from ${FIXTURE};
    import { beginWithin } from ${LOCK};
    const waiter = (await native()).env.openCollection(process.argv[1]);
    await beginWithin("c", waiter, undefined, 30).catch((error) => console.log(error.message));
    process.exit(0);`;
    const command = [unshare!, ...asOther, process.execPath, "-e", script, join(store.dir, "c")];
    const other = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
    children.push(other);
    const said = await new Response(other.stdout).text();
    expect(said).toContain("a process that cannot be seen from here");
    expect(said).toContain(`process ${child.pid} (`);
    expect(said).not.toContain("kill");
    child.kill("SIGKILL");
    await child.exited;
    waiter.close();
    await store.close();
  },
  120_000,
);

test("a process that holds its own lock is told apart, and what it does is in the lock file", async () => {
  const { store, waiter } = await memory();
  const { env } = await native();
  const holder = env.openCollection(join(store.dir, "c"));
  const lines = () => readFileSync(join(store.dir, "c/.lock"), "utf8");
  holder.begin();
  expect(lines()).toMatch(new RegExp(`^writer ${process.pid} {1,24}\n\\S+ saving +\n$`));
  expect(lines().length).toBe(96);
  holder.setStatus("unsaved");
  expect(lines()).toMatch(/ unsaved +\n$/);
  expect(waiter.holder()).toMatchObject({ pid: process.pid, state: HolderState.SELF, isForeign: false });
  await expect(beginWithin("c", waiter, undefined, 30)).rejects.toThrow("by this very process");
  holder.rollback();
  holder.close();
  waiter.close();
});

const RUNS: Holder = { pid: 4711, state: HolderState.RUNS, isForeign: false, label: "svc serve", what: "saving" };
const STOPPED = { ...RUNS, state: HolderState.STOPPED, label: "svc mcp" };
const UNSEEN = { ...RUNS, state: HolderState.UNSEEN };
const REMEDY = "call save from a client of that server, or start it with --save-interval 1";

test.each<[string, Holder, string]>([
  ["saving", RUNS, "collection 'c' is being changed by process 4711 (svc serve): try again later"],
  [
    "compacting",
    { ...RUNS, what: "compacting" },
    "collection 'c' is being compacted by process 4711 (svc serve): try again later",
  ],
  [
    "indexing",
    { ...RUNS, what: "indexing" },
    "collection 'c' is being indexed by process 4711 (svc serve): try again later",
  ],
  [
    "a server's unsaved changes",
    { ...RUNS, what: "unsaved" },
    `collection 'c' has unsaved changes in process 4711 (svc serve): ${REMEDY}`,
  ],
  [
    "those of clients that left",
    { ...RUNS, what: "left" },
    `collection 'c' has unsaved changes in process 4711 (svc serve), made by a client that has left: ${REMEDY}`,
  ],
  [
    "a program's unsaved changes",
    { ...RUNS, label: "app.ts", what: "unsaved" },
    "collection 'c' has unsaved changes in process 4711 (app.ts), and no other process can change it until that one " +
      "saves them",
  ],
  ["no label", { ...RUNS, label: "", what: "" }, "collection 'c' is being changed by process 4711: try again later"],
  [
    "stopped",
    STOPPED,
    "collection 'c' is being changed by process 4711 (svc mcp), which is stopped: " +
      "continue it with 'kill -CONT 4711' or end it with 'kill -KILL 4711'",
  ],
  [
    "another user's, stopped",
    { ...STOPPED, isForeign: true },
    "collection 'c' is being changed by process 4711 (svc mcp), which is stopped: " +
      "continue it with 'kill -CONT 4711' or end it with 'kill -KILL 4711', as its user",
  ],
  [
    "in a debugger",
    { ...STOPPED, state: HolderState.TRACED },
    "collection 'c' is being changed by process 4711 (svc mcp), which a debugger has stopped: continue it there",
  ],
  [
    "not seen",
    UNSEEN,
    "collection 'c' is being changed by a process that cannot be seen from here; the last to write its lock file was " +
      "process 4711 (svc serve), perhaps in another container or on another machine: try again later",
  ],
  ["not known", { ...UNSEEN, pid: 0 }, "collection 'c' is being changed by another process: try again later"],
])("the sentence about a holder: %s", (_, holder, sentence) => {
  const error = heldError("c", holder);
  expect(error.message).toBe(sentence);
  expect(error.code).toBe("TimeoutError.locked");
});

test("a holder that cannot free the lock by itself is not waited for as long", () => {
  const FOREVER = Number.POSITIVE_INFINITY;
  expect(patienceMs(RUNS)).toBe(FOREVER);
  expect(patienceMs({ ...RUNS, what: "unsaved" })).toBe(2500);
  expect(patienceMs({ ...RUNS, what: "left" })).toBe(2000);
  for (const what of ["compacting", "indexing"]) expect(patienceMs({ ...RUNS, what })).toBe(FOREVER);
  expect(patienceMs({ ...RUNS, label: "app.ts", what: "unsaved" })).toBe(FOREVER);
  expect(patienceMs(STOPPED)).toBe(2000);
  expect(patienceMs({ ...UNSEEN, what: "left" })).toBe(FOREVER);
});

test("a server that has saved since the last look is waited for again, and one wait is that of a whole queue", () => {
  const lockFile = join(scratchDir(), ".lock");
  writeFileSync(lockFile, "");
  const takenAt = (ms: number) => utimesSync(lockFile, new Date(), new Date(ms));
  takenAt(1000);
  const watch = new HolderWatch();
  const holder = { ...RUNS, what: "unsaved" };
  const first = watch.look(holder, lockFile);
  expect([watch.look(holder, lockFile), watch.isFresh]).toEqual([first, true]);
  takenAt(2000);
  expect(watch.look(holder, lockFile)).toBeGreaterThan(first);
  expect(watch.look({ ...holder, what: "left" }, lockFile)).toBeGreaterThan(first);
  watch.end();
  expect(watch.isFresh).toBe(false);
});
