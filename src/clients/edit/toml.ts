/**
 * TOML: an entry is a table of its own, `[mcp_servers.svc]`, and so one block of lines. Bun's parser reads the text
 * before and after the edit. `@decimalturn/toml-patch` 3.3.0 edits TOML in place, but changes bytes that the edit does
 * not concern (spaces inside the brackets of a header, spaces after a string of several lines: two files of
 * test/clients/corpus.ts), and writes an entry as an inline table at the top of the file.
 */
import { ValueError } from "../../errors.ts";
import { CLIENT_TOML_LENGTH_MAX } from "../../limits.ts";
import { parsedOrLine } from "./broken-line.ts";
import {
  atLine,
  breakBefore,
  lineBreak,
  lineEnd,
  lineStart,
  type Notation,
  type Plain,
  type PlainObject,
  type Splice,
} from "./edit.ts";
import { type Pair, type Table, tablesOf } from "./toml-scan.ts";
import { isObject, own, valueAt } from "./values.ts";

/** The last text that was read: an edit reads one text several times. */
let last: { readonly text: string; readonly document: PlainObject } | undefined;

export const TOML_NOTATION: Notation = {
  isNullEmpty: false,
  isImplicit: true,
  parse(text) {
    if (text.length > CLIENT_TOML_LENGTH_MAX) throw new ValueError("it has more than 1 MiB; change it by hand");
    if (last?.text !== text) last = { text, document: parsedOrLine(Bun.TOML.parse, text) as PlainObject };
    return last.document;
  },

  checkKeys() {
    // The parser refuses a key that stands twice.
  },

  add(text, path, name, value) {
    const tables = tablesOf(text);
    const container = valueAt(this.parse(text), path);
    const block = blockOf([...path, name], value);
    if (container !== undefined) refuseInline(text, tables, path, `${tomlKey(name)} = ${tomlValue(value)}`);
    const around = tables.filter((table) => startsWith(table.keys, path) && table !== tables[0]);
    const last = around.at(-1);
    const eol = lineBreak(text);
    const at = last ? afterComments(text, lineEnd(text, last.end)) : text.length;
    const before = text.slice(0, at);
    const isFirst = before.trim() === "";
    const gap = isFirst ? "" : before.endsWith("\n") ? eol : eol + eol;
    // A text without a final line break keeps none.
    const isOpen = !isFirst && at === text.length && !text.endsWith("\n");
    return [{ at, removed: "", inserted: gap + block.replaceAll("\n", eol) + (isOpen ? "" : eol) }];
  },

  update(text, path, name, fields) {
    const entry = valueAt(this.parse(text), [...path, name]);
    const found = blocksOf(text, path, name);
    const main = found.tables.find((table) => table.keys.length === path.length + 1);
    const merged = { ...(entry as PlainObject), ...fields };
    if (!main || !isObject(entry)) return this.replace(text, path, name, merged);
    const splices: Splice[] = [];
    for (const [field, value] of Object.entries(fields)) {
      const pair = main.pairs.find(({ keys }) => keys.length === 1 && keys[0] === field);
      const written = tomlValue(value);
      if (pair) splices.push({ at: pair.valueAt, removed: text.slice(pair.valueAt, pair.end), inserted: written });
      else if (own(entry, field) !== undefined || main.pairs.length === 0)
        return this.replace(text, path, name, merged);
      else {
        const at = main.pairs.at(-1)!.end;
        splices.push({ at, removed: "", inserted: `${lineBreak(text)}${tomlKey(field)} = ${written}` });
      }
    }
    return splices.filter(({ removed, inserted }) => removed !== inserted);
  },

  replace(text, path, name, value) {
    const { tables, pair } = blocksOf(text, path, name);
    if (pair) return [{ at: pair.valueAt, removed: text.slice(pair.valueAt, pair.end), inserted: tomlValue(value) }];
    const [first, ...others] = tables;
    const block = blockOf([...path, name], value).replaceAll("\n", lineBreak(text));
    return [
      { at: first!.at, removed: text.slice(first!.at, first!.end), inserted: block },
      ...others.map((table) => removal(text, table)),
    ];
  },

  remove(text, path, name, containers) {
    const { tables, pair } = blocksOf(text, path, name);
    if (pair) {
      const [at, end] = [lineStart(text, pair.at), lineEnd(text, pair.end)];
      return [{ at, removed: text.slice(at, end), inserted: "" }];
    }
    const splices = tables.map((table) => removal(text, table));
    const all = tablesOf(text);
    const container = all.find((table) => table.keys.length === path.length && startsWith(table.keys, path));
    const others = all.filter(
      (table) => startsWith(table.keys, path) && table !== container && !tables.some(({ at }) => at === table.at),
    );
    if (containers > 0 && container && container !== all[0] && container.pairs.length === 0 && others.length === 0) {
      splices.push(removal(text, container));
    }
    return splices;
  },
};

const startsWith = (keys: readonly string[], path: readonly string[]) =>
  path.every((key, index) => keys[index] === key);

/** The tables or the one pair that define an entry. @throws ValueError where dotted keys or an inline table define it */
function blocksOf(text: string, path: readonly string[], name: string): { tables: Table[]; pair?: Pair } {
  const whole = [...path, name];
  const all = tablesOf(text);
  const tables = all.filter((table) => startsWith(table.keys, whole));
  const array = tables.find((table) => table.isArray && table.keys.length <= whole.length);
  if (array) throw atLine(text, array.at, `'${whole.join(".")}' is an array of tables; remove it by hand`);
  let found: Pair | undefined;
  for (const table of all) {
    if (startsWith(table.keys, whole)) continue;
    for (const pair of table.pairs) {
      const keys = [...table.keys, ...pair.keys];
      const isWhole = keys.length === whole.length && startsWith(keys, whole);
      const isInline = keys.length < whole.length && startsWith(whole, keys);
      if (!isWhole && !isInline && !startsWith(keys, whole)) continue;
      if (!isWhole || pair.keys.length > 1 || found || tables.length > 0) {
        const how = isInline ? "an inline table" : "dotted keys";
        throw atLine(text, pair.at, `'${whole.join(".")}' is written with ${how}; change it by hand`);
      }
      found = pair;
    }
  }
  return { tables, pair: found };
}

/** Refuses a table that cannot be extended by another header. @param inside the entry as it would stand in it */
function refuseInline(text: string, tables: Table[], path: readonly string[], inside: string): void {
  for (const table of tables) {
    for (const pair of table.pairs) {
      const keys = [...table.keys, ...pair.keys];
      if (keys.length > path.length || !startsWith(path, keys)) continue;
      throw atLine(
        text,
        pair.at,
        `'${keys.join(".")}' is one inline table, which no block can be added to; add to it by hand: ${inside}`,
      );
    }
    if (table.isArray && startsWith(path, table.keys)) {
      throw atLine(text, table.at, `'${table.keys.join(".")}' is an array of tables; one table is expected`);
    }
  }
}

/** The offset after the comments that follow a table without an empty line, unless they are about the next table. */
function afterComments(text: string, from: number): number {
  let at = from;
  while (/^[ \t]*#/.test(text.slice(at, lineEnd(text, at)))) at = lineEnd(text, at);
  return /^[ \t]*\[/.test(text.slice(at, lineEnd(text, at))) ? from : at;
}

/** A table's lines, with an empty line before them. */
function removal(text: string, table: Table): Splice {
  let at = lineStart(text, table.at);
  const end = lineEnd(text, table.end);
  const blank = /(?:\r?\n)(\r?\n)$/.exec(text.slice(Math.max(0, at - 4), at));
  const isLast = end === text.length && !text.endsWith("\n");
  if (blank) at -= blank[1]!.length;
  if (isLast) at = breakBefore(text, at);
  return { at, removed: text.slice(at, end), inserted: "" };
}

/** A table as lines; a nested object becomes an inline table. */
function blockOf(keys: readonly string[], value: PlainObject): string {
  const lines = [`[${keys.map(tomlKey).join(".")}]`];
  for (const [key, one] of Object.entries(value))
    if (one !== undefined) lines.push(`${tomlKey(key)} = ${tomlValue(one)}`);
  return lines.join("\n");
}

function tomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : tomlString(key);
}

function tomlValue(value: Plain): string {
  if (typeof value === "string") return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (isObject(value) && !("toJSON" in value)) {
    const pairs = Object.entries(value).map(([key, one]) => `${tomlKey(key)} = ${tomlValue(one)}`);
    return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
  }
  return String(value);
}

/** A basic string: JSON's escapes are TOML's, but for the control character that JSON leaves. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\x7f", "\\u007F");
}
