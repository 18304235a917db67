/**
 * Metadata as a person edits it: YAML, or JSON if YAML would change a value. Reading what was written gives the same values
 * with the same types.
 */
import { isObject, shown } from "../../checks/kinds.ts";
import { encodeMetadata } from "../../checks/metadata.ts";
import type { Metadata } from "../../checks/values.ts";
import { ValueError } from "../../errors.ts";

/** Strings that need no quotes in YAML. */
const PLAIN = /^[A-Za-z](?:[\w ./@+-]*[\w./@+-])?$/;
/** A key at the beginning of a line: in quotes, or plain. */
const KEY = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'{}[\]][^:\n]*?)\s*:(?=\s|$)/gm;

/** Lines of `key: value`, each with its line break; an empty string without metadata. */
export function writtenMetadata(metadata: Metadata): string {
  const yaml = Object.entries(metadata).map(([key, value]) => `${scalar(key)}: ${scalar(value)}\n`);
  // YAML changes some metadata, for example a key that is written <<. These are written as JSON.
  return isLossless(yaml.join(""), metadata) ? yaml.join("") : `${JSON.stringify(metadata, null, 2)}\n`;
}

/**
 * The metadata that a person wrote.
 * @param called the name of the text in messages
 * @throws ValueError if it is not an object in YAML or JSON, has a key twice, or is more than a row may have
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

/** A key that begins two lines. The parser would take the last one, and the other value would be lost. */
export function repeatedKey(yaml: string): string | undefined {
  const keys = (yaml.match(KEY) ?? []).map((key) => key.replace(/\s*:$/, ""));
  return keys.find((key, i) => keys.indexOf(key) !== i);
}

/** The message of a parser, without the parser's name. */
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

/** A key or a value in YAML: as JSON, which is YAML too, or a simple string without quotes. */
export function scalar(value: unknown): string {
  const isPlain = typeof value === "string" && PLAIN.test(value) && !/^(?:true|false|null)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
