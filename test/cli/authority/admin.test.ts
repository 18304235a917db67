/** `svc authority admin`: codes are printed once, names are checked, and an authority is not made by the way. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { authorityFiles, organisationPath } from "../../../src/paths.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { newHome } from "../../trust/account/helpers.ts";
import { svc } from "../support.ts";

/** A home with an organisation's authority, which another process has open as its server would. */
function served() {
  const home = newHome();
  const data = organisationPath(home);
  mkdirSync(data, { mode: 0o700 });
  const ledger = new Ledger(authorityFiles(data).ledger, home);
  const run = (...words: string[]) => svc(["authority", "admin", ...words], { env: { SVC_HOME: home } });
  return { home, data, ledger, run };
}

describe("svc authority admin", () => {
  test("adds with a code that is printed alone and kept nowhere, lists, and removes", async () => {
    const { data, ledger, run } = served();
    const empty = await run("list");
    expect([empty.code, empty.stdout]).toEqual([0, ""]);
    expect(empty.stderr).toContain("there is no administrator yet");
    const added = await run("add", "Ada Lovelace");
    expect(added.code).toBe(0);
    expect(added.stdout).toMatch(/^sva_[\w-]{43}\n$/);
    const code = added.stdout.trim();
    expect(ledger.admins.find(code)).toBe("Ada Lovelace");
    const { code: second } = JSON.parse((await run("add", "bo", "--json", "--data", data)).stdout) as { code: string };
    expect(ledger.admins.find(second)).toBe("bo");
    for (const file of readdirSync(data)) expect(readFileSync(join(data, file)).includes(code)).toBe(false);
    expect((await run("list")).stdout).toMatch(/^\d{4}-\d\d-\d\d {2}Ada Lovelace\n\d{4}-\d\d-\d\d {2}bo\n$/);
    const lines = (await run("list", "--json")).stdout.trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(["Ada Lovelace", "bo"]);
    expect((await run("remove", "bo")).stdout).toBe("removed bo\n");
    expect((await run("remove", "Ada Lovelace")).stderr).toContain("there is no administrator left");
    expect(ledger.admins.find(code)).toBeUndefined();
    // The processes have no USER.
    const actor = `terminal (user ${process.getuid?.()})`;
    const events = ledger.audit.list({ limit: 9 }).map(({ event, actor, detail }) => [event, actor, detail?.name]);
    expect(events).toEqual([
      ["admin_removed", actor, "Ada Lovelace"],
      ["admin_removed", actor, "bo"],
      ["admin_added", actor, "bo"],
      ["admin_added", actor, "Ada Lovelace"],
    ]);
  });

  test("refuses names that are taken, unknown or none, and records nothing", async () => {
    const { ledger, run } = served();
    await run("add", "ada");
    for (const [words, said] of [
      [["add", "ada"], "svc: there is an administrator 'ada'"],
      [["add", "a\u202eb"], "svc: an administrator's name has 1 to 64 characters"],
      [["add", ""], "svc: an administrator's name has 1 to 64 characters"],
      [["remove", "bo"], "svc: there is no administrator 'bo'"],
    ] as const) {
      const { code, stdout, stderr } = await run(...words);
      expect([words[1], code, stdout]).toEqual([words[1], 1, ""]);
      expect(stderr).toStartWith(said);
    }
    expect(ledger.audit.list({ limit: 9 })).toHaveLength(1);
  });

  test("makes no authority where there is none", async () => {
    const home = newHome();
    for (const words of [["add", "ada"], ["list"], ["remove", "ada"]]) {
      const { code, stderr } = await svc(["authority", "admin", ...words], { env: { SVC_HOME: home } });
      expect(code).toBe(1);
      expect(stderr).toStartWith("svc: there is no authority");
    }
    expect(existsSync(organisationPath(home))).toBe(false);
  });
});
