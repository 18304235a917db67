/** One collection for a person. */

import { minuteOf } from "../../../answers/local-times.ts";
import { REPO_KEY } from "../../../checks/names.ts";
import type { DetailPayload } from "../../../memory/detail.ts";
import type { CollectionOverview } from "../../../memory/requests.ts";
import { whyUnreadable } from "../../../store/overview.ts";
import { oneLine, style } from "../../terminal/output.ts";
import { terminalColumns } from "../../terminal/width.ts";
import { textLines } from "./paragraphs.ts";
import { counted, nameAsWord, size } from "./text.ts";

/** What a collection is, in `name: value` lines; fields that do not apply are left out. */
export function renderDetail(one: DetailPayload, columns = terminalColumns()): string {
  const { rows, bytes, last_write, filter_columns, partition_by, meaning, text_rows = 0, meaning_rows = 0 } = one;
  const why = whyUnreadable(one);
  const isOfRepositories = partition_by === REPO_KEY;
  const fields: [string, string | undefined][] = [
    ["collection", oneLine(one.name)],
    ["description", one.description && oneLine(one.description)],
    [why?.[0] ?? "", why && oneLine(why[1])],
    ["rows", rows?.toString()],
    ["size", bytes === undefined ? undefined : size(bytes)],
    ["last write", last_write === undefined ? undefined : minuteOf(last_write)],
    ["partitioned by", partition_by && oneLine(partition_by)],
    ["partitions", isOfRepositories ? "'svc mem repos' lists the repositories" : partitionsOf(one)],
    ["filter columns", filter_columns?.map((column) => oneLine(column)).join(", ")],
    ["indexes", why ? undefined : indexesOf(one) || undefined],
    ["meaning", meaning && (meaning === "on" ? `on, ${meaning_rows} of ${counted(text_rows, "text")} ready` : "off")],
    ["embedder", one.embedder && `${oneLine(one.embedder)}, ${one.dim} dimensions`],
    ["its rows", why ? undefined : `svc mem show ${nameAsWord(one.name)}`],
  ];
  const shown = fields.filter((field): field is [string, string] => field[1] !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length)) + 3;
  return shown
    .flatMap(([name, value]) => {
      const [first = "", ...rest] = textLines(value, columns, " ".repeat(width));
      return [style("dim", `${name}:`.padEnd(width)) + first.slice(width), ...rest];
    })
    .join("\n");
}

/** Its indexes in words, or the word for why it cannot be read. */
export function indexesOf(one: Partial<CollectionOverview>): string {
  const [word] = whyUnreadable(one) ?? [];
  if (word !== undefined) return word;
  const { lexical, ivf, partition_by } = one;
  const found = [lexical && partition_by !== REPO_KEY ? "lexical" : "", ivf ? "ivf" : ""];
  return [...found, partition_by === REPO_KEY ? "repository" : ""].filter((one) => one !== "").join(", ");
}

function partitionsOf({ partitions = [], partition_count = 0 }: DetailPayload): string | undefined {
  if (partitions.length === 0) return undefined;
  const named = partitions.map(({ key, rows }) => `${key === null ? "(none)" : oneLine(String(key))} (${rows})`);
  const others = partition_count - partitions.length;
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join(", ");
}
