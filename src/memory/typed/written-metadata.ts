/**
 * Metadata as a person edits it: YAML, or JSON where YAML would change a value. What is read back has the same values with
 * the same types.
 */
import { isObject, shown } from "../../checks/kinds.ts";
import { encodeMetadata } from "../../checks/metadata.ts";
import type { Metadata } from "../../checks/values.ts";
import { ValueError } from "../../errors.ts";

/** Strings that YAML reads as strings without quotes. */
const PLAIN = /^[A-Za-z](?:[\w ./@+-]*[\w./@+-])?$/;
/** A key at the beginning of a line: in quotes, or plain. */
const KEY = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'{}[\]][^:\n]*?)\s*:(?=\s|$)/gm;

/** Lines of `key: value`, the last one with its line break; a row without metadata has none. */
export function writtenMetadata(metadata: Metadata): string {
  const yaml = Object.entries(metadata).map(([key, value]) => `${scalar(key)}: ${scalar(value)}\n`);
  // Some values are not the same in YAML, such as a key that is written <<: those rows have their metadata as JSON.
  return isLossless(yaml.join(""), metadata) ? yaml.join("") : `${JSON.stringify(metadata, null, 2)}\n`;
}

/**
 * The metadata that a person wrote.
 * @param called how messages call what was written
 * @throws ValueError for what is not an object, in YAML or JSON, has a key twice, or more than a row may have
 */
export function readWrittenMetadata(written: string, called: string): Metadata {
  const metadata = parsed(written, called);
  encodeMetadata(metadata, "metadata");
  return metadata;
}

function parsed(written: string, called: string): Metadata {
  const isJson = written.trimStart().startsWith("{");
  let value: unknown;
  try {
    value = isJson ? JSON.parse(written) : (Bun.YAML.parse(written) ?? {});
  } catch (error) {
    throw new ValueError(`${called} is not ${isJson ? "JSON" : "YAML"}: ${whyOf(error)}`);
  }
  if (!isObject(value)) throw new ValueError(`${called} is not a list of "key: value"`);
  const twice = isJson ? undefined : repeatedKey(written);
  if (twice !== undefined) throw new ValueError(`the metadata has the key ${shown(twice)} twice: leave one out`);
  return value;
}

/** A key that stands twice at the beginning of lines. The parser takes the last one: a value that was typed would be lost. */
export function repeatedKey(yaml: string): string | undefined {
  const keys = (yaml.match(KEY) ?? []).map((key) => key.replace(/\s*:$/, ""));
  return keys.find((key, i) => keys.indexOf(key) !== i);
}

/** What a parser says, without its name. */
export function whyOf(error: unknown): string {
  return (error as Error).message.replace(/^(?:YAML|JSON) Parse error: /, "");
}

function isLossless(yaml: string, metadata: Metadata): boolean {
  try {
    return JSON.stringify(parsed(yaml, "")) === JSON.stringify(metadata);
  } catch {
    return false;
  }
}

/** A key or a value: JSON is YAML, and a simple string needs no quotes. */
export function scalar(value: unknown): string {
  const isPlain = typeof value === "string" && PLAIN.test(value) && !/^(?:true|false|null)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
