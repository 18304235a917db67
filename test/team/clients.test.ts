/**
 * Six homes and MCP clients of two makers over TLS: they write and search one memory while the server is restarted,
 * stopped and started, a token is revoked and the server's disk is full.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { servers } from "../e2e/served.ts";
import { clients } from "../mcp/clients/installed.ts";
import { until } from "../remote/server/raw.ts";
import { SmallDisk } from "../small-disk.ts";
import { type Maker, MCPORTER, PLAIN, SDK_1, SDK_2 } from "./makers.ts";
import { joined, Office } from "./office.ts";
import { Worker } from "./worker.ts";

const start = servers();
const disk = new SmallDisk("12m");
/** `npm run test:clients` says so. */
const isOfClients = process.env.SVC_TEST_CLIENTS === "1";
const NEEDS = "(needs the clients, which npm run test:clients installs)";

/** Names in the order in which they are invited, with what their tokens may do. */
const PEOPLE: [name: string, ...flags: string[]][] = [
  ["ada"],
  ["ben"],
  ["cleo", "--collections", "team"],
  ["dan", "--read-only"],
  ["eve"],
];
const FULL = /^OSError: on the server: .*: free some space and try again/;
const AWAY = /^OSError: .*(cannot connect to|closed the connection|was lost|is not known)/;
/** A model waits two seconds for a connection. A new process of a server on a busy machine may need longer. */
const LATE = /^TimeoutError: (no connection to .* within|.* did not answer 'auth' in time)/;
const REVOKED = /^PermissionError: .*(did not accept the token|was revoked)/;

async function scenario(makers: [Maker, Maker]): Promise<void> {
  const office = await Office.open(start, disk.isPossible ? disk.path : undefined);
  const invitations = await Promise.all(PEOPLE.map(([name, ...flags]) => office.invitation(name, ...flags)));
  await office.start();
  const entries = await Promise.all(invitations.map(joined));
  const workers = await Promise.all(PEOPLE.map(([name], at) => Worker.open(name, makers[at % 2]!, entries[at]!)));
  const [ada, ben, cleo, dan, eve] = workers as [Worker, Worker, Worker, Worker, Worker];
  const writers = [ada, ben, cleo];
  const begin = (phase: string) => {
    for (const worker of workers) worker.phase = phase;
  };
  const each = (of: Worker[], what: string, count: (worker: Worker) => number, more = 2) => {
    const before = of.map(count);
    const work = Promise.all(workers.map(({ ended }) => ended));
    return Promise.race([
      until(what, () => of.every((worker, at) => count(worker) >= before[at]! + more), 60_000),
      work.then(() => Promise.reject(new Error(`the work ended before ${what}`))),
    ]);
  };
  const stored = (worker: Worker) => worker.stored.length;
  const searched = (worker: Worker) => worker.searches;

  await ada.first();
  for (const worker of workers) worker.begin();
  await each([...writers, eve], "rows of all who may write", stored);
  begin("restarted");
  await office.restart();
  await each([...writers, eve], "rows after the restart", stored);
  await each([dan], "searches of dan", searched);

  begin("away");
  expect(await office.stop()).toBe(0);
  await each(workers, "failures while no server runs", ({ failures }) => failures.length, 1);
  await office.start();
  await each(workers, "searches after the start", searched);
  await each([...writers, eve], "rows after the start", stored);

  begin("revoked");
  await office.run("serve", "token", "revoke", "eve");
  const isOut = ({ failures }: Worker) => failures.filter(({ text }) => REVOKED.test(text)).length;
  await each([eve], "the end of eve's token", isOut);
  await each(writers, "rows beside it", stored);
  if (disk.isPossible) {
    begin("full");
    const free = disk.fill();
    const refused = ({ failures }: Worker) => failures.filter(({ text }) => FULL.test(text)).length;
    await each(writers, "refusals of the full disk", refused);
    await each([...writers, dan], "searches on a full disk", searched);
    free();
    await each(writers, "rows once there is room", stored);
    begin("after");
    await each(writers, "rows at the end", stored);
  }
  for (const worker of workers) await worker.stop();

  const may: Record<string, RegExp[]> = { restarted: [LATE], away: [AWAY, LATE], full: [FULL] };
  const unexpected = ({ failures }: Worker) =>
    failures.filter(({ phases, text }) => !phases.some((phase) => may[phase]?.some((known) => known.test(text))));
  for (const worker of writers) expect([worker.name, unexpected(worker)]).toEqual([worker.name, []]);
  // Who only reads is refused each change and no search.
  expect(dan.stored).toEqual([]);
  const ofDan = unexpected(dan).filter(({ text }) => !text.startsWith("PermissionError: this token may only read"));
  expect(ofDan).toEqual([]);
  const ofEve = unexpected(eve).filter(({ phases }) => !phases.includes("away") && !phases.includes("revoked"));
  expect(ofEve.filter(({ text }) => !REVOKED.test(text))).toEqual([]);

  expect(await office.stop()).toBe(0);
  const saved = await office.saved("team");
  const acknowledged = workers.flatMap((worker) => worker.stored);
  const unknown = new Set(workers.flatMap((worker) => worker.unknown));
  expect(saved.filter((id) => !unknown.has(id)).sort()).toEqual(["first", ...acknowledged].sort());
  // Every write that was acknowledged has its line, by its author.
  const lines = office.audited();
  for (const worker of writers) {
    const own = lines.filter(({ name, failed }) => name === worker.name && !failed).flatMap(({ ids = [] }) => ids);
    expect(own).toEqual(expect.arrayContaining(worker.stored));
  }
  const records = (file: string) => JSON.parse(readFileSync(join(office.memory, file), "utf8")).tokens;
  const tokens: { id: string; name: string }[] = records(".serve-tokens.json");
  expect(tokens.map(({ name }) => name).sort()).toEqual(["ada", "ben", "cleo", "dan"]);
  const usage = records(".serve-usage.json");
  const counted = tokens.map(({ id }) => usage[id]?.rows ?? 0);
  const expected = tokens.map(({ name }) => workers.find((worker) => worker.name === name)!);
  for (const [at, { name, stored: own, unknown: unsure }] of expected.entries()) {
    // The first row, and the collection, which counts as one.
    const extra = name === "ada" ? 2 : 0;
    expect(counted[at]).toBeGreaterThanOrEqual(own.length + extra);
    expect(counted[at]).toBeLessThanOrEqual(own.length + extra + unsure.length);
  }
}

describe("one memory for a team", () => {
  test(`${SDK_1.title} and ${PLAIN.title}`, () => scenario([SDK_1, PLAIN]), 120_000);

  test.skipIf(!clients.isInstalled())(
    `${SDK_1.title} and ${SDK_2.title} ${NEEDS}`,
    () => scenario([SDK_1, SDK_2]),
    120_000,
  );

  // A process for each call, which takes half a minute.
  test.skipIf(!isOfClients)(
    `${SDK_2.title} and ${MCPORTER.title} (run by npm run test:clients)`,
    async () => {
      await scenario([SDK_2, MCPORTER]);
    },
    300_000,
  );
});
