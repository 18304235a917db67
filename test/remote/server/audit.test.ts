/** The audit log of writes. */
import { expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditLog } from "../../../src/remote/people/audit-log.ts";
import { scratchDir } from "../../fixture.ts";
import { Site, tool, toolOk } from "./people.ts";
import { type Answer, large } from "./raw.ts";

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
    expect(() => log.requireWritable()).toThrow(/cannot write its audit log .*nothing was changed/);
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
    /^OSError: the server cannot write its audit log .* refuses changes until it can; nothing was changed$/,
  );
  expect((await tool(root, "add", { collection: "x", texts: ["y"] })).error).toMatch(
    /^OSError: the server cannot write/,
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
