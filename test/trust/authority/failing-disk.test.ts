/** An organisation's authority whose disk is full, or cannot be written: nothing is half-written, and it goes on. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { authorityPaths } from "../../../src/paths.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { createEnrollKey } from "../../../src/trust/authority/organisation/enroll-key-actions.ts";
import { scratchDir } from "../../fixture.ts";
import { authorityIn } from "../account/helpers.ts";
import { Device, outcome, post } from "./device.ts";

const disk = scratchDir();
const mount = (...words: string[]) => Bun.spawnSync(["mount", ...words], { stderr: "ignore" }).success;
const umount = () => Bun.spawnSync(["umount", "--lazy", disk]).success;
/** Mounting needs the right to. */
const canMount = process.platform === "linux" && mount("-t", "tmpfs", "-o", "size=16m", "none", disk) && umount();
let isMounted = false;

beforeAll(() => {
  isMounted = canMount && mount("-t", "tmpfs", "-o", "size=16m", "none", disk);
});
afterAll(() => {
  if (isMounted) umount();
});

/** Takes what room there is, to the last block. */
function fill(path: string): void {
  Bun.spawnSync(["dd", "if=/dev/zero", `of=${path}`, "bs=4096"], { stderr: "ignore" });
}

test.skipIf(!canMount)(
  "an enrolment that cannot be written does not happen, and happens once there is room",
  async () => {
    const home = join(disk, "home");
    mkdirSync(home, { mode: 0o700 });
    const { url, stop } = await authorityIn(home, { organisation: true });
    const ledger = new Ledger(authorityPaths(home).ledger, home);
    const newKey = () => createEnrollKey(ledger, { usesMax: 1, expiresAt: null }, { by: "test" }, Date.now()).text;
    const keys = ledger.transaction(() => Array.from({ length: 300 }, newKey));
    const first = new Device();
    const { api_key: apiKey } = (await (await first.enroll(url, keys.shift()!)).json()) as { api_key: string };

    const isWhole = (devices: number) => {
      const all = ledger.devices.list({ limit: 1000 });
      expect(all).toHaveLength(devices);
      expect(all.every(({ licensedAt }) => licensedAt !== null)).toBe(true);
      expect(ledger.enrollKeys.list().filter(({ uses }) => uses > 0)).toHaveLength(devices);
      expect([...ledger.audit.each()].filter(({ event }) => event === "device_enrolled")).toHaveLength(devices);
    };
    const filler = join(disk, "filler");
    fill(filler);
    // A block more each time: the disk is full at the first statement, then at later ones, and in the end at none.
    let enrolled = 1;
    const refused: [Device, string][] = [];
    for (let round = 0; enrolled < 4; round++) {
      const [device, key] = [new Device(), keys.shift()!];
      const answer = await outcome(device.enroll(url, key));
      if (answer === "200") enrolled++;
      else refused.push([device, key]);
      expect([round, answer]).toEqual([round, answer === "200" ? "200" : "503 temporarily_unavailable"]);
      isWhole(enrolled);
      truncateSync(filler, statSync(filler).size - 4096);
    }
    expect(refused.length).toBeGreaterThan(3);
    fill(join(disk, "filler-2"));
    // Many at once: each is refused, or there is room for it.
    const several = await Promise.all(
      Array.from({ length: 20 }, () => outcome(new Device().enroll(url, keys.shift()!))),
    );
    expect(new Set(several)).toEqual(new Set(["503 temporarily_unavailable"]));
    isWhole(enrolled);
    expect((await fetch(`${url}/healthz`)).status).toBe(503);
    // What only reads goes on: the API key is right, the bundle is what is not there.
    const headers = { authorization: `Bearer ${apiKey}` };
    expect((await fetch(`${url}/runtime/9.9.9/linux-x86_64.bundle`, { headers })).status).toBe(404);
    expect(ledger.devices.get(first.id)?.deviceId).toBe(first.id);

    rmSync(filler);
    for (const [device, key] of refused) expect(await outcome(device.enroll(url, key))).toBe("200");
    enrolled += refused.length;
    isWhole(enrolled);
    // A device that is there already renews through the same path.
    const asked = { device_id: first.id, key_thumbprint: first.thumbprint };
    expect(await outcome(post(`${url}/v1/device/nonce`, apiKey, asked))).toBe("200");
    await stop();
    ledger.close();
    using _ = { [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
    const again = new Ledger(authorityPaths(home).ledger, home);
    expect(again.devices.count().all).toBe(enrolled);
    again.close();
  },
);
