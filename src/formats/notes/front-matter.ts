/** Front matter: YAML between two lines of three hyphens at the beginning of a note. */
import { isObject } from "../../checks/kinds.ts";
import { METADATA_BYTES_MAX, METADATA_DEPTH_MAX } from "../../limits.ts";

/** Values in it, each alias counted as what it stands for: a few lines of YAML can stand for billions. */
const VALUES_MAX = 10_000;

/** Bytes of a row's metadata that are left for what an import adds: path, title and headings. */
const BESIDE_BYTES = 8192;

/** A note in its parts. */
interface FrontMatter {
  /** What follows the front matter; all of the note where there is none, or where it cannot be read. */
  readonly text: string;
  /** Lines before it. */
  readonly lines: number;
  readonly fields: readonly (readonly [string, unknown])[];
  /** What is wrong with it, as the rest of a sentence. */
  readonly problem?: string;
}

/**
 * Takes front matter apart from the text. Its dates stay the strings that they are.
 * @param isLoose whether a value may be what YAML does not allow without quotes, as Cursor writes `globs: *.ts`
 */
export function readFrontMatter(whole: string, isLoose = false): FrontMatter {
  const found = /^---[ \t]*\r?\n(?:---|([\s\S]*?)\r?\n(?:---|\.\.\.))[ \t]*(?:\r?\n|$)/.exec(whole);
  const none = { text: whole, lines: 0, fields: [] };
  if (!found) return none;
  const yaml = found[1] ?? "";
  const text = whole.slice(found[0].length);
  const lines = found[0].split("\n").length - 1;
  const problem = (what: string) => ({ ...none, problem: what });
  if (yaml.length > METADATA_BYTES_MAX) return problem(`is longer than ${METADATA_BYTES_MAX} bytes`);
  let value: unknown;
  try {
    value = Bun.YAML.parse(isLoose ? quoted(yaml) : yaml);
  } catch {
    return problem("is not YAML");
  }
  if (value === null || value === undefined) return { text, lines, fields: [] };
  // A ruled-off first paragraph is a string in YAML.
  if (!isObject(value)) return none;
  try {
    const budget = { values: VALUES_MAX };
    const fields = Object.entries(value).map(([key, member]) => [key, plain(member, 2, budget)] as const);
    if (Buffer.byteLength(JSON.stringify(fields)) > METADATA_BYTES_MAX - BESIDE_BYTES)
      return problem("is too long for metadata");
    return { text, lines, fields };
  } catch {
    return problem("is nested too deeply, or repeats itself");
  }
}

/** The value as JSON can hold it: numbers that it would change become strings. @throws beyond the bounds */
function plain(value: unknown, depth: number, budget: { values: number }): unknown {
  budget.values -= 1;
  if (budget.values < 0 || depth > METADATA_DEPTH_MAX) throw new RangeError("too much");
  if (typeof value === "number") {
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? value : String(value);
  }
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1, budget));
  if (!isObject(value)) return value === undefined || typeof value === "boolean" ? value : (value ?? null);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one, depth + 1, budget)]));
}

/** The values of Cursor's rules that begin as an alias or a list of YAML would, in quotes. */
function quoted(yaml: string): string {
  return yaml.replace(/^(\w+):[ \t]+([*&!%@`{[].*?)[ \t]*\r?$/gm, (line, key: string, value: string) => {
    return value.startsWith("[") && value.endsWith("]") ? line : `${key}: ${JSON.stringify(value)}`;
  });
}
