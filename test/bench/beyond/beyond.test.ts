import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { loadOf } from "./commits.ts";
import type { Figures, Load } from "./figures.ts";
import { costsOf, type Spent } from "./follow.ts";
import { type Load as Modelled, solve } from "./model.ts";
import { rateOf } from "./move.ts";
import { beyondOptions, PARTS } from "./options.ts";
import { crowdOf, demandsOf, measuredOf, NODES, paperTable, pointOf, ROWS, sizeAt } from "./paper.ts";
import { PUBLISHED } from "./published.ts";
import { simulateOptions } from "./simulate.ts";
import { crowdTable, lines } from "./table.ts";

const load: Load = { writers: 8, saves: 4000, seconds: 4, p50: 5, p99: 9, lost: 0, missing: 0 };
const figures: Figures = {
  commits: { local: load, one: load, eight: load, nodes: load, wire: { ...load, seconds: 5, lost: 1, missing: 2 } },
  standby: { one: load, eight: load },
  found: { p50: 10, p99: 150, count: 300 },
  catchUp: { plain: 1000, compacted: 2001, generations: 1000 },
  move: {
    to: { mb: 400, perSecond: 50, barePerSecond: 100, serverCpu: 2 },
    from: { mb: 400, perSecond: 49, barePerSecond: 100, serverCpu: 2 },
  },
  search: { node: 1, local: 1, ratio: 1.05, rows: 20_000 },
  executable: 126_000_000,
};

test("each goal has a line, and parts that did not run have none", () => {
  const judged = lines(figures).filter(({ met }) => met !== undefined);
  const missed = judged.filter(({ met }) => !met).map(({ what }) => what.replace(/ \(.*/, ""));
  expect(judged.length).toBe(10);
  expect(missed).toEqual([
    "saves of 8 clients of svc serve",
    "saves that lost a race",
    "acknowledged notes that are missing",
    "open and answer after 1000 missed saves, compacted meanwhile",
    "svc mem copy --from, 400 MB",
  ]);
  expect(lines({ executable: 1e6 })).toEqual([{ what: "the executable", value: 1, unit: "MB" }]);
});

test("samples become figures", () => {
  const written = { ms: [3, 1, 2], seconds: 2, errors: ["locked"] };
  expect(loadOf(8, [written, { ms: [9], seconds: 1, errors: [] }], 3)).toEqual({
    ...{ writers: 8, saves: 4, seconds: 2, p50: 3, p99: 9, lost: 1, missing: 1 },
  });
  const taken = (seconds: number, cpu: number) => ({ bytes: 4e6, seconds, cpu });
  expect(rateOf([taken(2, 8), taken(1, 8), taken(4, 8)], [taken(1, 1)])).toEqual({
    ...{ mb: 4, perSecond: 2, barePerSecond: 4, serverCpu: 2 },
  });
  const spent = { saves: 10, a: 20, ms: 4, rounds: 0, roundMs: 0, fetched: 0, headBytes: 0, b: 0, server: 10 };
  const followed: Spent = { ...spent, server: 30, b: 5, rounds: 5, roundMs: 7, fetched: 500, headBytes: 1000 };
  const poll = { server: 0.1, ms: 1 };
  expect(costsOf([spent], [followed], poll, 4)).toEqual({
    commit: { server: 1, node: 2, ms: 4 },
    round: { server: 4, node: 1, ms: 7, bytes: 1100 },
    headBytes: 1000,
    poll,
    session: 4,
  });
});

const demand = (cpu: number, rest = 0) => ({ cpu, rest });
const idle: Modelled = {
  ...{ cores: 2, nodes: 0, writers: 1, locked: demand(0, 2), unlocked: demand(0, 3), round: demand(1) },
  ...{ spread: 0, pollMs: 1000 },
};

test("the model has the known answers", () => {
  // One writer never waits; many keep the lock held all of the time.
  expect(solve(idle).saves).toBeCloseTo(200, 6);
  expect(solve({ ...idle, writers: 100 }).saves).toBeCloseTo(500, 3);
  // Two writers of one queue and a think time: exact mean value analysis by hand.
  expect(solve({ ...idle, writers: 2 }).saves).toBeCloseTo(2000 / (2 * (1 + 2 / 5) + 3), 6);
  // M/M/2: at half the use, a call takes 1 / (1 - 1/4) times as long.
  const { saves, used } = solve({ ...idle, locked: demand(2), unlocked: demand(0), writers: 1 });
  expect(saves).toBeCloseTo(1000 / (2 / (1 - used ** 2)), 3);
  // Nodes that get no hints look once a second, and those that fall behind make round after round.
  const slow = { ...idle, unlocked: demand(0, 1e9), nodes: 1, round: demand(0, 1) };
  expect(solve(slow).rounds).toBeCloseTo(1000 / 1001, 2);
  expect(solve({ ...idle, nodes: 1, round: demand(0, 1000) }).rounds).toBeCloseTo(1, 3);
});

test("more nodes, slower calls and fewer cores mean fewer saves", () => {
  const busy = { ...idle, nodes: 10, writers: 8, locked: demand(1, 1), round: demand(1, 3) };
  const of = (change: Partial<Modelled>) => solve({ ...busy, ...change });
  expect(of({ nodes: 100 }).saves).toBeLessThan(of({}).saves);
  expect(of({ nodes: 100 }).rounds).toBeLessThan(of({}).rounds);
  expect(of({ cores: 1 }).saves).toBeLessThan(of({}).saves);
  expect(of({ spread: 5 }).saves).toBeLessThan(of({}).saves);
  expect(of({ locked: demand(2, 1) }).saves).toBeLessThan(of({}).saves);
  for (const nodes of [0, 10, 10_000]) expect(of({ nodes }).used).toBeLessThanOrEqual(1);
});

test("what was measured is reproduced, and grows from there", () => {
  for (const size of PUBLISHED.sizes) expect(sizeAt(PUBLISHED.sizes, size.rows)).toEqual(size);
  const { locked, unlocked } = demandsOf(PUBLISHED);
  expect(locked.cpu + locked.rest + unlocked.cpu + unlocked.rest).toBeCloseTo(PUBLISHED.commits.one.p50, 6);
  const points = NODES.map((nodes) => ROWS.map((rows) => pointOf(PUBLISHED, nodes, rows)));
  for (const row of points) {
    for (const [i, point] of row.entries()) {
      if (i === 0) continue;
      for (const key of ["disk", "memory", "search", "copy"] as const)
        expect(point[key]).toBeGreaterThan(row[i - 1]![key]);
    }
  }
  for (const [i] of ROWS.entries()) {
    const column = points.map((row) => row[i]!);
    expect(column.map(({ saves }) => saves)).toEqual(column.map(({ saves }) => saves).sort((a, b) => b - a));
    expect(column.every(({ saves, followed }) => followed <= saves)).toBe(true);
    expect(
      column.every(({ limits }) => limits.every(({ share }, at) => share <= (limits[at - 1]?.share ?? share))),
    ).toBe(true);
  }
  const table = paperTable(points.flat());
  expect(table.length).toBe(1 + NODES.length * ROWS.length);
  expect(new Set(table.map((line) => line.length)).size).toBe(1);
});

test("the model is put beside the nodes that were measured", () => {
  const crowd = { nodes: 10, saves: 50, rounds: 20, server: 0.5 };
  const modelled = crowdOf({ costs: PUBLISHED.costs, crowd }, 2);
  expect(modelled.rounds).toBeLessThanOrEqual(modelled.saves);
  expect(crowdTable(crowd, modelled)[1]).toMatch(/^measured +50\.0 +20\.0 +50 %$/);
});

test("options are checked, and the figures of a run that is not complete", () => {
  const read = (...options: [string, string][]) => beyondOptions({ given: new Map(options) });
  expect(read()).toEqual({ parts: [...PARTS], seconds: 10, nodes: 10, json: undefined });
  expect(read(["--parts", "move,search"], ["--seconds", "3"])).toMatchObject({ parts: ["move", "search"], seconds: 3 });
  expect(() => read(["--parts", "growth"])).toThrow("no part is called growth; there are commits, standby");
  expect(() => measuredOf(figures)).toThrow("the figures lack costs, sizes: run npm run bench -- beyond --json FILE");
  const file = join(scratchDir(), "figures.json");
  const simulated = () => simulateOptions({ given: new Map([["--figures", file]]) });
  expect(simulated).toThrow("is not there: --figures names a file");
  writeFileSync(file, JSON.stringify({ machine: {}, ...figures, ...PUBLISHED }));
  expect(simulated().costs).toEqual(PUBLISHED.costs);
});
