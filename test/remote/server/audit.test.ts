/** The audit log of writes. */
import { expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { AuditLog } from "../../../src/remote/tokens/audit-log.ts";
import { scratchDir } from "../../fixture.ts";
import { type Answer, large } from "./raw.ts";
import { Site, tool, toolOk } from "./site.ts";

const linesOf = (path: string): Answer[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

test("each write has a line with who, what, where and how much, without texts and secrets", async () => {
  const path = join(scratchDir(), "audit.jsonl");
  await using site = await Site.start({ auditLog: path });
  const token = await site.token("ada");
  const [ada, root] = [await site.with(token), await site.server.open()];
  await ada.ok("create_collection", "notes", { embedder: "multigram" });
  const ids = Array.from({ length: 25 }, (_, i) => `"${i}"`);
  await ada.ok("add_texts", "notes", {
    texts: ids.map(() => "a secret kettle"),
    ids,
    metadata: ids.map(() => ({ scope: "hidden" })),
  });
  ada.send(large({ op: "upsert_texts", collection: "notes", args: { texts: ["a secret kettle"], ids: ["x"] } }));
  await ada.next();
  await root.ok("delete", "notes", { ids: ["x", "never"] });
  await root.ok("save", "notes");
  await toolOk(ada, "add", { collection: "notes", texts: ["a secret kettle"] });
  await toolOk(ada, "delete", { collection: "notes", ids: ["x"] });
  await toolOk(ada, "build_ivf", { collection: "notes" });
  await root.ok("compact", "notes");
  // Reads and what was refused have none.
  await ada.ok("search_text", "notes", { text: "a secret kettle" });
  await toolOk(ada, "search", { collection: "notes", query: "a secret kettle" });
  expect((await ada.ask("add_texts", "notes", { texts: ["x"], ids: ['"1"'] })).ok).toBe(false);
  expect((await tool(ada, "update", { collection: "notes", texts: ["x"], ids: ["never"] })).ok).toBe(false);
  const text = readFileSync(path, "utf8");
  for (const secret of ["secret", "hidden", token]) expect(text).not.toContain(secret);
  expect(linesOf(path).map(({ time, ...line }) => [typeof time, line])).toEqual(
    [
      { name: "ada", op: "create_collection", collection: "notes" },
      { name: "ada", op: "add_texts", collection: "notes", rows: 25, ids: ids.slice(0, 10) },
      { name: "ada", op: "upsert_texts", collection: "notes", rows: 1, ids: ["x"] },
      { name: null, op: "delete", collection: "notes", rows: 1, ids: ["x", "never"] },
      { name: null, op: "save", collection: "notes" },
      { name: "ada", op: "call_tool", tool: "svc_add", collection: "notes", rows: 1, ids: [expect.any(String)] },
      { name: "ada", op: "call_tool", tool: "svc_delete", collection: "notes", rows: 0, ids: ["x"] },
      { name: "ada", op: "call_tool", tool: "svc_build_ivf", collection: "notes" },
      { name: null, op: "compact", collection: "notes" },
    ].map((line) => ["string", line]),
  );
  expect(lstatSync(path).mode & 0o7777).toBe(0o600);
});

test("a write that fails has a line where part of it may be in effect", async () => {
  const path = join(scratchDir(), "audit.jsonl");
  await using site = await Site.start({ auditLog: path });
  const [ada, bob, root] = [await site.as("ada"), await site.as("bob"), await site.server.open()];
  await root.ok("create_collection", "notes", { dim: 2 });
  await root.ok("save", "notes");
  await bob.ok("add", "notes", { vectors: [[1, 0]], ids: ["a"] });
  const notes = join(site.dir, "notes");
  renameSync(notes, `${notes}-gone`);
  expect((await ada.ask("save", "notes")).error).toMatch(/^OSError/); // and has lost the change
  renameSync(`${notes}-gone`, notes);
  await ada.ok("create_collection", "more", { dim: 2 });
  // This save succeeds, and its error is about the one before.
  await bob.ok("upsert", "notes", { vectors: [[1, 0]], ids: ["b"] });
  expect((await bob.ask("save", "notes")).code).toBe("OSError.changes_lost");
  expect(await (await site.server.open()).ok("ids", "notes")).toContain("b");
  const failed = linesOf(path).filter((line) => line.failed);
  expect(failed.map(({ time: _, ...line }) => line)).toEqual([
    { name: "ada", op: "save", collection: "notes", failed: true },
    { name: "bob", op: "save", collection: "notes", failed: true },
  ]);
});

test("a line of a call that ends after the log was closed is written", () => {
  const path = join(scratchDir(), "audit.jsonl");
  const log = new AuditLog(path);
  log.add("ada", "save", {});
  log.close();
  log.close();
  log.requireWritable();
  expect(log.add("bob", "compact", {})).toBeUndefined();
  expect(linesOf(path).map(({ name }) => name)).toEqual(["ada", "bob"]);
});

test.each([
  ["has room again", true],
  ["still has none", false],
])("half a line is not continued in another file, where the old one %s", async (_, hasRoom) => {
  const dir = scratchDir();
  const [path, pipe] = [join(dir, "audit.jsonl"), join(dir, "pipe")];
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  const log = new AuditLog(path);
  const { O_RDWR, O_NONBLOCK } = constants;
  const fd = openSync(pipe, O_RDWR | O_NONBLOCK);
  // A pipe holds 64 KiB: the line does not fit whole.
  for (let at = 0; at < 60; at += 4) writeSync(fd, Buffer.alloc(4096, 10));
  Object.assign(log, { fd });
  const ids = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(1000));
  expect(log.add("ada", "upsert", { ids })).toContain("EAGAIN");
  const begun: Buffer[] = [];
  const read = () => {
    const bytes = Buffer.alloc(128 * 1024);
    begun.push(bytes.subarray(0, readSync(fd, bytes)));
  };
  const kept = openSync(pipe, O_RDWR | O_NONBLOCK);
  if (hasRoom) read();
  log.reopen();
  expect(log.add("bob", "save", {})).toBeUndefined();
  log.close();
  const names = linesOf(path).map(({ name }) => name);
  expect(names).toEqual(hasRoom ? ["bob"] : ["ada", "bob"]);
  if (hasRoom) {
    const rest = Buffer.alloc(128 * 1024);
    const whole = Buffer.concat([...begun, rest.subarray(0, readSync(kept, rest))]);
    expect(JSON.parse(whole.toString().trim()).ids).toEqual(ids);
  }
  closeSync(kept);
});

test("a log that was moved away is begun again", async () => {
  const path = join(scratchDir(), "audit.jsonl");
  await using site = await Site.start({ auditLog: path });
  const root = await site.server.open();
  await root.ok("create_collection", "a", { dim: 2 });
  renameSync(path, `${path}.1`);
  await root.ok("create_collection", "b", { dim: 2 });
  site.server.server.reload();
  await root.ok("create_collection", "c", { dim: 2 });
  expect(linesOf(`${path}.1`).map(({ collection }) => collection)).toEqual(["a", "b"]);
  expect(linesOf(path).map(({ collection }) => collection)).toEqual(["c"]);
  chmodSync(path, 0o644);
  site.server.server.reload();
  expect(site.server.logged("audit_log").at(-1)?.message).toContain("goes on as it was");
  await root.ok("create_collection", "d", { dim: 2 });
  expect(linesOf(path).map(({ collection }) => collection)).toEqual(["c", "d"]);
});

// A device that has no room is there on Linux only.
test.skipIf(process.platform !== "linux")(
  "while it cannot be written, changes are refused and reads are not",
  async () => {
    const log = new AuditLog(join(scratchDir(), "audit.jsonl"));
    const { fd } = log as unknown as { fd: number };
    const full = Bun.spawnSync(["sh", "-c", "exec 3>/dev/full; echo x >&3"]).exitCode;
    expect(full).not.toBe(0);
    const { openSync, closeSync } = await import("node:fs");
    const device = openSync("/dev/full", "w");
    Object.assign(log, { fd: device });
    expect(log.requireWritable()).toBeUndefined(); // nothing is known yet
    expect(log.add("ada", "save", {})).toContain("ENOSPC");
    expect(() => log.requireWritable()).toThrow(/the audit log cannot be written .*nothing was changed/);
    Object.assign(log, { fd });
    closeSync(device);
    log.requireWritable();
    log.add("bob", "save", {});
    log.close();
  },
);

test("a server whose log fails refuses changes until it can be written", async () => {
  const path = join(scratchDir(), "audit.jsonl");
  await using site = await Site.start({ auditLog: path });
  const root = await site.server.open();
  await root.ok("create_collection", "a", { dim: 2 });
  const { auditLog } = site.server.server as unknown as { auditLog: { fd: number } };
  const { fd } = auditLog;
  auditLog.fd = 1_000_000; // as after an error of the disk: no file
  await root.ok("create_collection", "b", { dim: 2 });
  const refused = await root.ask("create_collection", "c", { dim: 2 });
  expect(refused.error).toMatch(
    /^OSError: on the server: the audit log cannot be written .* changes are refused until it can; nothing was changed$/,
  );
  expect((await tool(root, "add", { collection: "x", texts: ["y"] })).error).toMatch(
    /^OSError: on the server: the audit log cannot/,
  );
  await root.ok("stats", "b");
  expect(site.server.logged("audit_log").length).toBe(1);
  auditLog.fd = fd;
  await root.ok("create_collection", "d", { dim: 2 });
  expect(linesOf(path).map(({ collection }) => collection)).toEqual(["a", "b", "d"]);
});

test("half a line of a crash is ended, and unsuitable files are refused", () => {
  const dir = scratchDir();
  const path = join(dir, "audit.jsonl");
  writeFileSync(path, '{"time":"2026', { mode: 0o600 });
  const log = new AuditLog(path);
  log.add(undefined, "save", { collection: "a" });
  log.close();
  expect(readFileSync(path, "utf8")).toMatch(
    /^\{"time":"2026\n\{"time":"[^"]+","name":null,"op":"save","collection":"a"\}\n$/,
  );
  mkdirSync(join(dir, "folder"));
  symlinkSync(path, join(dir, "link"));
  writeFileSync(join(dir, "open"), "", { mode: 0o644 });
  for (const [name, why] of [
    ["folder", "is a folder"],
    ["link", "is a link"],
    ["open", "chmod 600"],
    ["none/x", "ENOENT"],
  ] as const)
    expect(() => new AuditLog(join(dir, name))).toThrow(why);
});
