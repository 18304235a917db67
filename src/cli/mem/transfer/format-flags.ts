/** Flags about the file that `svc mem import` reads. */
import type { FormatFlags } from "../../../formats/input/flags.ts";
import { type Args, string, type Values } from "../../terminal/command.ts";

/** The flags. */
export const FORMAT_FLAGS = {
  "text-column": string("NAME", "csv, json: the column or field with the texts (text, content, body, document, …)"),
  "id-column": string("NAME", "csv, json: the one with the ids (id)"),
  delimiter: string("CHAR", "csv: character between columns, if it is not recognised"),
  typed: {
    type: "boolean",
    description: "csv: read numbers, true, false and null in metadata as such, not as strings",
  },
  split: {
    type: "enum",
    options: ["files", "headings", "bullets"],
    valueHint: "files|headings|bullets",
    description:
      "markdown: one row per file, heading or bullet (files; bullets in CLAUDE.md, AGENTS.md and other memories of agents)",
  },
  "chroma-collection": string("NAME", "chroma: the collection to read, if there are several"),
} as const satisfies Args;

/** Their values, as formats take them. */
export function formatFlags(args: Values<typeof FORMAT_FLAGS>): FormatFlags {
  return {
    textColumn: args["text-column"],
    idColumn: args["id-column"],
    delimiter: args.delimiter === "\\t" ? "\t" : args.delimiter,
    typed: args.typed,
    split: args.split as FormatFlags["split"],
    chromaCollection: args["chroma-collection"],
  };
}
