/**
 * An authority that is killed while devices enrol, all of them at once, and one whose disk is full: an enrolment that was
 * answered lasts, none is there by half, and a backup made meanwhile is a whole ledger. Three kills; KILLS=all makes twenty.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { enroll, FleetDevice, license } from "../trust/authority/fleet.ts";
import { rowsOf, wrongIn } from "../trust/authority/whole-ledger.ts";
import { emptyHome, svc } from "./home.ts";
import { Organisation } from "./organisation.ts";

const ROUNDS = process.env.KILLS === "all" ? 20 : 3;
const DEVICES = process.env.KILLS === "all" ? 200 : 60;

const ledgerOf = (org: Organisation) => join(org.data, "ledger.sqlite");

/** What became of a device that enrolled while its authority ended. */
interface Fate {
  device: FleetDevice;
  key: string;
  /** The status, or undefined where no answer came. */
  status: number | undefined;
  apiKey: string | undefined;
}

async function tryToEnroll(org: Organisation, device: FleetDevice, key: string): Promise<Fate> {
  try {
    const { status, body } = await enroll(org, key, device);
    return { device, key, status, apiKey: body.api_key };
  } catch {
    return { device, key, status: undefined, apiKey: undefined };
  }
}

test(`killed ${ROUNDS} times while ${DEVICES} devices enrol, it goes on with every device that it had let in`, async () => {
  await using org = await Organisation.found();
  const reusable = await org.enrollKey("--reusable");
  const enrolled: Fate[] = [];
  const counts: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const fleet = await Promise.all(Array.from({ length: DEVICES }, () => FleetDevice.make()));
    // A tenth of them have a key of their own, for one use.
    const own = await Promise.all(fleet.slice(0, Math.min(3, DEVICES / 10)).map(() => org.enrollKey()));
    const all = fleet.map((device, n) => tryToEnroll(org, device, own[n] ?? reusable));
    // Between the first answer and the last one.
    let answered = 0;
    const some = Math.floor(((round + 0.5) / ROUNDS) * DEVICES);
    const reached = new Promise<void>((resolve) => {
      for (const one of all) void one.then(() => ++answered >= some && resolve());
    });
    const backup = join(org.env.HOME!, `backup-${round}.sqlite`);
    const copying = round % 3 === 0 ? org.run(["backup", backup]) : undefined;
    await reached;
    await org.end("SIGKILL");
    const fates = await Promise.all(all);
    enrolled.push(...fates.filter(({ status }) => status === 200));
    counts.push(`${fates.filter(({ status }) => status === 200).length}/${DEVICES}`);
    expect(fates.filter(({ status }) => status !== undefined && status !== 200)).toEqual([]);
    expect(wrongIn(ledgerOf(org))).toEqual([]);
    const devices = rowsOf(ledgerOf(org), "devices");
    expect(devices).toBeGreaterThanOrEqual(enrolled.length);

    // A backup that ended with success is whole, and a server starts from it.
    if (copying && (await copying).code === 0) await restored(backup);
    await org.serve();
    // A device without an answer asks again, with the same key: no device gets in twice, and no use is lost.
    const unanswered = fates.filter(({ status }) => status === undefined);
    const again = await Promise.all(unanswered.map(({ device, key }) => tryToEnroll(org, device, key)));
    for (const fate of again) expect([200, 403]).toContain(fate.status!);
    enrolled.push(...again.filter(({ status }) => status === 200));
  }
  for (const { device, apiKey } of enrolled.slice(-50)) {
    const answers = await license(org, apiKey!, device);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  }
  if (process.env.KILLS === "all") console.log(`answered before the kill: ${counts.join(" ")}`);
}, 600_000);

async function restored(backup: string): Promise<void> {
  expect(wrongIn(backup)).toEqual([]);
  const data = `${backup}-restored`;
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, "ledger.sqlite"), await Bun.file(backup).bytes(), { mode: 0o600 });
  await using other = await Organisation.found({ data });
  const key = await other.enrollKey();
  const { status } = await enroll(other, key, await FleetDevice.make());
  expect(status).toBe(200);
}

/** A file system of its own, where mounting is allowed. */
const mount = process.platform === "linux" ? Bun.which("mount") : null;
const disk = join(emptyHome().HOME!, "disk");
mkdirSync(disk);
const tmpfs = ["-t", "tmpfs", "-o", "size=2m,mode=0700", "none", disk];
const umount = () => Bun.spawnSync(["umount", "--lazy", disk]).success;
const canMount = mount !== null && Bun.spawnSync([mount, ...tmpfs]).success && umount();

describe.skipIf(!canMount)("on a full disk (needs the right to mount)", () => {
  test("devices are refused for now, no enrolment is there by half, and with room again all go on", async () => {
    expect(Bun.spawnSync([mount!, ...tmpfs]).success).toBe(true);
    try {
      const data = join(disk, "data");
      await using org = await Organisation.found({ data, port: freePort() });
      const key = await org.enrollKey("--reusable");
      const home = emptyHome();
      const words = [...org.loginWords(home), "--enroll-key", "-"];
      expect(await svc(home, words, `${key}\n`)).toMatchObject({ code: 0 });
      const before = await FleetDevice.make();
      const { api_key: apiKey } = (await enroll(org, key, before)).body;

      Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "rest")}`, "bs=4096"], { stderr: "ignore" });
      const fates: Fate[] = [];
      for (let n = 0; n < 40; n++) fates.push(await tryToEnroll(org, await FleetDevice.make(), key));
      const refused = fates.filter(({ status }) => status !== 200);
      expect(refused.length).toBeGreaterThan(0);
      expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
      expect((await fetch(`${org.url}/healthz`)).status).toBe(503);
      // Who is in works on.
      expect(await svc(home, ["mem", "add", "notes", "the authority's disk is full"])).toMatchObject({ code: 0 });
      const other = emptyHome();
      const login = await svc(other, [...org.loginWords(other), "--enroll-key", "-"], `${key}\n`);
      expect(login).toMatchObject({ code: 1, out: "" });
      expect(login.err).toMatch(/^svc: .*try again/m);

      rmSync(join(disk, "rest"));
      for (const { device } of refused.slice(0, 5)) {
        expect(await tryToEnroll(org, device, key)).toMatchObject({ status: 200 });
      }
      expect((await license(org, apiKey, before)).map(({ status }) => status)).toEqual([200, 200]);
      expect(await svc(other, [...org.loginWords(other), "--enroll-key", "-"], `${key}\n`)).toMatchObject({ code: 0 });
      expect(await org.end()).toBe(0);
      expect(wrongIn(ledgerOf(org))).toEqual([]);
    } finally {
      umount();
    }
  });
});
