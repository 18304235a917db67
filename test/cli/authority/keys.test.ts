/** `svc authority keys`: the LICENSE keys of an organisation, and the next one. */
import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifySuccessors } from "../../../src/trust/account/license/license-chain.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { ensureLedgerKey, ledgerKeys } from "../../../src/trust/authority/organisation/key-ring.ts";
import { testKey } from "../../keys.ts";
import { LICENSE_KEY_PEM, LICENSE_PUBLIC_PEM, newHome } from "../../trust/account/helpers.ts";
import { idOf } from "../../trust/account/statements.ts";
import { FAKE_BUILD, svc } from "../support.ts";

const NOW = Date.parse("2026-11-22T14:30:00Z");
const FIRST = `SHA256:${idOf(testKey("license"))}`;
let data: string;
let ledger: Ledger;

beforeEach(async () => {
  data = join(newHome(), "data");
  mkdirSync(data, { mode: 0o700 });
  ledger = new Ledger(join(data, "ledger.sqlite"), data);
});

const first = () =>
  ensureLedgerKey(ledger, data, { given: { pem: LICENSE_KEY_PEM, name: "k" }, actor: "root", now: NOW });
const run = (...words: string[]) => svc(["authority", "keys", ...words, "--data", data], { preload: [FAKE_BUILD] });

test("the keys are listed, the latest first, and rolled over", async () => {
  await first();
  const keys = ledgerKeys(ledger.licenseKeys);
  expect(await run()).toEqual({ code: 0, stdout: `${FIRST}  2026-11-22T14:30:00.000Z  signs licences\n`, stderr: "" });
  const rolled = await run("roll-over");
  const next = `SHA256:${keys.current().kid}`;
  expect(next).not.toBe(FIRST);
  expect(rolled).toEqual({
    code: 0,
    stdout: `${next} signs licences from now on\n`,
    stderr: `machines that trust ${FIRST} take it up by themselves; make a new backup\n`,
  });
  const json = JSON.parse((await run("roll-over", "--json")).stdout);
  const last = keys.current();
  expect(json).toEqual({
    fingerprint: `SHA256:${last.kid}`,
    created_at: expect.stringMatching(/^20\d\d-.*Z$/),
    signs: true,
    public_key: last.publicKeyPem,
    previous: next,
  });
  const listed = JSON.parse((await run("list", "--json")).stdout);
  expect(listed.keys.map((key: { fingerprint: string; signs: boolean }) => [key.fingerprint, key.signs])).toEqual([
    [`SHA256:${last.kid}`, true],
    [next, false],
    [FIRST, false],
  ]);
  expect((await run("list")).stdout.trim().split("\n")).toHaveLength(3);
  // What a machine that was pinned to the first one follows.
  expect((await verifySuccessors(LICENSE_PUBLIC_PEM, keys.statements())).at(-1)).toBe(last.publicKeyPem);
  expect(readFileSync(join(data, "license_key.pub.pem"), "utf8")).toBe(last.publicKeyPem);
  const [row] = ledger.audit.list({ limit: 1 });
  expect(row).toMatchObject({ event: "license_key_added", actor: expect.stringMatching(/^terminal \(.+\)$/) });
  expect(JSON.stringify([listed, row])).not.toContain("PRIVATE");
});

test("without a key, without an authority, and with another word nothing is made", async () => {
  expect(await run()).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("no key yet") });
  expect(await run("roll-over")).toMatchObject({ code: 1, stderr: expect.stringContaining("has no LICENSE key") });
  expect(await run("rollover")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("'rollover' is neither list nor roll-over"),
  });
  expect(ledger.licenseKeys.list()).toEqual([]);
  const nowhere = await svc(["authority", "keys", "--data", join(data, "none")], { preload: [FAKE_BUILD] });
  expect(nowhere).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^svc: there is no authority in /),
  });
});
