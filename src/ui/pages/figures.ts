/** The figures of a collection: as a list, as plots, and in tables. */
import { table } from "../../pages/lists.ts";
import { escaped, isolated, moment } from "../../pages/text.ts";
import type { CollectionFacts } from "../memory/facts.ts";
import { counted, sized } from "./amounts.ts";
import { overTime } from "./over-time.ts";
import { barPlot, columnPlot } from "./plots.ts";

/** Characters of a value, which others chose. */
const VALUE_MAX = 150;

/** Filters that are named. */
const COLUMNS_MAX = 20;

/** What the collection is. Fields that do not apply are left out. */
export function figuresOf({ detail, stats }: CollectionFacts, now: number): string {
  const { description, rows, bytes, last_write, partition_by, filter_columns, partition_count, lexical, ivf } = detail;
  const indexes = [lexical ? "by words alone" : "", ivf ? "approximate, by vectors" : ""].filter(Boolean).join("; ");
  const fields: readonly [string, string | undefined][] = [
    ["Description", description && isolated(cut(description))],
    ["Rows", rows?.toLocaleString("en")],
    ["Size", bytes === undefined ? undefined : sized(bytes)],
    ["Last write", last_write === undefined ? undefined : moment(last_write, now)],
    ["Partitioned by", partition_by && isolated(partition_by)],
    ["Partitions", partition_count?.toLocaleString("en")],
    [
      "Filters",
      filter_columns
        ?.slice(0, COLUMNS_MAX)
        .map((column) => isolated(cut(column)))
        .join(", "),
    ],
    ["Indexes", indexes],
    ["Embedder", detail.embedder && isolated(detail.embedder)],
  ];
  const shown = fields.flatMap(([name, value]) => (value ? [`<dt>${name}</dt><dd>${value}</dd>`] : []));
  return `<dl>${shown.join("")}</dl>${countersOf(stats)}`;
}

/** Everything that `svc mem stats` prints. */
function countersOf(stats: CollectionFacts["stats"]): string {
  const entries = Object.entries(stats);
  if (entries.length === 0) return "";
  const rows = entries.map(([name, value]) => {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return [escaped(name), isolated(cut(text))];
  });
  return `<details><summary>All counters</summary>${table({ caption: "As svc mem stats prints them", columns: ["Counter", "Value"], rows })}</details>`;
}

/** Rows by partition and over time. */
export function plotsOf(facts: CollectionFacts): string {
  return `${scopes(facts)}${timeline(facts.days)}`;
}

function scopes({ detail }: CollectionFacts): string {
  const { partitions = [], partition_count = 0, partition_by = "" } = detail;
  if (partitions.length === 0 || (partitions.length === 1 && partition_count === 1)) return "";
  const named = partitions.map(({ key, rows }) => ({ label: key === null ? "none" : String(key), rows }));
  const counted = named.map(({ label, rows }) => ({ label, value: rows, shown: rows.toLocaleString("en") }));
  const others = partition_count - partitions.length;
  const title = `Rows by ${partition_by}`;
  const more = others > 0 ? `, and ${others.toLocaleString("en")} more that are smaller` : "";
  const rows = named.map(({ label, rows }) => [isolated(cut(label)), rows.toLocaleString("en")]);
  const figures = table({
    caption: `The largest ${partitions.length}${more}`,
    columns: [isolated(partition_by), "Rows"],
    rows,
  });
  const description = `${partition_count.toLocaleString("en")} in all. The table after the plot has the figures.`;
  return `<section>${barPlot({ id: "scopes", title, description, bars: counted })}
    <details><summary>Figures of this plot</summary>${figures}</details></section>`;
}

/** Rows over time. @param of which rows these are, after "Rows" @param more what the description adds */
export function timeline(days: CollectionFacts["days"], of = "", more = ""): string {
  if (days === undefined || days.rows.length === 0) return "";
  const { unit, bars } = overTime(days.first, days.rows);
  const filled = bars.filter(({ value }) => value > 0);
  const most = filled.reduce((best, bar) => (bar.value > best.value ? bar : best));
  const Unit = `${unit[0]!.toUpperCase()}${unit.slice(1)}`;
  const title = `Rows${of} by the ${unit} in which they were created`;
  const rows = filled.map(({ label, shown }) => [label, shown]);
  const columns = [unit === "week" ? "Week from" : Unit, "Rows"];
  const figures = table({ caption: `${Unit}s with rows, in UTC${more}`, columns, rows });
  const span = `From ${bars[0]!.label} to ${bars.at(-1)!.label}`;
  const description = `${span}, most in ${most.label}: ${counted(most.value, "row")}${more}. The table after the plot has the figures.`;
  return `<section>${columnPlot({ id: "time", title, description, bars })}
    <details><summary>Figures of this plot</summary>${figures}</details></section>`;
}

function cut(text: string): string {
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX).toWellFormed()}…` : text;
}
