/** What administrators do with devices: the change and its row in the audit log, or neither. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { ValueError } from "../../../src/errors.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import {
  allowDevice,
  findDevice,
  renameDevice,
  revokeDevice,
} from "../../../src/trust/authority/organisation/device-actions.ts";
import { failure, newHome } from "../account/helpers.ts";

const NOW = 1_800_000_000_000;
const [ONE, TWO] = ["1".repeat(32), "2".repeat(32)];
const EVE = { by: "eve", address: "192.0.2.7" };

function ledgerWithDevices(): Ledger {
  const home = newHome();
  const ledger = new Ledger(join(home, "ledger.sqlite"), home);
  for (const deviceId of [ONE, TWO]) {
    const record = { deviceId, thumbprint: `ed25519:${deviceId}`, publicKey: "p", platform: "linux-x86_64" };
    ledger.devices.register({ ...record, hostHash: "h", account: "ada", name: "ci" }, NOW);
  }
  return ledger;
}
const rows = (ledger: Ledger) => [...ledger.audit.each()].map(({ id: _, ...row }) => row);

test("a rename, a revocation and its end are recorded with who did it, and only where something changed", () => {
  const ledger = ledgerWithDevices();
  expect(renameDevice(ledger, ONE, " Bo's laptop ", EVE, NOW + 1)).toBe(true);
  expect(renameDevice(ledger, ONE, "Bo's laptop", EVE, NOW + 2)).toBe(false);
  expect(revokeDevice(ledger, ONE, { by: "terminal (root)" }, NOW + 3)).toBe(true);
  expect(revokeDevice(ledger, ONE, EVE, NOW + 4)).toBe(false);
  expect(ledger.devices.get(ONE)).toMatchObject({
    name: "Bo's laptop",
    revokedAt: NOW + 3,
    revokedBy: "terminal (root)",
  });
  expect(allowDevice(ledger, ONE, EVE, NOW + 5)).toBe(true);
  expect(allowDevice(ledger, ONE, EVE, NOW + 6)).toBe(false);
  expect(ledger.devices.get(ONE)).toMatchObject({ revokedAt: null, revokedBy: null });
  const eve = { actor: "eve", address: "192.0.2.7", device: ONE };
  expect(rows(ledger)).toEqual([
    { at: NOW + 1, event: "device_renamed", ...eve, detail: { from: "ci", to: "Bo's laptop" } },
    { at: NOW + 3, event: "device_revoked", actor: "terminal (root)", device: ONE },
    { at: NOW + 5, event: "device_allowed", ...eve },
  ]);
});

test.each([
  ["", "is empty: give it 1 to 64 characters"],
  [" \t\n ", "is empty: give it 1 to 64 characters"],
  ["x".repeat(65), "has more than 64 characters"],
  ["a\nb", "holds a control or format character"],
  ["\x1b[2J", "holds a control or format character"],
  ["a\x00b", "holds a control or format character"],
  ["cod\u202egnp.exe", "holds a control or format character"],
  ["a\u200bb", "holds a control or format character"],
  ["a\u2028b", "holds a control or format character"],
  ["a\ud800", "holds a control or format character"],
])("the name %j is a ValueError that says why, and nothing is changed", async (name, why) => {
  const ledger = ledgerWithDevices();
  const error = await failure(() => renameDevice(ledger, ONE, name, EVE, NOW), ValueError);
  expect(error.message).toStartWith("device name '");
  expect(error.message).toEndWith(why);
  expect(ledger.devices.get(ONE)?.name).toBe("ci");
  expect(rows(ledger)).toEqual([]);
});

test("64 characters of any script are a name, however many units they have", () => {
  const ledger = ledgerWithDevices();
  const name = "\u{1f4bb}".repeat(64);
  renameDevice(ledger, ONE, name, EVE, NOW);
  expect(ledger.devices.get(ONE)?.name).toBe(name);
});

test("a device that is not there is a ValueError, of every action", async () => {
  const ledger = ledgerWithDevices();
  const none = "f".repeat(32);
  for (const action of [
    () => renameDevice(ledger, none, "x", EVE, NOW),
    () => revokeDevice(ledger, none, EVE, NOW),
    () => allowDevice(ledger, none, EVE, NOW),
  ])
    expect((await failure(action)).message).toBe(`there is no device '${none}'`);
  expect(rows(ledger)).toEqual([]);
});

test("a change whose row cannot be written does not happen", async () => {
  const ledger = ledgerWithDevices();
  ledger.audit.add = () => {
    throw new Error("disk I/O error");
  };
  await failure(() => revokeDevice(ledger, ONE, EVE, NOW));
  await failure(() => renameDevice(ledger, ONE, "x", EVE, NOW));
  expect(ledger.devices.get(ONE)).toMatchObject({ name: "ci", revokedAt: null });
});

test("a device is found by its id, or by a name that only one has", async () => {
  const ledger = ledgerWithDevices();
  expect(findDevice(ledger, TWO).deviceId).toBe(TWO);
  expect((await failure(() => findDevice(ledger, "ci"))).message).toBe(
    `2 devices are called 'ci': name one by its id (${TWO}, ${ONE})`,
  );
  renameDevice(ledger, ONE, "Ci-2", EVE, NOW);
  expect(findDevice(ledger, "ci").deviceId).toBe(TWO);
  expect(findDevice(ledger, "Ci-2").deviceId).toBe(ONE);
  for (const name of ["", "c", "CI", "1111"])
    expect((await failure(() => findDevice(ledger, name))).message).toContain(`there is no device '${name}'`);
});
