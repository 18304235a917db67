/**
 * YAML: an entry is one block of lines below `extensions:`. Bun's parser reads the text and what becomes of it; no
 * package edits YAML without writing all of it again.
 *
 * A new entry is the first one of its mapping: the last one may end in a block scalar, to which the empty lines after
 * it belong.
 */
import { ValueError } from "../../errors.ts";
import { parsedOrLine } from "./broken-line.ts";
import {
  atLine,
  breakBefore,
  lineBreak,
  lineEnd,
  type Notation,
  type Plain,
  type PlainObject,
  type Splice,
} from "./edit.ts";
import { isObject, own, valueAt } from "./values.ts";
import { documentBounds, type Entry, mappingAt } from "./yaml-scan.ts";

export const YAML_NOTATION: Notation = {
  isNullEmpty: true,
  isImplicit: false,
  parse(text) {
    const value = parsedOrLine(Bun.YAML.parse, text);
    if (documentBounds(text).documents > 1) throw new ValueError("it has more than one document; one is expected");
    if (value === null || value === undefined) return {};
    if (!isObject(value)) throw new ValueError("a mapping is expected");
    return value;
  },

  checkKeys(text, path, name) {
    let entries = rootOf(text);
    for (const key of [...path, name]) {
      const same = entries.filter((entry) => entry.key === key);
      if (same.length > 1) throw twice(text, same[1]!);
      if (same.length === 0) return;
      entries = mappingAt(text, lineEnd(text, same[0]!.at), same[0]!.indent.length);
    }
    for (const entry of entries) {
      const same = entries.filter(({ key }) => key === entry.key);
      if (same.length > 1) throw twice(text, same[1]!);
    }
  },

  add(text, path, name, value) {
    const [key] = path;
    const eol = lineBreak(text);
    const entries = rootOf(text);
    const container = entries.find((entry) => entry.key === key);
    const document = this.parse(text);
    if (!container) {
      if (own(document, key!) !== undefined || (entries.length === 0 && Object.keys(document).length > 0)) {
        throw new ValueError(`it is not written as lines of keys; ${byHand(key!, name, value)}`);
      }
      const at = documentBounds(text).to;
      const gap = at > 0 && text[at - 1] !== "\n" ? eol : "";
      const isOpen = at > 0 && gap !== "";
      const block = written({ [key!]: { [name]: value } }, unitOf(text, entries), "", eol);
      return [{ at, removed: "", inserted: gap + (isOpen ? block.slice(0, -eol.length) : block) }];
    }
    const line = lineEnd(text, container.at);
    const inner = mappingAt(text, line, container.indent.length);
    const indent = inner[0]?.indent ?? unitOf(text, entries);
    const block = written({ [name]: value }, unitOf(text, entries), indent, eol);
    const open = line === text.length && !text.endsWith("\n");
    const inserted = open ? eol + block.slice(0, -eol.length) : block;
    const insert: Splice = { at: line, removed: "", inserted };
    if (/^(?:[&!]\S*\s*)*$/.test(container.rest)) return [insert];
    if (!/^\{\s*\}$|^(?:null|~)$/i.test(container.rest)) {
      throw atLine(text, container.at, `'${key}' is not written as lines of keys; ${byHand(key!, name, value)}`);
    }
    const from = text.indexOf(container.rest, container.colon);
    const space = /[ \t]*$/.exec(text.slice(container.colon, from))![0].length;
    const removed = text.slice(from - space, from + container.rest.length);
    return [{ at: from - space, removed, inserted: "" }, insert];
  },

  update(text, path, name, fields) {
    const { entry } = located(text, path, name);
    const inner = mappingAt(text, lineEnd(text, entry.at), entry.indent.length);
    const value = valueAt(this.parse(text), [...path, name]);
    const merged = { ...(value as PlainObject), ...fields };
    if (inner.length === 0 || !isObject(value)) return this.replace(text, path, name, merged);
    const eol = lineBreak(text);
    const splices: Splice[] = [];
    let fresh = "";
    for (const [field, one] of Object.entries(fields)) {
      const line = inner.find(({ key }) => key === field);
      if (!line && own(value, field) !== undefined) return this.replace(text, path, name, merged);
      const block = written({ [field]: one }, unitOf(text, rootOf(text)), inner[0]!.indent, eol);
      if (!line) fresh += block;
      else
        splices.push({ at: line.at, removed: text.slice(line.at, line.end), inserted: asLong(block, text, line, eol) });
    }
    // In front of the first field, and in one splice with it where that changes too.
    const first = splices.findIndex(({ at }) => at === inner[0]!.at);
    if (first >= 0) splices[first] = { ...splices[first]!, inserted: fresh + splices[first]!.inserted };
    else splices.push({ at: inner[0]!.at, removed: "", inserted: fresh });
    return splices.filter(({ removed, inserted }) => removed !== inserted);
  },

  replace(text, path, name, value) {
    const { entry } = located(text, path, name);
    const eol = lineBreak(text);
    const block = written({ [name]: value }, unitOf(text, rootOf(text)), entry.indent, eol);
    return [{ at: entry.at, removed: text.slice(entry.at, entry.end), inserted: asLong(block, text, entry, eol) }];
  },

  remove(text, path, name, containers) {
    const { container, entry, siblings } = located(text, path, name);
    const cut = (part: Entry): Splice => {
      // The last line of a text without a final line break takes the break before it along.
      const isOpen = part.end === text.length && !text.endsWith("\n");
      const at = isOpen ? breakBefore(text, part.at) : part.at;
      return { at, removed: text.slice(at, part.end), inserted: "" };
    };
    if (siblings > 1) return [cut(entry)];
    const isBare = text.slice(lineEnd(text, container.at), entry.at).trim() === "" && isEmptyBehind(text, container);
    if (containers > 0 && isBare && container.end === entry.end) return [cut({ ...container, end: entry.end })];
    // A key without a value would be null.
    const colon: Splice = { at: container.colon, removed: "", inserted: " {}" };
    return container.rest === "" ? [colon, cut(entry)] : [cut(entry)];
  },
};

/** The lines of an entry. @throws ValueError where it is there and has none of its own */
function located(text: string, path: readonly string[], name: string) {
  const container = rootOf(text).find(({ key }) => key === path[0]);
  const inner = container ? mappingAt(text, lineEnd(text, container.at), container.indent.length) : [];
  const entry = inner.find(({ key }) => key === name);
  if (!container || !entry) {
    throw new ValueError(`'${path[0]}.${name}' is not written as lines of its own; change it by hand`);
  }
  return { container, entry, siblings: inner.length };
}

function rootOf(text: string): Entry[] {
  const { from, to } = documentBounds(text);
  return mappingAt(text.slice(0, to), from, -1);
}

/** White space of one level: that of the first mapping in a mapping. */
function unitOf(text: string, entries: Entry[]): string {
  for (const entry of entries) {
    const inner = entry.rest === "" ? mappingAt(text, lineEnd(text, entry.at), entry.indent.length) : [];
    if (inner.length > 0) return " ".repeat(inner[0]!.indent.length - entry.indent.length);
  }
  return "  ";
}

/** A value as lines, each ended. */
function written(value: Plain, unit: string, indent: string, eol: string): string {
  const lines = Bun.YAML.stringify(value, null, unit.length)!.trimEnd().split("\n");
  return lines.map((line) => indent + line.trimEnd() + eol).join("");
}

/** A block that takes a part's place: without a final line break where the part has none. */
function asLong(block: string, text: string, part: Entry, eol: string): string {
  return part.end === text.length && !text.endsWith("\n") ? block.slice(0, -eol.length) : block;
}

/** Whether nothing stands after a key on its line, not even a comment. */
function isEmptyBehind(text: string, { colon }: Entry): boolean {
  return text.slice(colon, lineEnd(text, colon)).trim() === "";
}

function twice(text: string, entry: Entry): ValueError {
  return atLine(text, entry.at, `the key '${entry.key}' stands twice; keep one of them`);
}

function byHand(key: string, name: string, value: PlainObject): string {
  return `add this to '${key}' by hand: ${JSON.stringify({ [name]: value })}`;
}
