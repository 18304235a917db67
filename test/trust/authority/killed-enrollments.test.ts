/** An organisation's authority that is killed in the middle of enrolments: each is whole, or was not. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { authorityPaths } from "../../../src/paths.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { createEnrollKey } from "../../../src/trust/authority/organisation/enroll-key-actions.ts";
import { LICENSE_KEY_PEM, newHome } from "../account/helpers.ts";
import { Device } from "./device.ts";

const DEVICES = 12;
/** Statements of the ledger, eleven for each enrolment: before which of them it is killed. */
const KILLS = process.env.KILLS === "all" ? Array.from({ length: 136 }, (_, n) => n + 1) : [2, 6, 10, 40, 91, 130];

test.each(KILLS)(
  "a server killed at statement %p leaves no key used without a device, and no device without a licence",
  async (kill) => {
    const home = newHome();
    const { dir, licenseKey, ledger: path } = authorityPaths(home);
    mkdirSync(dir, { mode: 0o700 });
    writeFileSync(licenseKey, LICENSE_KEY_PEM, { mode: 0o600 });
    const newKey = (ledger: Ledger) =>
      createEnrollKey(ledger, { usesMax: 1, expiresAt: null }, { by: "test" }, Date.now()).text;
    const prepared = new Ledger(path, home);
    const asked = prepared.transaction(() =>
      Array.from({ length: DEVICES }, () => ({ device: new Device(), key: newKey(prepared) })),
    );
    prepared.close();
    const server = Bun.spawn([process.execPath, join(import.meta.dir, "serve-child.ts"), home], {
      stdout: "pipe",
      stderr: "ignore",
      env: { ...process.env, KILL_AT: String(kill) },
    });
    const answered: string[] = [];
    try {
      const { value } = await server.stdout.getReader().read();
      const url = new TextDecoder().decode(value).trim();
      const enrollments = asked.map(async ({ device, key }) => {
        const response = await device.enroll(url, key);
        if (!("license" in ((await response.json()) as object))) return;
        answered.push(device.id);
        if (answered.length >= kill) server.kill("SIGKILL");
      });
      if (kill === 0) server.kill("SIGKILL");
      await Promise.allSettled(enrollments);
    } finally {
      server.kill("SIGKILL");
      await server.exited;
    }
    const ledger = new Ledger(path, home);
    const devices = ledger.devices.list({ limit: DEVICES });
    const ids = devices.map(({ deviceId }) => deviceId);
    for (const id of answered) expect(ids).toContain(id);
    expect(devices.every(({ licensedAt, enrolledBy }) => licensedAt !== null && enrolledBy !== null)).toBe(true);
    const used = ledger.enrollKeys.list().filter(({ uses }) => uses > 0);
    expect(used.map(({ id }) => id).sort()).toEqual(devices.map(({ enrolledBy }) => enrolledBy!).sort());
    const events = [...ledger.audit.each()].map(({ event }) => event);
    for (const event of ["enroll_key_used", "device_enrolled", "license_issued"])
      expect([event, events.filter((one) => one === event).length]).toEqual([event, devices.length]);
    ledger.close();
  },
);
