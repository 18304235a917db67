/** Enrolment keys on the terminal: made, listed and revoked. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { enrollKeyId } from "../../../src/trust/account/enroll-key.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { createEnrollKey } from "../../../src/trust/authority/organisation/enroll-key-actions.ts";
import { FAKE_BUILD, svc, temporaryFolder } from "../support.ts";

const preload = [FAKE_BUILD];
const KEY = /^sve_[0-9a-f]{12}_[\w-]{43}$/;

/** An organisation's data folder with an empty ledger, and the commands about its keys. */
function desk() {
  const folder = temporaryFolder();
  const data = join(folder.path, "data");
  mkdirSync(data, { mode: 0o700 });
  const path = join(data, "ledger.sqlite");
  const ledger = new Ledger(path, folder.path);
  const enroll = (...words: string[]) => svc(["authority", "enroll", ...words, "--data", data], { preload });
  return {
    data,
    ledger,
    enroll,
    [Symbol.dispose]: () => {
      ledger.close();
      folder[Symbol.dispose]();
    },
  };
}

describe("svc authority enroll", () => {
  test("prints a key alone on stdout, once, and lists and revokes it by id", async () => {
    using me = desk();
    const made = await me.enroll("--label", "laptop of Ada", "--tag", "b", "--tag", "a");
    expect(made.code).toBe(0);
    const text = made.stdout.trimEnd();
    expect(text).toMatch(KEY);
    const id = enrollKeyId(text)!;
    expect(made.stderr).toMatch(
      new RegExp(`^key ${id}: for one machine, until \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC\n`),
    );
    expect(made.stderr).not.toContain(text);
    const [key] = me.ledger.enrollKeys.list();
    expect(key).toMatchObject({ id, usesMax: 1, tags: ["b", "a"], label: "laptop of Ada", account: "machines" });
    expect(key!.expiresAt! - key!.createdAt).toBe(7 * 86_400_000);

    const listed = await me.enroll("list");
    expect(listed.stdout.split("\n")[0]).toMatch(/^ID +STATE +USES +EXPIRES +LAST USED +ACCOUNT +TAGS +LABEL$/);
    expect(listed.stdout).toMatch(new RegExp(`${id}  open   0 of 1  .* machines  b a   laptop of Ada\n`));
    expect((await me.enroll("revoke", id)).stdout).toBe(`key ${id} is revoked: it lets no further machine in\n`);
    expect((await me.enroll("revoke", id)).stdout).toBe(`key ${id} was revoked before\n`);
    // By its text too, which is not repeated, mistyped neither.
    expect((await me.enroll("revoke", text)).stdout).toBe(`key ${id} was revoked before\n`);
    const mistyped = await me.enroll("revoke", `${text}x`);
    expect(mistyped.code).toBe(2);
    expect(mistyped.stdout + mistyped.stderr).not.toContain(text.slice(0, 30));
    expect((await me.enroll("list")).stdout).toMatch(new RegExp(`${id}  revoked`));
    const events = me.ledger.audit.list({ limit: 5 }).map(({ event, actor }) => [event, actor.split(" ")[0]]);
    expect(events).toEqual([
      ["enroll_key_revoked", "terminal"],
      ["enroll_key_created", "terminal"],
    ]);
    for (const name of readdirSync(me.data))
      expect(readFileSync(join(me.data, name)).toString("latin1")).not.toContain(text.slice(17));
  });

  test("takes uses, ends and an account, and prints JSON for programs", async () => {
    using me = desk();
    const json = async (...words: string[]) => JSON.parse((await me.enroll(...words, "--json")).stdout);
    const many = await json("--reusable", "--expires", "never", "--account", "farm");
    expect(many).toMatchObject({ uses_max: null, expires_at: null, account: "farm", state: "open", uses: 0 });
    expect(many.key).toMatch(KEY);
    const few = await json("--uses", "40", "--expires", "12h");
    expect(Date.parse(few.expires_at) - Date.parse(few.created_at)).toBe(12 * 3_600_000);
    const { keys } = await json("list");
    expect(keys.map(({ id }: { id: string }) => id).sort()).toEqual([many.id, few.id].sort());
    expect(JSON.stringify(keys)).not.toContain(few.key.slice(17));
    expect(await json("revoke", few.id)).toEqual({ id: few.id, revoked: true });
  });

  test("shows no character of a label that a terminal would obey", async () => {
    using me = desk();
    const wish = { usesMax: 1, expiresAt: null, label: "fine" };
    const { key } = createEnrollKey(me.ledger, wish, { by: "t" }, Date.now());
    // As another program could have written it.
    me.ledger.enrollKeys.db.run("UPDATE enroll_keys SET label = ?, account = ? WHERE id = ?", [
      "a\u001b[2Jb\u202ec\nd",
      "e\tf",
      key.id,
    ]);
    const { stdout } = await me.enroll("list");
    expect(stdout).toContain("a\\x1b[2Jb\\u202ec d");
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be printed
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
  });

  test("refuses what is not a key, no action or no value, before a ledger is made", async () => {
    using folder = temporaryFolder();
    const data = join(folder.path, "none");
    const enroll = (...words: string[]) => svc(["authority", "enroll", ...words, "--data", data], { preload });
    for (const [words, says] of [
      [["--uses", "2", "--reusable"], /--uses and --reusable exclude each other/],
      [["--expires", "7"], /--expires is '7': give minutes, hours, days or weeks, such as 30m, 12h, 7d or 2w/],
      [["--expires", "0d"], /--expires is '0d'/],
      [["--expires", "600w"], /--expires is '600w'/],
      [["remove"], /'remove' is none of list and revoke/],
      [["list", "x"], /unexpected argument 'x'/],
      [["list", "--reusable"], /--reusable is for a new key, not for list/],
      [["revoke"], /which key\? 'svc authority enroll list' shows their ids/],
    ] as const) {
      const { code, stderr, stdout } = await enroll(...words);
      expect([words, code, stdout]).toEqual([words, 2, ""]);
      expect(stderr).toMatch(says);
    }
    const { code, stderr } = await enroll();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/there is no authority in/)]);
    expect(existsSync(data)).toBe(false);
    using me = desk();
    for (const words of [
      ["--uses", "0"],
      ["--uses", "1.5"],
      ["--tag", "a b"],
      ["--label", "a\u001bb"],
      ["revoke", "x"],
    ])
      expect([words, (await me.enroll(...words)).code]).toEqual([words, words[0] === "revoke" ? 1 : 2]);
    expect(me.ledger.enrollKeys.list()).toEqual([]);
  });
});
