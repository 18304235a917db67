/** What is in the server's memory, what is saved, who sees it, and which connections get an error when it is lost. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../../src/remote/client/client.ts";
import { native, scratchDir } from "../../fixture.ts";
import { closedAtEnd } from "../../opened.ts";
import { type Answer, ask, openLocal, type Raw, TestServer, until } from "./raw.ts";

const ENOSPC = 28;

async function started(options: Parameters<typeof TestServer.start>[0] = {}) {
  const server = closedAtEnd(await TestServer.start(options));
  const [one, two] = [await server.open(), await server.open()];
  await one.ok("create_collection", "c", { dim: 2 });
  return { server, one, two };
}
const row = (id: string) => ({ vectors: [[1, 0]], ids: [id] });
const idsOnDisk = async (dir: string, name = "c") => {
  await using store = await openLocal(dir);
  return (await store.openCollection(name)).ids();
};

/** The next save's first system call fails. */
async function failing<T>(work: () => Promise<T>): Promise<T> {
  const { env } = await native();
  env.testFail(1, ENOSPC, true);
  try {
    return await work();
  } finally {
    env.testFail(0, 0, false);
  }
}

test("changes are visible to all connections at once, and on disk after a save of any", async () => {
  const { server, one, two } = await started();
  await one.ok("add", "c", row("a"));
  expect(await two.ok("ids", "c")).toEqual(["a"]);
  expect(await two.ok("stats", "c")).toMatchObject({ unsaved_changes: true, unsaved_rows: 1 });
  expect(await two.ok("collections")).toEqual([]);
  await using store = await openLocal(server.dir);
  await expect(store.openCollection("c")).rejects.toThrow("does not exist");
  await two.ok("save", "c");
  expect(await (await store.openCollection("c")).ids()).toEqual(["a"]);
  expect(await one.ok("collections")).toEqual(["c"]);
  expect(await one.ok("stats", "c")).toMatchObject({ unsaved_changes: false });
  await one.ok("delete", "c", { ids: ["a"] });
  expect(await two.ok("ids", "c")).toEqual([]);
  expect(await (await store.openCollection("c")).ids()).toEqual(["a"]);
});

test("what was saved is there though the server's process never ends in order", async () => {
  const { server, one } = await started();
  await one.ok("add", "c", row("a"));
  await one.ok("save", "c");
  await one.ok("add", "c", row("b"));
  expect(await idsOnDisk(server.dir)).toEqual(["a"]);
});

test("another process's write waits while changes are unsaved, and fails naming who holds the lock", async () => {
  const { server, one } = await started();
  await one.ok("save", "c");
  await one.ok("add", "c", row("a"));
  await using other = await openLocal(server.dir);
  const theirs = await other.openCollection("c");
  let isOver = false;
  const write = theirs.add([[0, 1]], { ids: ["theirs"] }).finally(() => {
    isOver = true;
  });
  await Bun.sleep(200);
  expect(isOver).toBe(false);
  expect(await theirs.ids()).toEqual([]);
  await one.ok("save", "c");
  await write;
  // Now they hold it: a change here waits, and goes on when they have saved.
  one.send(ask("add", "c", row("mine")), ask("ping"));
  await Bun.sleep(100);
  expect(one.replies).toEqual([]);
  await theirs.save();
  expect((await one.next()).ok).toBe(true);
  expect(await one.next()).toMatchObject({ ok: true });
  expect(await one.ok("ids", "c")).toEqual(["a", "theirs", "mine"]);
});

test("the save interval saves what is unsaved, also what was only created, and releases the lock", async () => {
  const { server, one } = await started({ saveIntervalS: 0.2 });
  await one.ok("create_collection", "empty", { dim: 3 });
  await one.ok("add", "c", row("a"));
  await until("the autosave", async () => (await one.ok("collections")).length === 2);
  await until("the save", async () => !(await one.ok("stats", "c")).unsaved_changes);
  expect(await idsOnDisk(server.dir)).toEqual(["a"]);
  await using other = await openLocal(server.dir);
  const theirs = await other.openCollection("c");
  await theirs.add([[0, 1]], { ids: ["theirs"] });
  await theirs.save();
  expect(await one.ok("ids", "c")).toEqual(["a", "theirs"]);
  const { generation } = await one.ok("stats", "c");
  await Bun.sleep(500);
  expect((await one.ok("stats", "c")).generation).toBe(generation);
});

test("an orderly end saves everything, also collections that are empty", async () => {
  const { server, one, two } = await started();
  await one.ok("add", "c", row("a"));
  await two.ok("create_collection", "empty", { dim: 5, filter_columns: ["k"] });
  await two.ok("create_collection", "t", { embedder: "bigram" });
  await two.ok("add_texts", "t", { texts: ["hello"], ids: ["h"] });
  expect(await server.stop()).toEqual(new Map());
  expect(await idsOnDisk(server.dir)).toEqual(["a"]);
  expect(await idsOnDisk(server.dir, "t")).toEqual(["h"]);
  await using store = await openLocal(server.dir);
  expect(await store.collections()).toEqual(["c", "empty", "t"]);
  expect((await store.openCollection("empty")).schema).toMatchObject({ dim: 5, filterColumns: ["scope", "k"] });
});

test("an orderly end answers what is in flight, and takes nothing new", async () => {
  const { server, one, two } = await started();
  one.send(
    ...Array.from({ length: 40 }, (_, i) => ask("add", "c", row(`r${i}`), i)),
    ask("save", "c", undefined, "saved"),
  );
  await one.next();
  const stopping = server.server.stop();
  const replies = await one.many(40);
  expect(replies.every(({ ok }) => ok)).toBe(true);
  expect(replies.at(-1).id).toBe("saved");
  await stopping;
  await two.end();
  expect(await one.next()).toMatchObject({ ok: false, code: "closing" });
  expect(await two.next()).toMatchObject({ ok: false, code: "closing" });
  expect(await one.next()).toBeUndefined();
  await expect(server.bare()).rejects.toThrow();
  expect(await idsOnDisk(server.dir)).toHaveLength(40);
  // A second stop is the first one.
  expect(await server.server.stop()).toEqual(new Map());
});

test("an orderly end waits for a client that reads late, and saves though one never reads", async () => {
  const { server, one, two } = await started();
  await one.ok("add", "c", {
    vectors: Array.from({ length: 5000 }, () => [1, 0]),
    ids: Array.from({ length: 5000 }, (_, i) => `${i}`.padEnd(300, "x")),
  });
  two.pause();
  two.send(...Array.from({ length: 20 }, (_, id) => ask("ids", "c", {}, id)));
  await until("replies that wait", async () => (await one.ok("stats")).buffered_bytes > 1_000_000);
  const stopping = server.server.stop();
  await Bun.sleep(200);
  two.resume();
  const replies = await two.many(20);
  expect(replies.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, id) => id));
  await stopping;
  expect(await idsOnDisk(server.dir)).toHaveLength(5000);
});

// ---- clients that leave ---------------------------------------------------------------------------------------------

test("with a save interval the last client with unsaved changes that leaves has them saved", async () => {
  const { server, one, two } = await started({ saveIntervalS: 3600 });
  await one.ok("save", "c");
  const watcher = await server.open();
  await one.ok("add", "c", row("one"));
  await two.ok("add", "c", row("two"));
  await two.ok("delete", "c", { ids: ["one"] });
  one.close();
  await until("the first to be gone", async () => (await two.ok("stats")).connections.open === 2);
  expect(await two.ok("stats", "c")).toMatchObject({ unsaved_changes: true });
  two.close();
  await until("the save", async () => !(await watcher.ok("stats", "c")).unsaved_changes);
  expect(await idsOnDisk(server.dir)).toEqual(["two"]);
});

test("a client whose changes were saved does not keep those of another from being saved when that one leaves", async () => {
  const { server, one, two } = await started({ saveIntervalS: 3600 });
  await one.ok("add", "c", row("one"));
  await one.ok("save", "c");
  await two.ok("add", "c", row("two"));
  two.close();
  await until("the save", async () => !(await one.ok("stats", "c")).unsaved_changes);
  expect(await idsOnDisk(server.dir)).toEqual(["one", "two"]);
});

test("a change that ends after its client has left is saved too", async () => {
  const { server, one, two } = await started({ saveIntervalS: 3600 });
  await one.ok("save", "c");
  const holder = (await native()).env.openCollection(join(server.dir, "c"));
  holder.begin();
  two.send(ask("add", "c", row("late")));
  await until("the request to arrive", async () => (await one.ok("stats")).connections.open === 2);
  await Bun.sleep(50);
  two.close();
  await until("the client to be gone", async () => (await one.ok("stats")).connections.open === 1);
  holder.rollback();
  holder.close();
  await until("the save", async () => (await one.ok("stats", "c")).generation === 2);
  expect(await idsOnDisk(server.dir)).toEqual(["late"]);
});

test("a save for clients that left is reported where it fails", async () => {
  const { server, one, two } = await started({ saveIntervalS: 3600 });
  await one.ok("save", "c");
  await two.ok("add", "c", row("two"));
  await failing(async () => {
    two.close();
    await until("the log line", () => server.logged("save_failed").length > 0);
  });
  expect((await one.ask("save", "c")).error).toMatch(/^OSError: .*lost/);
});

test("without a save interval nothing is saved by itself, and the lock file says that the clients left", async () => {
  const { server, one, two } = await started();
  const says = () => readFileSync(join(server.dir, "c/.lock"), "utf8").split("\n")[1]!.trim().split(" ").at(-1);
  await one.ok("save", "c");
  await two.ok("add", "c", row("two"));
  expect(says()).toBe("unsaved");
  two.close();
  await until("the word", () => says() === "left");
  expect(await one.ok("stats", "c")).toMatchObject({ unsaved_changes: true });
  expect(await idsOnDisk(server.dir)).toEqual([]);
  await one.ok("add", "c", row("one"));
  expect(says()).toBe("unsaved");
  await one.ok("save", "c");
  expect(await idsOnDisk(server.dir)).toEqual(["two", "one"]);
});

// ---- saves that fail ----------------------------------------------------------------------------------------------

test("a failed save is an OSError; the collection is as last saved, and every connection gets an error", async () => {
  const { server, one, two } = await started();
  const three = await server.open();
  await one.ok("add", "c", row("saved"));
  await one.ok("save", "c");
  await one.ok("add", "c", row("one"));
  await two.ok("add", "c", row("two"));
  const failed = await failing(() => one.ask("save", "c"));
  expect(failed.error).toMatch(/^OSError: /);
  expect(failed.error).toMatch(/2|two/);
  expect(failed.error).not.toContain(server.dir);
  expect(await three.ok("ids", "c")).toEqual(["saved"]);
  // One got the error of its own save.
  await one.ok("add", "c", row("again"));
  await one.ok("save", "c");
  // Two did not, and what it adds now is saved nevertheless.
  await two.ok("add", "c", row("later"));
  const lost = await two.ask("save", "c");
  expect(lost.error).toMatch(/^OSError: .*lost/);
  expect(await two.ask("save", "c")).toEqual({ ok: true, result: null });
  // Three changed nothing; its save would have stood for the changes of the others.
  expect((await three.ask("save", "c")).error).toMatch(/^OSError: .*lost/);
  expect(await three.ask("save", "c")).toEqual({ ok: true, result: null });
  // Who comes later has nothing to do with it.
  expect(await (await server.open()).ask("save", "c")).toEqual({ ok: true, result: null });
  expect((await one.ok("stats")).lost_saves).toBe(1);
  expect((await one.ok("stats", "c")).lost_saves).toBe(1);
  expect(await idsOnDisk(server.dir)).toEqual(["saved", "again", "later"]);
});

test("a connection whose change came after the failed save gets the error, and its change is saved", async () => {
  const { server, one, two } = await started();
  await one.ok("add", "c", row("one"));
  await failing(() => one.ask("save", "c"));
  await two.ok("add", "c", row("two"));
  expect((await two.ask("save", "c")).error).toMatch(/^OSError: .*lost.*Later changes are saved$/);
  expect(await idsOnDisk(server.dir)).toEqual(["two"]);
});

test("compact and delete take part: a lost delete is an error as well", async () => {
  const { one, two } = await started();
  await one.ok("add", "c", row("a"));
  await one.ok("save", "c");
  await two.ok("delete", "c", { ids: ["a"] });
  expect((await failing(() => one.ask("compact", "c"))).error).toMatch(/^OSError: /);
  expect(await two.ok("ids", "c")).toEqual(["a"]);
  expect((await two.ask("compact", "c")).error).toMatch(/^OSError: .*lost/);
  expect(await two.ask("compact", "c")).toEqual({ ok: true, result: null });
});

test("an autosave that fails is logged, and is an error of the next save of each connection", async () => {
  const { server, one, two } = await started({ saveIntervalS: 0.3 });
  await one.ok("save", "c");
  await one.ok("add", "c", row("a"));
  await failing(async () => {
    await until("the log line", () => server.logged("save_failed").length > 0);
  });
  expect(server.logged("save_failed")[0]).toMatchObject({ level: "error", fields: { collection: "c" } });
  expect(server.logged("save_failed")[0]!.message).not.toContain(server.dir);
  expect((await two.ask("save", "c")).error).toMatch(/^OSError: .*lost/);
  expect((await one.ask("save", "c")).error).toMatch(/^OSError: .*lost/);
  expect(await one.ask("save", "c")).toEqual({ ok: true, result: null });
});

test("nothing that was acknowledged and saved is lost beside reads during a collection's first save", async () => {
  const { server, one, two } = await started();
  const three = await server.open();
  for (let i = 0; i < 40; i++) {
    const name = `first${i}`;
    await one.ok("create_collection", name, { dim: 2 });
    await one.ok("add", name, row("a"));
    // One saves for the first time, another adds after it, a third keeps reading: none may replace the object.
    one.send(ask("save", name));
    two.send(ask("add", name, row("b")));
    three.send(...Array.from({ length: 8 }, () => ask("ids", name)));
    expect((await one.next()).ok && (await two.next()).ok).toBe(true);
    await three.many(8);
    await two.ok("save", name);
    expect(await idsOnDisk(server.dir, name)).toEqual(["a", "b"]);
  }
}, 120_000);

test("a collection whose folder vanished: no save succeeds that saved nothing", async () => {
  const { server, one } = await started();
  await one.ok("add", "c", row("a"));
  await one.ok("save", "c");
  await one.ok("add", "c", row("b"));
  rmSync(join(server.dir, "c"), { recursive: true });
  const reply = await one.ask("save", "c");
  const isThere = readdirSync(server.dir).includes("c");
  // Either it fails, or what it acknowledged is there.
  if (reply.ok) expect(isThere && (await idsOnDisk(server.dir))).toEqual(["a", "b"]);
  else expect(reply.error).toMatch(/^(OSError|ValueError|RuntimeError): /);
  expect((await one.ask("ping")).ok).toBe(true);
});

test("stop names the collections that could not be saved, and saves the others", async () => {
  const { server, one } = await started();
  await one.ok("add", "c", row("a"));
  await one.ok("create_collection", "d", { dim: 1 });
  // A file where the collection's folder would be.
  rmSync(join(server.dir, "c"), { recursive: true });
  await Bun.write(join(server.dir, "c"), "in the way");
  const failures = await server.stop();
  expect([...failures.keys()]).toEqual(["c"]);
  expect(server.logged("save_failed")).toHaveLength(1);
  await using store = await openLocal(server.dir);
  expect(await store.collections()).toContain("d");
});

test("the project's own client and a raw one work on one collection", async () => {
  const { server, one } = await started();
  const client = await connect(server.address);
  const c = await client.openCollection("c");
  await c.add([new Float32Array([0, 1])], { ids: ["theirs"] });
  await one.ok("add", "c", row("mine"));
  expect(await c.ids()).toEqual(["theirs", "mine"]);
  await c.save();
  expect(await idsOnDisk(server.dir)).toEqual(["theirs", "mine"]);
  await client.close();
});

test("saves of many connections at once all hold", async () => {
  const { server } = await started();
  const clients: Raw[] = [];
  for (let i = 0; i < 12; i++) clients.push(await server.open());
  const answers: Answer[][] = await Promise.all(
    clients.map(async (client, i) => {
      for (let n = 0; n < 10; n++) client.send(ask("add", "c", row(`${i}-${n}`)), ask("save", "c"));
      return client.many(20);
    }),
  );
  expect(answers.flat().every(({ ok }) => ok)).toBe(true);
  expect(await idsOnDisk(server.dir)).toHaveLength(120);
}, 120_000);

test("two directories served by one process stay apart", async () => {
  const [a, b] = [scratchDir(), scratchDir()];
  await using one = await TestServer.start({ dir: a });
  await using two = await TestServer.start({ dir: b });
  await (await one.open()).ok("create_collection", "c", { dim: 2 });
  expect((await (await two.open()).ask("open_collection", "c")).error).toMatch(/^ValueError/);
});
