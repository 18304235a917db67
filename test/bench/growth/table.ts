/** Figures of growth as a table, and against the goals. */
import { columns } from "../columns.ts";
import { atMost, type Line } from "../measure.ts";
import type { Grown, Size } from "./figures.ts";

const MB = 1e6;
/** The exponent that the CPU time of an import and of a compaction may have: of a size and ten times as many rows. */
const EXPONENT = 1.1;

/** What is measured of a size. */
interface Measured {
  what: string;
  unit: string;
  of(size: Size): number;
  /** The value is of a row: its growth is that of the total. */
  isOfRow?: boolean;
  /** Its growth has the goal. */
  isJudged?: boolean;
}

const ofRow = (what: string, unit: string, of: (size: Size) => number): Measured => ({
  what,
  unit: `${unit} a row`,
  of: (size) => of(size) / size.rows,
  isOfRow: true,
});

const MEASURED: readonly Measured[] = [
  { ...ofRow("import", "us", (s) => (s.import.user + s.import.system) * 1e6), isJudged: true },
  ofRow("import, the system's part", "us", (s) => s.import.system * 1e6),
  { ...ofRow("compaction", "us", (s) => (s.compaction.user + s.compaction.system) * 1e6), isJudged: true },
  ofRow("disk", "bytes", (s) => s.disk),
  { what: "anonymous memory of the import", unit: "MB", of: (s) => s.anonymous / MB },
  { what: "open", unit: "ms", of: (s) => s.warm.open },
  { what: "first question", unit: "ms", of: (s) => s.warm.first },
  { what: "both from disk, by the clock", unit: "ms", of: (s) => s.cold.wall },
  { what: "later question", unit: "ms", of: (s) => s.life.later },
  { what: "add", unit: "ms", of: (s) => s.life.add },
  { what: "delete", unit: "ms", of: (s) => s.life.delete },
  { what: "undo of an add", unit: "ms", of: (s) => s.life.undo },
  { what: "check", unit: "ms", of: (s) => s.life.check },
];

/** Lines of text. */
export function table({ kind, sizes }: Grown): string[] {
  const head = [`${kind}, CPU time`, ...sizes.map(({ rows }) => String(rows)), "growth"];
  const rows = MEASURED.map((one) => [
    `${one.what}, ${one.unit}`,
    ...sizes.map((size) => digits(one.of(size))),
    exponents(sizes, one)
      .map((exponent) => exponent.toFixed(2))
      .join(" "),
  ]);
  return columns([head, ...rows]);
}

/** All lines: of the largest size, and the growth to it. */
export function lines(grown: readonly Grown[]): Line[] {
  return grown.flatMap(({ kind, sizes }) => {
    const last = sizes.at(-1)!;
    return MEASURED.flatMap((one) => {
      const what = `${kind}: ${one.what}`;
      const line = { what: `${what}, ${last.rows} rows`, value: one.of(last), unit: one.unit };
      const value = exponents(sizes, one).at(-1);
      if (value === undefined || !one.isJudged) return [line];
      return [line, atMost({ what: `${what}, growth`, value, unit: "as exponent" }, EXPONENT)];
    });
  });
}

/** Exponents of the growth from each size to the next: 1 is as the rows grow. */
export function exponents(sizes: readonly Size[], { of, isOfRow }: Pick<Measured, "of" | "isOfRow">): number[] {
  return sizes.slice(1).map((size, i) => {
    const before = sizes[i]!;
    return Math.log(of(size) / of(before)) / Math.log(size.rows / before.rows) + (isOfRow ? 1 : 0);
  });
}

const digits = (value: number) => value.toFixed(value < 1 ? 3 : value < 100 ? 1 : 0);
