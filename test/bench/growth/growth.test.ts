import { expect, test } from "bun:test";
import { scratchDir } from "../../fixture.ts";
import type { Usage } from "../cost.ts";
import type { Opened, Size } from "./figures.ts";
import { growthOptions, KINDS, sizesTo } from "./options.ts";
import { type GrowthJob, ours } from "./ours.ts";
import { DIM, sourceOf } from "./rows.ts";
import { exponents, lines, table } from "./table.ts";

const used = (cpu: number): Usage => ({ user: cpu, system: cpu, wall: cpu, peak: 1, anonymous: 1, faults: 1 });
const size = (rows: number, cpu: number): Size => ({
  rows,
  import: used(cpu),
  anonymous: 1e6,
  compaction: used(cpu),
  disk: rows * 100,
  warm: { open: 1, first: 1, wall: 1 },
  cold: { open: 1, first: 1, wall: 1 },
  life: { later: 1, add: 1, undo: 1, delete: 1, check: 1 },
});

test("growth is the exponent of the total, and has a goal at the largest size", () => {
  const sizes = [size(10_000, 1), size(100_000, 10), size(1_000_000, 1000)];
  expect(exponents(sizes, { of: ({ import: { user } }) => user })).toEqual([1, 2]);
  const perRow = exponents(sizes, { of: ({ import: { user }, rows }) => user / rows, isOfRow: true });
  expect(perRow.map((one) => Number(one.toFixed(6)))).toEqual([1, 2]);
  const judged = lines([{ kind: "notes", sizes }]).filter(({ met }) => met !== undefined);
  expect(judged.map(({ met }) => met)).toEqual([false, false]);
  expect(lines([{ kind: "notes", sizes: sizes.slice(0, 2) }]).every(({ met }) => met !== false)).toBe(true);
  expect(lines([{ kind: "notes", sizes: sizes.slice(0, 1) }]).some(({ met }) => met !== undefined)).toBe(false);
  expect(table({ kind: "notes", sizes })[1]).toMatch(/^import, us a row +200 +200 +2000 +1\.00 2\.00$/);
});

test("rows of a kind are distinct and the same each time; near copies are near", () => {
  const notes = sourceOf("notes") as { texts(from: number, count: number): string[] };
  expect(new Set(notes.texts(0, 60_000)).size).toBe(60_000);
  expect(notes.texts(50_000, 2)).toEqual(notes.texts(49_999, 3).slice(1));
  const dot = (rows: Float32Array, other: number) =>
    rows.subarray(0, DIM).reduce((sum, x, i) => sum + x * rows[other * DIM + i]!, 0);
  for (const kind of ["vectors", "near-copies"] as const) {
    const { vectors } = sourceOf(kind) as { vectors(from: number, count: number): Float32Array };
    const rows = vectors(30_000, 20);
    expect(dot(rows, 0)).toBeCloseTo(1, 4);
    expect(dot(rows, 1)).toBeGreaterThan(kind === "vectors" ? -1 : 0.99);
    expect(dot(rows, 10)).toBeLessThan(0.5);
    expect(vectors(30_001, 1)).toEqual(rows.subarray(DIM, 2 * DIM));
    expect(vectors(15_000 * DIM, 1)[0]).toBe(-vectors(0, 1)[0]!);
  }
});

test.skipIf(process.platform !== "linux")("a collection is filled, opened and used", async () => {
  for (const kind of KINDS) {
    const rest = { passages: "", queries: "", budget: 0, packages: "" };
    const job: GrowthJob = { work: "", dir: scratchDir(), kind, rows: 700, ...rest };
    const put = (await ours.import!(job)) as Pick<Size, "disk" | "import">;
    expect(put.disk).toBeGreaterThan(0);
    expect(((await ours.open!(job)) as Opened).wall).toBeGreaterThan(0);
    expect(Object.keys((await ours.life!(job)) as object)).toEqual(["later", "add", "undo", "delete", "check"]);
  }
});

test("sizes are powers of ten up to the largest; options are checked", () => {
  expect(sizesTo(10_000)).toEqual([10_000]);
  expect(sizesTo(3_000_000)).toEqual([10_000, 100_000, 1_000_000, 3_000_000]);
  const read = (...options: [string, string][]) => growthOptions({ given: new Map(options) });
  expect(read()).toEqual({ kinds: [...KINDS], rows: 1_000_000, json: undefined });
  expect(read(["--kinds", "notes"], ["--rows", "3000000"])).toMatchObject({ kinds: ["notes"], rows: 3_000_000 });
  expect(() => read(["--kinds", "words"])).toThrow("nothing called words grows; there are vectors, notes, near-copies");
  expect(() => read(["--rows", "5"])).toThrow("--rows is a whole number from 10000");
});
