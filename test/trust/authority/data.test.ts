/** The data folder of an organisation's authority: who has it, what is refused, backup and restore. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { withLedger } from "../../../src/cli/authority/data.ts";
import { OSError, PermissionError, TimeoutError, ValueError } from "../../../src/errors.ts";
import { authorityFiles } from "../../../src/paths.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { holdData, makeDataFolder, openData } from "../../../src/trust/authority/organisation/data.ts";
import { openOrganisation } from "../../../src/trust/authority/server/records.ts";
import { svc } from "../../cli/support.ts";
import { failure, newHome } from "../account/helpers.ts";

const NOW = 1_800_000_000_000;

/** A data folder with a ledger in it. */
function newData(): string {
  const data = join(newHome(), "data");
  makeDataFolder(data);
  new Ledger(authorityFiles(data).ledger, data, 5000, true).close();
  return data;
}

describe("a data folder", () => {
  test("is private, and made only by who serves it", async () => {
    const home = newHome();
    const data = join(home, "organisation");
    const missing = await failure(() => openData(data, home), ValueError);
    expect(missing.message).toBe(
      "there is no authority in 'organisation' in SVC_HOME: name its folder with --data, or start one with 'svc authority serve'",
    );
    expect(readdirSync(home)).toEqual([]);
    makeDataFolder(data);
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(await failure(() => openData(data, home))).toBeInstanceOf(ValueError);
    expect(readdirSync(data)).toEqual([]);
  });

  test("that others can write in is refused", async () => {
    const data = newData();
    chmodSync(data, 0o777);
    const error = await failure(() => openData(data), PermissionError);
    expect(error.message).toBe(`others can write to the data folder: run chmod go-w '${data}'`);
    expect(await failure(() => makeDataFolder(join(data, "below")))).toBeInstanceOf(PermissionError);
    chmodSync(data, 0o700);
    chmodSync(authorityFiles(data).ledger, 0o644);
    expect((await failure(() => openData(data))).message).toEndWith(`chmod 600 '${data}/ledger.sqlite'`);
  });

  test("whose ledger has a second name is refused, served and by commands: its lock would keep no one off that one", async () => {
    for (const link of [linkSync, symlinkSync]) {
      const data = newData();
      const second = join(newHome(), "second");
      makeDataFolder(second);
      link(authorityFiles(data).ledger, authorityFiles(second).ledger);
      const before = readFileSync(authorityFiles(data).ledger);
      expect((await failure(() => openData(second))).message).toStartWith("'ledger.sqlite' is a link to a file");
      const serving = failure(() => openOrganisation(second, newHome(), { now: NOW }));
      expect((await serving).message).toStartWith("'ledger.sqlite' is a link to a file");
      expect(readFileSync(authorityFiles(data).ledger)).toEqual(before);
    }
  });

  test("whose approval code is empty or short is not served: everyone could approve logins", async () => {
    const data = newData();
    const path = authorityFiles(data).approvalCode;
    for (const [text, what] of [
      ["", "is empty"],
      [" \n", "is empty"],
      ["1234\n", "has 4 characters, at least 16 are needed"],
    ]) {
      writeFileSync(path, text!, { mode: 0o600 });
      const records = await openOrganisation(data, newHome(), { now: NOW });
      const error = await failure(() => records.approvalCode()).finally(() => records.close());
      expect(error).toBeInstanceOf(PermissionError);
      expect(error.message).toBe(`the file approval_code ${what}: remove it, and the next start makes another code`);
    }
    chmodSync(path, 0o644);
    const shared = await openOrganisation(data, newHome(), { now: NOW });
    const said = await failure(() => shared.approvalCode()).finally(() => shared.close());
    expect(said.message).toEndWith(`run chmod 600 '${path}'`);
    rmSync(path);
    const records = await openOrganisation(data, newHome(), { now: NOW });
    const code = await records.approvalCode();
    records.close();
    expect(code).toHaveLength(20);
    expect(readFileSync(path, "utf8")).toBe(`${code}\n`);
  });

  test("with a LICENSE key that others can read is refused, with the remedy; the public half may be read", async () => {
    const data = newData();
    const path = join(data, "license_key.pem");
    writeFileSync(path, "a key\n");
    chmodSync(path, 0o644);
    const error = await failure(() => openOrganisation(data, newHome(), { now: NOW }));
    expect(error.message).toEndWith(`run chmod 600 '${path}'`);
    rmSync(path);
    (await openOrganisation(data, newHome(), { now: NOW })).close();
    chmodSync(join(data, "license_key.pub.pem"), 0o644);
    (await openOrganisation(data, newHome(), { now: NOW })).close();
  });

  test("has one server: a second one learns its id, and takes over once that one is killed", async () => {
    const data = newData();
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "hold-data.ts"), data], {
      stdout: "pipe",
      stderr: "ignore",
    });
    await child.stdout.getReader().read();
    const error = await failure(() => holdData(data)).finally(() => child.kill("SIGKILL"));
    await child.exited;
    expect(error).toBeInstanceOf(OSError);
    expect(error.message).toBe(
      `'${data}' is served by process ${child.pid} already: stop it first, or name another folder with --data`,
    );
    openData(data).close();
    const release = holdData(data);
    expect((await failure(() => holdData(data))).message).toContain(`process ${process.pid} already`);
    release();
    holdData(data)();
  });
});

describe("commits", () => {
  test("are shared, and a change that fails takes no other with it", async () => {
    const ledger = openData(newData());
    const add = (n: number) => ledger.audit.add({ at: NOW + n, event: "license_issued", actor: "ada" });
    const all = Array.from({ length: 200 }, (_, n) =>
      ledger.commit(() => {
        add(n);
        if (n % 10 === 3) ledger.transaction(() => add(-n));
        if (n % 10 === 7) throw new ValueError(`no ${n}`);
        return n;
      }),
    );
    const settled = await Promise.allSettled(all);
    expect(settled.map((one) => (one.status === "fulfilled" ? one.value : one.reason.message))).toEqual(
      Array.from({ length: 200 }, (_, n) => (n % 10 === 7 ? `no ${n}` : n)),
    );
    expect([...ledger.audit.each()]).toHaveLength(200);
    expect(ledger.audit.list({ limit: 1000 }).some((row) => (row.at - NOW) % 10 === 7)).toBe(false);
  });

  test("wait for another process without stopping this one, and end with a sentence", async () => {
    const data = newData();
    const ledger = openData(data, data, 50);
    const waits = () => ledger.codes.db.query<{ timeout: number }, []>("PRAGMA busy_timeout").get()?.timeout;
    using other = new Database(authorityFiles(data).ledger);
    other.run("BEGIN IMMEDIATE");
    let isDone = false;
    const change = ledger.commit(() => ledger.admins.add("eve", "code", NOW)).then(() => (isDone = true));
    for (let turn = 0; turn < 10; turn++) await Bun.sleep(5);
    expect([isDone, waits()]).toEqual([false, 0]);
    other.run("COMMIT");
    await change;
    expect(waits()).toBe(50);
    expect(ledger.admins.find("code")).toBe("eve");
    other.run("BEGIN IMMEDIATE");
    const left = ledger.commit(() => ledger.admins.remove("eve")).catch((error) => error);
    ledger.close();
    expect(await left).toBeInstanceOf(TimeoutError);
    other.run("COMMIT");
    expect(openData(data).admins.find("code")).toBe("eve");
  });

  test("that wait are done when the ledger is closed", async () => {
    const data = newData();
    const ledger = openData(data);
    const all = Array.from({ length: 100 }, (_, n) => ledger.commit(() => ledger.admins.add(`a${n}`, `c${n}`, NOW)));
    ledger.close();
    expect(await Promise.all(all)).not.toContain(false);
    expect(openData(data).admins.list()).toHaveLength(100);
  });
});

describe("a backup", () => {
  test("that is put into an empty folder is served on, whatever was written since", async () => {
    const data = newData();
    const ledger = openData(data);
    const writes = (from: number) => {
      for (let n = from; n < from + 50; n++) ledger.audit.add({ at: n, event: "license_issued", actor: "ada" });
    };
    writes(0);
    const file = join(newHome(), "backup.sqlite");
    openData(data).backup(file);
    writes(50);
    const restored = join(newHome(), "data");
    mkdirSync(restored, { mode: 0o700 });
    copyFileSync(file, authorityFiles(restored).ledger);
    const again = openData(restored);
    expect([...again.audit.each()]).toHaveLength(50);
    again.audit.add({ at: 1, event: "server_started", actor: "ada" });
    again.close();
    expect(readdirSync(restored)).toEqual(["ledger.sqlite"]);
  });

  test("beside the log of an earlier ledger is refused, and not written into", async () => {
    const data = newData();
    const files = authorityFiles(data);
    const before = openData(data);
    const file = join(newHome(), "backup.sqlite");
    before.backup(file);
    before.admins.add("eve", "code", NOW);
    const restored = authorityFiles(join(newHome(), "data"));
    mkdirSync(restored.dir, { mode: 0o700 });
    copyFileSync(file, restored.ledger);
    copyFileSync(`${files.ledger}-wal`, `${restored.ledger}-wal`);
    const error = await failure(() => openData(restored.dir), OSError);
    expect(error.message).toMatch(/there is the ledger.sqlite-wal of another one.*: remove ledger.sqlite-wal and ledg/);
    expect(readFileSync(restored.ledger).equals(readFileSync(file))).toBe(true);
  });

  test("of a damaged ledger is refused, and a command says so in one sentence", async () => {
    const data = newData();
    const { ledger: path } = authorityFiles(data);
    const ledger = openData(data);
    ledger.transaction(() => {
      for (let n = 0; n < 2000; n++) ledger.audit.add({ at: n, event: "license_issued", actor: "ada", device: `${n}` });
    });
    ledger.close();
    const sound = readFileSync(path);
    const folder = newHome();
    const env = { SVC_HOME: newHome() };
    using db = new Database(path, { readonly: true });
    const pages = db
      .query<{ at: number }, []>(
        "SELECT max(pgoffset) AS at FROM dbstat WHERE name IN ('audit', 'audit_device') GROUP BY name ORDER BY name",
      )
      .all();
    const [rows, index] = pages.map(({ at }) => at);
    // A page of rows that is not one; and a text in an index that is not its row's, which a copy would take over.
    const lost = Buffer.from(sound).fill(0x55, rows, rows! + 4096);
    const text = sound.subarray(index, index! + 4096).lastIndexOf("1");
    const wrong = Buffer.from(sound).fill("~", index! + text, index! + text + 1);
    for (const bytes of [lost, wrong]) {
      writeFileSync(path, bytes);
      const damagedLedger = openData(data);
      const error = await failure(() => damagedLedger.backup(join(folder, "backup")));
      damagedLedger.close();
      expect(error).toBeInstanceOf(OSError);
      expect(error.message).toMatch(
        /^the authority's ledger.sqlite is damaged \(.*\): move it away with its -wal, and/,
      );
    }
    writeFileSync(path, lost);
    const said = await svc(["authority", "backup", "--data", data, join(folder, "backup")], { env });
    expect([said.code, said.stdout, said.stderr.trim().split("\n").length]).toEqual([1, "", 1]);
    expect(said.stderr).toStartWith("svc: the authority's ledger.sqlite is damaged");
    const error = await failure(() => withLedger(data, {}, ({ audit }) => [...audit.each()].length));
    expect(error.message).toStartWith("the authority's ledger.sqlite is damaged (database disk image is malformed)");
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(path, sound.fill(0x55, 0, 4096));
    expect((await failure(() => openData(data))).message).toContain("put the last backup in its place");
  });

  test("is made by the command, which says what is in it, and is in the audit log", async () => {
    const data = newData();
    const file = join(newHome(), "backup.sqlite");
    const { code, stdout } = await svc(["authority", "backup", "--json", "--data", data, file]);
    expect([code, JSON.parse(stdout)]).toEqual([0, { file, bytes: statSync(file).size, devices: 0, version: 3 }]);
    expect(openData(data).audit.list({ limit: 9 })).toMatchObject([
      { event: "backup_made", detail: { file: "backup.sqlite", bytes: statSync(file).size } },
    ]);
  });

  test("is not made where there is a file, nor in no folder, and leaves nothing then", async () => {
    const ledger = openData(newData());
    const folder = newHome();
    writeFileSync(join(folder, "there"), "mine");
    expect((await failure(() => ledger.backup(join(folder, "there")))).message).toContain("'there' already");
    expect(await failure(() => ledger.backup(join(folder, "none/there")))).toBeInstanceOf(OSError);
    expect([readdirSync(folder), readFileSync(join(folder, "there"), "utf8")]).toEqual([["there"], "mine"]);
  });
});

test("the log of a ledger is cut after it has grown, and removed at the end", () => {
  const data = newData();
  const log = `${authorityFiles(data).ledger}-wal`;
  const ledger = openData(data);
  const add = (n: number) => ledger.audit.add({ at: n, event: "license_issued", actor: "x".repeat(2000) });
  ledger.transaction(() => {
    for (let n = 0; n < 4000; n++) add(n);
  });
  expect(statSync(log).size).toBeGreaterThan(8e6);
  // The first write after a checkpoint begins the log again.
  for (let n = 0; n < 3; n++) add(n);
  expect(statSync(log).size).toBeLessThanOrEqual(4 * 1024 * 1024);
  ledger.close();
  expect(readdirSync(data)).toEqual(["ledger.sqlite"]);
});
