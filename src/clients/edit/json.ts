/**
 * JSON with comments and trailing commas. jsonc-parser reads it and says where each part lies; what is inserted is put
 * together here, as its own `modify` reformats lines around the edit and moves comments.
 */
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { ValueError } from "../../errors.ts";
import { atLine, indentation, type Notation, type Plain, type PlainObject, type Splice } from "./edit.ts";
import { indented, insertProperty, removeProperty, unitOf } from "./json-write.ts";

export const JSON_NOTATION: Notation = {
  isNullEmpty: false,
  isImplicit: false,
  parse(text) {
    const root = rootOf(text);
    return root === undefined ? Object.create(null) : (plainOf(root) as PlainObject);
  },

  checkKeys(text, path, name) {
    const root = rootOf(text);
    if (root === undefined) return;
    let node: Node | undefined = root;
    for (const key of [...path, name]) {
      if (node?.type !== "object") return;
      const same: Node[] = propertiesOf(node).filter((property) => property.children![0]!.value === key);
      if (same.length > 1) throw twice(text, same[1]!, key);
      node = same[0]?.children?.[1];
    }
    if (node) checkInside(text, node);
  },

  add(text, path, name, value) {
    const root = rootOf(text);
    const style = { unit: unitOf(text, root), compact: root !== undefined && isOneLine(text, root) };
    if (root === undefined) return [wholeDocument(text, nested([...path, name], value))];
    let object = root;
    let depth = 0;
    for (; depth < path.length; depth++) {
      const inner = findNodeAtLocation(object, [path[depth]!]);
      if (!inner) break;
      if (inner.type !== "object") throw notAnObject(text, inner, path.slice(0, depth + 1));
      object = inner;
    }
    const [key, ...rest] = [...path.slice(depth), name];
    return insertProperty(text, object, key!, nested(rest, value), style);
  },

  update(text, path, name, fields) {
    const root = rootOf(text);
    const entry = root && findNodeAtLocation(root, [...path, name]);
    if (entry?.type !== "object") return this.replace(text, path, name, fields);
    const style = { unit: unitOf(text, root), compact: isOneLine(text, entry) };
    const splices: Splice[] = [];
    const fresh: [string, Plain][] = [];
    for (const [field, value] of Object.entries(fields)) {
      const node = findNodeAtLocation(entry, [field]);
      if (node) splices.push(...replaceNode(text, node, value, style.unit));
      else fresh.push([field, value]);
    }
    // Two insertions after one property would be one comma too many.
    if (fresh.length > 1) return this.replace(text, path, name, { ...(plainOf(entry) as PlainObject), ...fields });
    for (const [field, value] of fresh) splices.push(...insertProperty(text, entry, field, value, style));
    return splices;
  },

  replace(text, path, name, value) {
    const root = rootOf(text)!;
    return replaceNode(text, findNodeAtLocation(root, [...path, name])!, value, unitOf(text, root));
  },

  remove(text, path, name, containers) {
    const root = rootOf(text)!;
    let property = findNodeAtLocation(root, [...path, name])!.parent!;
    for (let left = containers; left > 0; left--) {
      const object = property.parent!;
      const isAlone = object.children!.length === 1 && object.parent !== undefined;
      // Comments of the user inside an object keep it.
      if (!isAlone || !isBare(text, object, property)) break;
      property = object.parent!;
    }
    return removeProperty(text, property);
  },
};

/** The last text that was read and its tree: an edit reads one text four times. */
let last: { readonly text: string; readonly root: Node | undefined } | undefined;

/** The tree of a text; `undefined` where there is nothing but white space and comments. */
export function rootOf(text: string): Node | undefined {
  if (last?.text !== text) last = { text, root: parsed(text) };
  return last.root;
}

function parsed(text: string): Node | undefined {
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch {
    throw new ValueError("it is nested too deeply to be read"); // the parser's calls nest as the text does
  }
  const [error] = errors.sort((a, b) => a.offset - b.offset);
  if (error) throw atLine(text, error.offset, `${describe(error)}; correct it and try again`);
  if (root !== undefined && root.type !== "object") {
    throw atLine(text, root.offset, `an object is expected, and this is ${kindOf(root)}`);
  }
  return root;
}

const PROBLEMS: Record<string, string> = {
  CommaExpected: "a comma is missing",
  ColonExpected: "a colon is missing",
  ValueExpected: "a value is missing",
  PropertyNameExpected: "a key in double quotes is expected",
  CloseBraceExpected: "the text ends before the closing brace",
  CloseBracketExpected: "the text ends before the closing bracket",
  EndOfFileExpected: "there is more text after the end of the object",
  UnexpectedEndOfComment: "a comment does not end",
  UnexpectedEndOfString: "a string does not end",
};

function describe({ error }: ParseError): string {
  const code = printParseErrorCode(error);
  return PROBLEMS[code] ?? `this is not JSON (${code})`;
}

const propertiesOf = (object: Node): Node[] => object.children ?? [];

function plainOf(node: Node): Plain {
  if (node.type === "array") return (node.children ?? []).map(plainOf);
  if (node.type !== "object") return node.value as Plain;
  const object: Record<string, Plain> = Object.create(null);
  for (const property of propertiesOf(node)) object[property.children![0]!.value] = plainOf(property.children![1]!);
  return object;
}

function checkInside(text: string, node: Node): void {
  if (node.type === "array") for (const child of node.children ?? []) checkInside(text, child);
  if (node.type !== "object") return;
  const keys = new Set<string>();
  for (const property of propertiesOf(node)) {
    const key: string = property.children![0]!.value;
    if (keys.has(key)) throw twice(text, property, key);
    keys.add(key);
    checkInside(text, property.children![1]!);
  }
}

function twice(text: string, node: Node, key: string): ValueError {
  return atLine(text, node.offset, `the key ${JSON.stringify(key)} stands twice; keep one of them`);
}

function notAnObject(text: string, node: Node, path: readonly string[]): ValueError {
  return atLine(text, node.offset, `'${path.join(".")}' is ${kindOf(node)}; an object is expected`);
}

export function kindOf(node: Node): string {
  if (node.type === "null") return "null";
  return `${node.type === "array" || node.type === "object" ? "an" : "a"} ${node.type}`;
}

/** Whether an object of some properties is written on one line. An empty root says nothing, and gets lines. */
export function isOneLine(text: string, object: Node): boolean {
  return propertiesOf(object).length > 0 && !text.slice(object.offset, object.offset + object.length).includes("\n");
}

/** Whether an object or a list has only white space, apart from one property or item and its commas. */
export function isBare(text: string, object: Node, property: Node): boolean {
  const before = text.slice(object.offset + 1, property.offset);
  const after = text.slice(property.offset + property.length, object.offset + object.length - 1);
  return /^[\s,]*$/.test(before + after);
}

/** `{a: {b: value}}` of the keys `a` and `b`. */
function nested(keys: readonly string[], value: Plain): Plain {
  return keys.reduceRight<Plain>((inner, key) => ({ [key]: inner }), value);
}

/** A document for a text that has none yet: after its comments, or before its white space. */
function wholeDocument(text: string, value: Plain): Splice {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const written = JSON.stringify(value, null, 2).replaceAll("\n", eol);
  if (text.trim() === "") return { at: 0, removed: "", inserted: text === "" ? written + eol : written };
  return { at: text.length, removed: "", inserted: (text.endsWith("\n") ? "" : eol) + written + eol };
}

export function replaceNode(text: string, node: Node, value: Plain, unit: string): Splice[] {
  const removed = text.slice(node.offset, node.offset + node.length);
  const isFlat = node.type !== "object" && node.type !== "array";
  const inserted =
    isFlat && typeof value !== "object"
      ? JSON.stringify(value)
      : indented(text, value, indentation(text, node.offset), unit, !removed.includes("\n") && !isFlat);
  return removed === inserted ? [] : [{ at: node.offset, removed, inserted }];
}
