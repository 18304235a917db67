/** What the doctor finds in the database that has a memory's log, and in this machine's copy of it. */
import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkDatabase } from "../../../src/cli/doctor/database.ts";
import type { Finding } from "../../../src/cli/doctor/finding.ts";
import { markCopy } from "../../../src/replication/node/copy.ts";
import { copyDirectory } from "../../../src/replication/node/node.ts";
import { freePort } from "../../free-port.ts";
import { FakePostgres } from "../../replication/fake-postgres.ts";
import type { Row } from "../../replication/protocol.ts";
import { newHome } from "../../trust/account/helpers.ts";
import { svc, temporaryFolder } from "../support.ts";

const MEMORY = crypto.randomUUID();
const NODE = crypto.randomUUID();
const MANIFEST = JSON.stringify({ generation: 7, files: [] });
const SHA256 = new Bun.CryptoHasher("sha256").update(MANIFEST).digest("hex");
/** What a test waits for where a server is silent, in milliseconds. */
const SOON = { connect: 300, statement: 300, lock: 300, idle: 300 };

let fake: FakePostgres;
let home: string;
let env: Record<string, string>;

beforeEach(() => {
  fake = new FakePostgres();
  home = newHome();
  env = { SVC_HOME: home, SVC_ENGINE_URL: fake.url };
});

/** Answers of a server on which nothing is wrong, but for what a test changes. */
function answers(change: Partial<Record<"server" | "heads", Row>> = {}): void {
  const server = { fsync: "on", commit: "on", names: "b", standbys: "1", clock: String(Date.now()), ...change.server };
  const heads = { collection: "notes", generation: "7", sha256: SHA256, ...change.heads };
  fake.fail(/pg_stat_replication/, { rows: [server] }, 9);
  fake.fail(/from svc.svc_memory/, { rows: [{ id: MEMORY }] }, 9);
  fake.fail(/from svc.svc_head/, { rows: [heads] }, 9);
}

/** A copy of the memory, with one collection. */
function copy(manifest = MANIFEST, memory = MEMORY): string {
  const dir = copyDirectory({ address: fake.url, env });
  markCopy(dir, { memory, node: NODE });
  mkdirSync(join(dir, "notes"));
  writeFileSync(join(dir, "notes/collection.json"), manifest);
  return dir;
}

async function look(file?: string): Promise<readonly Finding[]> {
  const { findings } = await checkDatabase({ env, file, deadlines: SOON });
  expect(JSON.stringify(findings)).not.toContain("secret-word");
  return findings;
}

/** The findings of a check; the only one where a test is about one. */
const of = (findings: readonly Finding[], check: string) => findings.filter((one) => one.check === `database.${check}`);
const wrong = (findings: readonly Finding[]) => findings.filter(({ level }) => level !== "ok");

test("a database on which nothing is wrong, and a copy that is up to date", async () => {
  answers();
  copy();
  const findings = await look();
  expect(wrong(findings)).toEqual([]);
  expect(of(findings, "current")).toMatchObject([{ message: "1 collection at the database's generation" }]);
  expect(of(findings, "copy")[0]!.message).toContain(`node ${NODE}`);
  expect(of(findings, "clock")[0]!.message).toContain("does not depend on clocks");
  expect(fake.statements.filter((text) => !/^\s*select/i.test(text))).toEqual([]);
});

describe("the address", () => {
  test("in a file that is missing, empty, open to others or no address", async () => {
    const file = join(home, "engine");
    expect(wrong(await look(file))).toMatchObject([{ message: expect.stringContaining("there is no such file") }]);
    writeFileSync(file, "\n", { mode: 0o600 });
    expect(wrong(await look(file))).toMatchObject([{ message: expect.stringContaining("there is no address") }]);
    chmodSync(file, 0o644);
    expect(wrong(await look(file))).toMatchObject([{ remedy: expect.stringMatching(/^chmod 600 /) }]);
    writeFileSync(file, "mysql://me:secret-word@db/x");
    chmodSync(file, 0o600);
    expect(wrong(await look(file))).toMatchObject([{ check: "database.address", level: "problem" }]);
    expect(fake.accepted).toBe(0);
  });

  test("on the command line is refused", async () => {
    const { code, stderr } = await svc(["doctor", "--engine-file", fake.url], { env: { SVC_HOME: home } });
    expect(code).toBe(2);
    expect(stderr).toContain("mode 0600");
    expect(stderr).not.toContain("secret-word");
  });
});

describe("a host", () => {
  test("that is away, silent or refuses", async () => {
    env.SVC_ENGINE_URL = `postgres://user:secret-word@127.0.0.1:${freePort()}/x`;
    expect(of(await look(), "connection")).toMatchObject([{ level: "problem", remedy: expect.stringMatching(/^see/) }]);
    env.SVC_ENGINE_URL = fake.url;
    fake.refusal = "silence";
    expect(of(await look(), "connection")).toMatchObject([
      { level: "problem", message: expect.stringContaining("no answer within 300 ms") },
    ]);
    fake.refusal = "28P01";
    expect(of(await look(), "connection")).toMatchObject([
      { message: expect.stringContaining("password is wrong"), remedy: "correct them in the address" },
    ]);
  });

  test("that is silent later on", async () => {
    fake.fail(/pg_stat_replication/, { end: "silence", when: "before" });
    const findings = await look();
    expect(of(findings, "failed")).toMatchObject([{ level: "problem" }]);
    expect(of(findings, "copy")).toMatchObject([{ level: "warning" }]);
  });

  test("that is a standby, with and without its primary", async () => {
    fake.isReadOnly = true;
    expect(of(await look(), "connection")).toMatchObject([
      { level: "problem", remedy: expect.stringContaining("promote it") },
    ]);
    const primary = new FakePostgres();
    env.SVC_ENGINE_URL = fake.url.replace("/database", `,127.0.0.1:${primary.port}/database`);
    expect(of(await look(), "connection").map(({ level }) => level)).toEqual(["ok", "ok"]);
    fake.isReadOnly = false;
    expect(of(await look(), "primaries")).toMatchObject([{ level: "warning" }]);
    fake.refusal = "silence";
    expect(of(await look(), "connection").map(({ level }) => level)).toEqual(["warning", "ok"]);
  });

  test("without encryption, or with a certificate that is not checked", async () => {
    const tls = async (host: string, query: string) => {
      env.SVC_ENGINE_URL = `postgres://user:secret-word@${host}:1/x?${query}`;
      return of(await look(), "tls")[0]!.level;
    };
    expect(await tls("127.0.0.1", "")).toBe("ok");
    expect(await tls("db.invalid", "")).toBe("ok");
    expect(await tls("db.invalid", "sslmode=disable")).toBe("warning");
    expect(await tls("127.0.0.1", "sslmode=require")).toBe("warning");
    expect(await tls("127.0.0.1", "sslmode=verify-ca")).toBe("warning");
  });
});

describe("the server", () => {
  test.each([
    [{ fsync: "off" }, "fsync", "warning", "fsync is off"],
    [{ names: "" }, "standby", "warning", "synchronous_standby_names is empty"],
    [{ standbys: "0" }, "standby", "problem", "no standby is connected"],
    [{ commit: "local" }, "standby", "warning", "saves do not wait"],
    [{ clock: String(Date.now() + 3_600_000) }, "clock", "ok", "'yesterday' in a question"],
  ] as const)("with %p", async (server, check, level, message) => {
    answers({ server });
    expect(of(await look(), check)).toMatchObject([{ level, message: expect.stringContaining(message) }]);
  });

  test("with tables that are newer, older, missing or another program's", async () => {
    fake.fail(/max\(version\)/, { rows: [{ version: "99" }] });
    expect(of(await look(), "schema")).toMatchObject([{ level: "problem", remedy: "svc upgrade" }]);
    fake.fail(/max\(version\)/, { state: "42P01" });
    fake.fail(/has_schema_privilege/, { rows: [{ database: "true", tables: "false" }] });
    expect(of(await look(), "schema")).toMatchObject([{ level: "ok" }]);
    fake.fail(/max\(version\)/, { state: "42P01" });
    fake.fail(/has_schema_privilege/, { rows: [{ database: "false", tables: "false" }] });
    expect(of(await look(), "schema")).toMatchObject([{ level: "problem", remedy: expect.stringMatching(/^grant/) }]);
    fake.fail(/max\(version\)/, { state: "42P01" });
    fake.fail(/has_schema_privilege/, { rows: [{ database: "true", tables: "true" }] });
    expect(of(await look(), "schema")).toMatchObject([{ remedy: "use another database for svc" }]);
  });

  test("on which the role lacks rights", async () => {
    fake.fail(/has_table_privilege/, { rows: [{ missing: "DELETE on svc.svc_chunk" }] });
    expect(of(await look(), "rights")).toMatchObject([
      { level: "problem", remedy: "grant it DELETE on svc.svc_chunk" },
    ]);
    fake.fail(/max\(version\)/, { state: "42501" });
    expect(of(await look(), "failed")).toMatchObject([{ remedy: expect.stringMatching(/^the first node also needs/) }]);
  });
});

describe("the copy", () => {
  test("that is behind, ahead, or of a collection that was made again", async () => {
    copy();
    answers({ heads: { generation: "9" } });
    expect(of(await look(), "lag")).toMatchObject([
      { message: expect.stringContaining("2 generations behind (7 of 9)") },
    ]);
    fake = new FakePostgres();
    env.SVC_ENGINE_URL = fake.url;
    answers({ heads: { generation: "3" } });
    const dir = copy();
    expect(of(await look(), "generation")).toMatchObject([
      { level: "problem", remedy: expect.stringMatching(/^rm -r/) },
    ]);
    writeFileSync(join(dir, "notes/collection.json"), MANIFEST.replace("7", "3"));
    expect(of(await look(), "generation")).toMatchObject([{ message: expect.stringContaining("other commits") }]);
  });

  test("with a collection that the database does not have, and without one that it has", async () => {
    copy();
    answers({ heads: { collection: "other" } });
    const findings = await look();
    expect(of(findings, "dropped")).toMatchObject([{ level: "problem" }]);
    expect(of(findings, "lag")).toMatchObject([{ message: expect.stringContaining("'other' is not here yet") }]);
  });

  test("of a collection that was dropped, or is of a log that the database does not know", async () => {
    const [old, other] = [crypto.randomUUID(), crypto.randomUUID()];
    const lookFor = async (code: string, log: string, heads: Row) => {
      fake = new FakePostgres();
      env.SVC_ENGINE_URL = fake.url;
      answers({ heads });
      fake.fail(/svc_dropped/, { rows: [{ log: old }] });
      writeFileSync(join(copy(), "notes/.svc-stored"), JSON.stringify({ log }));
      return of(await look(), code);
    };
    expect(await lookFor("lag", old, { generation: "9" })).toMatchObject([
      { level: "ok", message: expect.stringContaining("dropped and made again") },
    ]);
    expect(await lookFor("dropped", old, { collection: "other" })).toMatchObject([{ level: "ok" }]);
    expect(await lookFor("generation", other, { generation: "9" })).toMatchObject([
      { level: "problem", message: expect.stringContaining("copy the folder elsewhere first") },
    ]);
    expect(await lookFor("dropped", other, { collection: "other" })).toMatchObject([
      { level: "problem", message: expect.stringContaining("no record that it was dropped") },
    ]);
  });

  test("of another memory, of none, or with a damaged mark", async () => {
    answers();
    const dir = copy(MANIFEST, crypto.randomUUID());
    expect(of(await look(), "copy")).toMatchObject([
      { level: "problem", message: expect.stringContaining("another memory") },
    ]);
    writeFileSync(join(dir, ".svc-copy"), "{");
    expect(of(await look(), "copy")).toMatchObject([{ level: "problem", message: expect.stringContaining("damaged") }]);
    using own = temporaryFolder();
    mkdirSync(join(own.path, "notes"));
    writeFileSync(join(own.path, "notes/collection.json"), "{}");
    env.SVC_MEMORY_PATH = own.path;
    expect(of(await look(), "copy")).toMatchObject([{ message: expect.stringContaining("collections of its own") }]);
  });
});
