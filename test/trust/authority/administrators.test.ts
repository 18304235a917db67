/** Who is an administrator: by code, with wrong codes limited and right ones never. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KeyError, ValueError } from "../../../src/errors.ts";
import { addAdministrator, administratorOf, removeAdministrator } from "../../../src/trust/authority/administrators.ts";
import { Guesses } from "../../../src/trust/authority/guesses.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { failure, newHome } from "../account/helpers.ts";

const NOW = 1_800_000_000_000;

function authority(home = newHome()) {
  return { ledger: new Ledger(join(home, "ledger.sqlite"), home), guesses: new Guesses(), now: () => NOW, home };
}

describe("an administrator", () => {
  test("has a code of 256 bits, which the ledger does not keep, and is found by it", () => {
    const one = authority();
    const code = addAdministrator(one.ledger, "ada", "root", NOW);
    expect(code).toMatch(/^sva_[\w-]{43}$/);
    expect(addAdministrator(one.ledger, "bo", "root", NOW)).not.toBe(code);
    expect(administratorOf(one, code, "192.0.2.1")).toBe("ada");
    one.ledger.close();
    for (const file of ["ledger.sqlite"]) expect(readFileSync(join(one.home, file)).includes(code)).toBe(false);
  });

  test("is one no more once removed, and the same name later has another code", () => {
    const one = authority();
    const first = addAdministrator(one.ledger, "ada", "root", NOW);
    removeAdministrator(one.ledger, "ada", "bo", NOW + 1);
    expect(administratorOf(one, first, undefined)).toBeUndefined();
    const second = addAdministrator(one.ledger, "ada", "root", NOW + 2);
    expect(administratorOf(one, first, undefined)).toBeUndefined();
    expect(administratorOf(one, second, undefined)).toBe("ada");
    const events = one.ledger.audit.list({ limit: 9 }).map(({ event, actor, detail }) => [event, actor, detail?.name]);
    expect(events).toEqual([
      ["admin_added", "root", "ada"],
      ["admin_removed", "bo", "ada"],
      ["admin_added", "root", "ada"],
    ]);
    expect(JSON.stringify(one.ledger.audit.list({ limit: 9 }))).not.toMatch(/sva_/);
  });

  test("of a name that is taken, unknown, or none is refused, and nothing is recorded", async () => {
    const one = authority();
    addAdministrator(one.ledger, "ada", "root", NOW);
    expect(await failure(() => addAdministrator(one.ledger, "ada", "root", NOW))).toBeInstanceOf(ValueError);
    expect(await failure(() => removeAdministrator(one.ledger, "bo", "root", NOW))).toBeInstanceOf(KeyError);
    const bad = ["", " ", " ada", "ada ", "a\nb", "a\u202eb", "a\u200bb", "\ud800", "a".repeat(65)];
    for (const name of bad) {
      const error = await failure(() => addAdministrator(one.ledger, name, "root", NOW));
      expect([name, error.constructor]).toEqual([name, ValueError]);
    }
    for (const name of ["a", "ada lovelace", "عائشة", "李", "a".repeat(64)])
      addAdministrator(one.ledger, name, "root", NOW);
    expect(one.ledger.audit.list({ limit: 99 })).toHaveLength(6);
  });
});

test("wrong codes of one address are answered 'wait' after twenty; the right one, and other addresses, never", () => {
  const one = authority();
  const code = addAdministrator(one.ledger, "ada", "root", NOW);
  const wrong = ["", "x", "sva_", code.slice(0, -1), `${code}A`, code.toUpperCase(), `sva_${"A".repeat(43)}`];
  for (let n = 0; n < 20; n++) expect(administratorOf(one, wrong[n % wrong.length]!, "192.0.2.1")).toBeUndefined();
  for (let n = 0; n < 1000; n++) {
    expect(administratorOf(one, wrong[n % wrong.length]!, "192.0.2.1")).toEqual({ waitMs: 600_000 });
    expect(administratorOf(one, code, "192.0.2.1")).toBe("ada");
  }
  expect(administratorOf(one, "x", "192.0.2.2")).toBeUndefined();
});
