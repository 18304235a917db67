/** 200 devices of one address that enrol at once: all get in, once. How long it takes is for `npm run bench -- authority`. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { deviceFlow, enroll, FleetDevice } from "../trust/authority/fleet.ts";
import { rowsOf, wrongIn } from "../trust/authority/whole-ledger.ts";
import { Organisation } from "./organisation.ts";

const DEVICES = 200;

test.each([
  [
    "by one key for so many",
    async (org: Organisation) => {
      const key = await org.enrollKey("--uses", String(DEVICES));
      return async (device: FleetDevice) => (await enroll(org, key, device)).status;
    },
  ],
  [
    "by the device flow, each approved on the page",
    async (org: Organisation) => {
      const person = { account: "a person", approvalCode: org.approvalCode };
      return (device: FleetDevice) => deviceFlow(org, device, person).then(() => 200);
    },
  ],
])("%s", async (_, prepare) => {
  await using org = await Organisation.found();
  const enter = await prepare(org);
  const fleet = await Promise.all(Array.from({ length: DEVICES }, () => FleetDevice.make()));
  const outcomes = await Promise.all(fleet.map((device) => enter(device).catch(String)));
  expect([...new Set(outcomes)]).toEqual([200]);
  expect(await org.end()).toBe(0);
  const ledger = join(org.data, "ledger.sqlite");
  expect(wrongIn(ledger)).toEqual([]);
  expect(rowsOf(ledger, "devices")).toBe(DEVICES);
  expect(rowsOf(ledger, "licenses")).toBe(DEVICES);
});
