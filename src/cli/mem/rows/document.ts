/** A row as a file to edit: its metadata as front matter in YAML, then its text. */
import { checkTextSize } from "../../../checks/texts.ts";
import { ValueError } from "../../../errors.ts";
import type { RowContent } from "../../../memory/edit.ts";
import { readWrittenMetadata, writtenMetadata } from "../../../memory/typed/written-metadata.ts";

const LINE = "---";
/** The first line, the front matter, and the line that ends it. */
const PARTS = /^---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/;

/** The file; an editor adds a line break to the last line, and so does this. @param name of the row, for a comment */
export function documentOf({ text, metadata = {} }: RowContent, name: string): string {
  const front = writtenMetadata(metadata);
  const comment = `# Metadata of ${oneLined(name)}, as YAML. The text begins after the next line of hyphens.\n`;
  return `${LINE}\n${front.startsWith("{") ? front : comment + front}${LINE}\n${text}\n`;
}

/**
 * The row that an edited file says.
 * @throws ValueError for one that lacks the front matter or the text, or has more than a row may have
 */
export function readDocument(file: string, before: RowContent): RowContent {
  const parts = PARTS.exec(file);
  if (parts === null) {
    throw new ValueError(
      `the file does not begin with its metadata between two lines of ${LINE}: leave both lines, with nothing between ` +
        "them where there is no metadata",
    );
  }
  const metadata = readWrittenMetadata(parts[1]!, `the metadata between the lines of ${LINE}`);
  const text = file.slice(parts[0].length).replace(/\r?\n$/, "");
  if (text === "" && before.text !== "") {
    throw new ValueError("the text is empty: 'svc mem delete' removes a row");
  }
  checkTextSize(text, "the text");
  // No metadata is not the same as an empty object.
  const isNone = Object.keys(metadata).length === 0 && before.metadata === undefined;
  return isNone ? { text } : { text, metadata };
}

function oneLined(name: string): string {
  return name.replace(/[\p{C}\s]+/gu, " ");
}
