/** What a person may say of a file that `svc mem import` reads. */
import type { FormatFlags } from "../../formats/flags.ts";
import { type Args, string, type Values } from "../terminal/command.ts";

/** The flags. */
export const FORMAT_FLAGS = {
  "text-column": string("NAME", "csv, json: the column or field with the texts (text, content, body, document, …)"),
  "id-column": string("NAME", "csv, json: the one with the ids (id)"),
  delimiter: string("CHAR", "csv: what parts the columns, where that is not recognised"),
  typed: { type: "boolean", description: "csv: numbers, true, false and null in metadata are not strings" },
  split: {
    type: "enum",
    options: ["files", "headings"],
    valueHint: "files|headings",
    description: "markdown: a row for each file, or for what stands below each heading (files)",
  },
  "chroma-collection": string("NAME", "chroma: which of several collections"),
} as const satisfies Args;

/** The same as a format takes them. */
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
