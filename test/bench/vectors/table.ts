/** The figures of a data set side by side. */
import { columns } from "../columns.ts";
import { building, type Figures, rateAt, type SetFigures } from "./figures.ts";

const HEAD = [
  "",
  "exact us",
  "batch us",
  "1 % us",
  "10 % us",
  "q/s at 0.98",
  "index CPU s",
  "rows/s added",
  "first ms",
  "resident MB",
  "runs under",
];

/** Lines of text: one a contender, then why some did not finish. Times are CPU time but for `first ms`. */
export function table(set: SetFigures): string[] {
  const rows = [HEAD, ...set.contenders.map((contender) => cells(set, contender))];
  const stopped = set.contenders.filter(({ error }) => error).map(({ name, error }) => `${name} stopped: ${error}`);
  return [`${set.name}, ${set.rows} x ${set.dim}`, ...columns(rows), ...stopped];
}

function cells({ rows }: SetFigures, contender: Figures): string[] {
  const { name, exact, exactBatch, filtered, curve, ingest, cold, runtime } = contender;
  const number = (value: number | undefined, digits = 0) => (value === undefined ? "-" : value.toFixed(digits));
  const asked = (value: { cpu: number; recall: number } | undefined) =>
    value ? number(value.cpu) + (value.recall < 1 ? ` (${value.recall.toFixed(3)})` : "") : "-";
  return [
    name,
    asked(exact),
    asked(exactBatch),
    asked(filtered["1"]),
    asked(filtered["10"]),
    number(rateAt(curve, 0.98)),
    curve.length > 0 ? number(building(contender)?.cpu, 1) : "-",
    number(ingest && rows / ingest.wall),
    number(cold?.ms, 1),
    number(cold && cold.resident / 1e6),
    runtime ?? "-",
  ];
}
