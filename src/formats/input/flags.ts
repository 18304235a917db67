/** What a person may say about a file that does not say it itself. */
import { ValueError } from "../../errors.ts";

/** Each absent: the format decides. */
export interface FormatFlags {
  /** The column, or the field, whose values are the texts. */
  readonly textColumn?: string | undefined;
  /** The one whose values are the ids. */
  readonly idColumn?: string | undefined;
  /** What parts the columns: one character. */
  readonly delimiter?: string | undefined;
  /** Numbers, true, false and null in columns are read as such; they are strings otherwise. */
  readonly typed?: boolean | undefined;
  /** What becomes a row: a file, what stands below each heading, or each bullet and paragraph. */
  readonly split?: "files" | "headings" | "bullets" | undefined;
  /** Which of several collections. */
  readonly chromaCollection?: string | undefined;
}

/** How each is written, and the names of the formats that it is for. */
const USES: { readonly [K in keyof Required<FormatFlags>]: readonly [flag: string, formats: readonly string[]] } = {
  textColumn: ["--text-column", ["csv", "json"]],
  idColumn: ["--id-column", ["csv", "json"]],
  delimiter: ["--delimiter", ["csv"]],
  typed: ["--typed", ["csv"]],
  split: ["--split", ["markdown"]],
  chromaCollection: ["--chroma-collection", ["chroma"]],
};

/** Refuses what would have no effect: it was meant to have one. @throws ValueError naming the flag and the formats */
export function checkFlags(flags: FormatFlags, format: string, name: string): void {
  for (const key of Object.keys(USES) as (keyof FormatFlags)[]) {
    const [flag, formats] = USES[key];
    if (flags[key] === undefined || flags[key] === false || formats.includes(format)) continue;
    throw new ValueError(`${flag} is for ${formats.join(" and ")}, and ${name} is read as ${format}: leave it out`);
  }
}
