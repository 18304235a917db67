/**
 * A row as a file to edit: its metadata as front matter in YAML, then its text. What is read back has the same values
 * with the same types.
 */
import { isObject, shown } from "../../../checks/kinds.ts";
import { encodeMetadata } from "../../../checks/metadata.ts";
import { checkTextSize } from "../../../checks/texts.ts";
import type { Metadata } from "../../../checks/values.ts";
import { ValueError } from "../../../errors.ts";
import type { RowContent } from "../../../memory/edit.ts";

const LINE = "---";
/** The first line, the front matter, and the line that ends it. */
const PARTS = /^---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/;
/** Strings that YAML reads as strings without quotes. */
const PLAIN = /^[A-Za-z](?:[\w ./@+-]*[\w./@+-])?$/;
/** A key at the beginning of a line: in quotes, or plain. */
const KEY = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'{}[\]][^:\n]*?)\s*:(?=\s|$)/gm;

/** The file; an editor adds a line break to the last line, and so does this. @param name of the row, for a comment */
export function documentOf({ text, metadata = {} }: RowContent, name: string): string {
  const yaml = Object.entries(metadata).map(([key, value]) => `${scalar(key)}: ${scalar(value)}\n`);
  const comment = `# Metadata of ${oneLined(name)}, as YAML. The text begins after the next line of hyphens.\n`;
  const front = comment + yaml.join("");
  // Some values are not the same in YAML, such as a key that is written <<: those rows have their metadata as JSON.
  const json = `${JSON.stringify(metadata, null, 2)}\n`;
  return `${LINE}\n${isLossless(front, metadata) ? front : json}${LINE}\n${text}\n`;
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
  const metadata = readFront(parts[1]!);
  const text = file.slice(parts[0].length).replace(/\r?\n$/, "");
  if (text === "" && before.text !== "") {
    throw new ValueError("the text is empty: 'svc mem delete' removes a row");
  }
  checkTextSize(text, "the text");
  encodeMetadata(metadata, "metadata");
  // No metadata is not the same as an empty object.
  const isNone = Object.keys(metadata).length === 0 && before.metadata === undefined;
  return isNone ? { text } : { text, metadata };
}

/** @throws ValueError for what is not an object, in YAML or JSON, or has a key twice */
function readFront(front: string): Metadata {
  const isJson = front.trimStart().startsWith("{");
  let value: unknown;
  try {
    value = isJson ? JSON.parse(front) : (Bun.YAML.parse(front) ?? {});
  } catch (error) {
    throw new ValueError(
      `the metadata between the lines of ${LINE} is not ${isJson ? "JSON" : "YAML"}: ${whyOf(error)}`,
    );
  }
  if (!isObject(value)) throw new ValueError(`the metadata between the lines of ${LINE} is not a list of "key: value"`);
  // The parser takes the last one: a value that was typed would be lost.
  const keys = isJson ? [] : (front.match(KEY) ?? []).map((key) => key.replace(/\s*:$/, ""));
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined) throw new ValueError(`the metadata has the key ${shown(twice)} twice: leave one out`);
  return value;
}

function whyOf(error: unknown): string {
  return (error as Error).message.replace(/^(?:YAML|JSON) Parse error: /, "");
}

function isLossless(front: string, metadata: Metadata): boolean {
  try {
    return JSON.stringify(readFront(front)) === JSON.stringify(metadata);
  } catch {
    return false;
  }
}

/** A key or a value: JSON is YAML, and a simple string needs no quotes. */
function scalar(value: unknown): string {
  const isPlain = typeof value === "string" && PLAIN.test(value) && !/^(?:true|false|null)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}

function oneLined(name: string): string {
  return name.replace(/[\p{C}\s]+/gu, " ");
}
