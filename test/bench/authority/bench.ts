/** Devices of one address that enrol at an organisation's authority all at once, and logins of the executable there. */
import { rmSync } from "node:fs";
import { cpus } from "node:os";
import { emptyHome } from "../../e2e/home.ts";
import { Organisation } from "../../e2e/organisation.ts";
import { type Answered, deviceFlow, enroll, FleetDevice } from "../../trust/authority/fleet.ts";
import { type Line, median, quantile } from "../measure.ts";
import { cpuOf } from "../processes.ts";
import type { AuthorityBenchOptions } from "./options.ts";

const SECONDS_MAX = 2;
const LOGIN_SECONDS_MAX = 0.6;

/** What devices that came at once saw. */
interface Seen {
  /** Milliseconds of every device, from its first request to its last answer. */
  devices: number[];
  /** Of every request. */
  requests: number[];
  errors: string[];
}

/** Runs all parts, each on an authority of its own. */
export async function benchAuthority({ devices, rounds, logins }: AuthorityBenchOptions): Promise<Line[]> {
  const lines = await atOnce("by an enrolment key", devices, rounds, async (org) => {
    const key = await org.enrollKey("--reusable");
    return async (device, take) => take("enroll", await enroll(org, key, device));
  });
  const flow = await atOnce("by the device flow, with a page each", devices, rounds, async (org) => {
    const { approvalCode } = org;
    return (device, take) => deviceFlow(org, device, { account: "a person", approvalCode }, take).then(() => {});
  });
  return [...lines, ...flow, ...(await oneAfterAnother(logins))];
}

type Enrolling = (device: FleetDevice, take: (what: string, answer: Answered) => void) => Promise<void>;

async function atOnce(
  what: string,
  count: number,
  rounds: number,
  prepare: (org: Organisation) => Promise<Enrolling>,
): Promise<Line[]> {
  const org = await Organisation.found();
  try {
    const enrolling = await prepare(org);
    const seen: Seen = { devices: [], requests: [], errors: [] };
    const cpu = cpuOf(org.pid);
    const wall: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const fleet = await Promise.all(Array.from({ length: count }, () => FleetDevice.make()));
      const start = performance.now();
      await Promise.all(fleet.map((device) => one(enrolling, device, seen)));
      wall.push(performance.now() - start);
    }
    for (const error of new Set(seen.errors)) console.error(`  ${error}`);
    const of = `${count} devices at once ${what} (${rounds} rounds, ${cpus().length} cores)`;
    const p99 = quantile(seen.devices, 0.99) / 1000;
    const goal = `under ${SECONDS_MAX} s`;
    return [
      { what: `errors of ${of}`, value: seen.errors.length, unit: "", goal: "none", met: seen.errors.length === 0 },
      { what: `p50 of ${of}`, value: quantile(seen.devices, 0.5) / 1000, unit: "s" },
      { what: `p99 of ${of}`, value: p99, unit: "s", goal, met: p99 < SECONDS_MAX },
      { what: `the slowest of ${of}`, value: Math.max(...seen.devices) / 1000, unit: "s" },
      { what: `p99 of a request of ${of}`, value: quantile(seen.requests, 0.99) / 1000, unit: "s" },
      { what: `the last answer, of ${of}`, value: median(wall) / 1000, unit: "s" },
      { what: `the server's CPU a device, of ${of}`, value: (cpuOf(org.pid) - cpu) / rounds / count, unit: "ms" },
    ];
  } finally {
    await org.end();
    rmSync(org.env.HOME!, { recursive: true });
  }
}

async function one(enrolling: Enrolling, device: FleetDevice, seen: Seen): Promise<void> {
  const start = performance.now();
  try {
    await enrolling(device, (what, answer) => {
      seen.requests.push(answer.ms);
      if (answer.status !== 200) seen.errors.push(`${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
    });
  } catch (error) {
    seen.errors.push(String(error));
  }
  seen.devices.push(performance.now() - start);
}

/** `svc login --enroll-key -` in empty homes, with the install of the runtime and without. */
async function oneAfterAnother(count: number): Promise<Line[]> {
  const org = await Organisation.found();
  try {
    const lines: Line[] = [];
    for (const more of [[], ["--no-install"]]) {
      const [wall, cpu]: [number[], number[]] = [[], []];
      for (let run = 0; run <= count; run++) {
        const key = await org.enrollKey();
        const env = emptyHome();
        const words = [...org.loginWords(env), "--enroll-key", "-", ...more];
        const start = performance.now();
        const child = Bun.spawn([org.exe, ...words], { env, stdin: Buffer.from(`${key}\n`), stderr: "pipe" });
        const code = await child.exited;
        const ms = performance.now() - start;
        if (code !== 0) throw new Error(`a login ended with ${code}: ${await new Response(child.stderr).text()}`);
        rmSync(env.HOME!, { recursive: true });
        if (run === 0) continue; // warms the page cache
        wall.push(ms);
        cpu.push(Number(child.resourceUsage()!.cpuTime.total) / 1000);
      }
      const what = `svc ${["login --enroll-key -", ...more].join(" ")}, median of ${count}`;
      const value = median(wall) / 1000;
      const goal = `under ${LOGIN_SECONDS_MAX} s`;
      lines.push({ what, value, unit: "s", goal, met: value < LOGIN_SECONDS_MAX });
      lines.push({ what: `its CPU time`, value: median(cpu) / 1000, unit: "s" });
    }
    return lines;
  } finally {
    await org.end();
    rmSync(org.env.HOME!, { recursive: true });
  }
}
