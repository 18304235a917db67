/** Where a property of a JSON object is inserted and how it is written, and what goes with one that is removed. */
import type { Node } from "jsonc-parser";
import { indentation, lineBreak, lineStart, type Plain, type Splice } from "./edit.ts";

/** How a text is written: by which white space a level is indented, and whether all of it stands on one line. */
interface Style {
  readonly unit: string;
  readonly compact: boolean;
}

/** Properties and items that are looked at for the indentation. */
const LOOKED_AT_MAX = 2000;

/** The white space of one level: that of the first property which begins its line deeper than its object does. */
export function unitOf(text: string, root: Node | undefined): string {
  if (root === undefined) return "  ";
  const queue = [root];
  let left = LOOKED_AT_MAX;
  for (let node = queue.shift(); node && left > 0; node = queue.shift()) {
    const outer = indentation(text, node.offset);
    for (const child of node.children ?? []) {
      if (--left < 0) break;
      const inner = indentation(text, child.offset);
      if (isFirstOnLine(text, child.offset) && inner.length > outer.length && inner.startsWith(outer)) {
        return inner.slice(outer.length);
      }
      queue.push(node.type === "object" ? child.children![1]! : child);
    }
  }
  return "  ";
}

/** A value as text that begins in a line with this indentation. */
export function indented(text: string, value: Plain, indent: string, unit: string, compact: boolean): string {
  if (compact) return oneLine(value, /":\s/.test(text) || !text.includes('":') ? " " : "");
  return JSON.stringify(value, null, unit).replaceAll("\n", lineBreak(text) + indent);
}

/** A property of an object; an item of a list where it has no key. */
export interface Member {
  readonly key?: string;
  readonly value: Plain;
}

/** Inserts a property as the last one of an object. */
export function insertProperty(text: string, object: Node, key: string, value: Plain, style: Style): Splice[] {
  return insertMembers(text, object, [{ key, value }], style);
}

/** Inserts properties as the last ones of an object, or items as the last ones of a list; at least one. */
export function insertMembers(text: string, parent: Node, members: readonly Member[], style: Style): Splice[] {
  const eol = lineBreak(text);
  const written = (indent: string, compact: boolean, gap: string) => {
    const colon = compact && !/":\s/.test(text) && text.includes('":') ? ":" : ": ";
    return members
      .map(({ key, value }) => {
        const name = key === undefined ? "" : JSON.stringify(key) + colon;
        return name + indented(text, value, indent, style.unit, compact);
      })
      .join(`,${gap}`);
  };
  const last = parent.children?.at(-1);
  const insert = (at: number, inserted: string): Splice => ({ at, removed: "", inserted });
  if (last) {
    const end = last.offset + last.length;
    const comma = commaBehind(text, end);
    const line = restOfLine(text, comma === undefined ? end : comma + 1);
    const onLines = isFirstOnLine(text, last.offset) || line.isComment;
    const indent = isFirstOnLine(text, last.offset)
      ? indentation(text, last.offset)
      : indentation(text, parent.offset) + style.unit;
    const gap = onLines ? eol + indent : spaceBetween(text, parent);
    const entry = gap + written(indent, !onLines, gap);
    if (comma !== undefined) return [insert(line.at, `${entry},`)];
    return line.at === end ? [insert(end, `,${entry}`)] : [insert(end, ","), insert(line.at, entry)];
  }
  if (style.compact) return [insert(parent.offset + 1, written("", true, " "))];
  const at = behindComments(text, parent.offset + 1);
  const outer = indentation(text, parent.offset);
  const inner = outer + style.unit;
  const isOpen = text.slice(at, parent.offset + parent.length).includes("\n");
  return [insert(at, `${eol}${inner}${written(inner, false, eol + inner)}${isOpen ? "" : eol + outer}`)];
}

/**
 * Removes a property, or an item of a list, with the line it is on. Comments stay; one after it, on its last line, keeps
 * that line. An object that is left with white space only becomes `{}`, a list `[]`.
 */
export function removeProperty(text: string, property: Node): Splice[] {
  const object = property.parent!;
  const siblings = object.children!;
  const index = siblings.indexOf(property);
  const end = property.offset + property.length;
  const comma = commaBehind(text, end);
  const [opens, closes] = [object.offset + 1, object.offset + object.length - 1];
  const cut = (from: number, to: number): Splice => ({ at: from, removed: text.slice(from, to), inserted: "" });

  const inside = text.slice(opens, property.offset) + text.slice(end, closes);
  if (siblings.length === 1 && /^[\s,]*$/.test(inside)) return [cut(opens, closes)];

  const to = comma !== undefined && text.slice(end, comma).trim() === "" ? comma + 1 : end;
  const from = startOf(text, property, /^[ \t]*/.exec(text.slice(to))![0].length + to);
  const splices = [cut(from, to)];
  if (comma !== undefined && to === end) splices.push(cut(comma, comma + 1));
  if (comma === undefined && index > 0) {
    const before = siblings[index - 1]!;
    const between = commaBehind(text, before.offset + before.length)!;
    if (between >= from) splices[0] = cut(between, to);
    else splices.push(cut(between, between + 1));
  }
  const isFirst = index === 0 || isFirstOnLine(text, property.offset);
  if (isFirst && from === property.offset && splices[0]!.at === from) {
    // What follows on the line takes its place.
    const gap = /^[ \t]*/.exec(text.slice(to))![0].length;
    splices[0] = cut(from, to + gap);
  }
  return splices;
}

/** Where the removal of a property begins: with its line break, where the line has nothing else. */
function startOf(text: string, property: Node, next: number): number {
  const begins = lineStart(text, property.offset);
  if (isFirstOnLine(text, property.offset)) {
    // The break may end a comment: it goes only if another one follows.
    if (text[next] !== "\n" && text[next] !== "\r") return property.offset;
    return text[begins - 2] === "\r" ? begins - 2 : begins - 1;
  }
  const index = property.parent!.children!.indexOf(property);
  if (index === 0) return property.offset;
  const gap = /[ \t]*$/.exec(text.slice(begins, property.offset))![0];
  return property.offset - gap.length;
}

/** Offset of the comma that follows a value, after white space and comments; `undefined` where none does. */
function commaBehind(text: string, end: number): number | undefined {
  const at = afterSpace(text, behindComments(text, end));
  return text[at] === "," ? at : undefined;
}

/** The end of what else stands on a line after a value: its comments. Without any it is where the value ends. */
function restOfLine(text: string, from: number): { at: number; isComment: boolean } {
  for (let at = from; ; ) {
    const next = /^[ \t]*/.exec(text.slice(at, at + 4096))![0].length + at;
    if (text.startsWith("//", next)) return { at: endOfLine(text, next), isComment: true };
    const end = text.startsWith("/*", next) ? text.indexOf("*/", next) + 2 : -1;
    if (end < 0 || text.slice(next, end).includes("\n")) return { at, isComment: false };
    at = end;
  }
}

/** Offset after the last of the comments that follow an offset; `from` where none does. */
function behindComments(text: string, from: number): number {
  for (let at = from; ; ) {
    const next = afterSpace(text, at);
    if (text.startsWith("//", next)) at = endOfLine(text, next);
    else if (text.startsWith("/*", next)) at = text.indexOf("*/", next) + 2;
    else return at;
  }
}

/** Offset after white space and line breaks. */
function afterSpace(text: string, from: number): number {
  return from + /^\s*/.exec(text.slice(from))![0].length;
}

/** Offset of the line break that ends a line, or the text's end. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  if (end < 0) return text.length;
  return text[end - 1] === "\r" ? end - 1 : end;
}

function isFirstOnLine(text: string, offset: number): boolean {
  const start = lineStart(text, offset);
  return start > 0 && text.slice(start, offset).trim() === "";
}

/** What stands between two properties on one line, after the comma. */
function spaceBetween(text: string, object: Node): string {
  const children = object.children!;
  if (children.length < 2) return /":\s/.test(text) ? " " : "";
  const [a, b] = [children[children.length - 2]!, children[children.length - 1]!];
  return /,( *)$/.exec(text.slice(a.offset + a.length, b.offset))?.[1] ?? " ";
}

/** JSON on one line, with a space or none after colons and commas. */
function oneLine(value: Plain, space: string): string {
  if (Array.isArray(value)) return `[${value.map((one) => oneLine(one, space)).join(`,${space}`)}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}:${space}${oneLine(one, space)}`);
  return `{${pairs.join(`,${space}`)}}`;
}
