/** Edits of lists in JSON: of an object that has a list of objects for each key. */
import { findNodeAtLocation, type Node } from "jsonc-parser";
import { atLine, type PlainObject, type Splice } from "./edit.ts";
import { isBare, isOneLine, JSON_NOTATION, kindOf, replaceNode, rootOf } from "./json.ts";
import { insertMembers, removeProperty, unitOf } from "./json-write.ts";

/** Keys, and indices of lists, from the root. */
export type Steps = readonly (string | number)[];

/**
 * Adds one item to the list of each key of an object, and the lists and the object that are missing.
 * @param items by the keys of their lists; at least one
 * @throws ValueError where something else than a list or an object is there
 */
export function addItems(text: string, object: string, items: Readonly<Record<string, PlainObject>>): Splice[] {
  const root = rootOf(text);
  const lists = Object.fromEntries(Object.entries(items).map(([key, item]) => [key, [item]]));
  const parent = root && findNodeAtLocation(root, [object]);
  if (root === undefined || parent === undefined) return JSON_NOTATION.add(text, [], object, lists);
  if (parent.type !== "object") throw unexpected(text, parent, object, "an object");
  const style = { unit: unitOf(text, root), compact: isOneLine(text, root) };
  const splices: Splice[] = [];
  const fresh: { key: string; value: PlainObject[] }[] = [];
  for (const [key, item] of Object.entries(items)) {
    const list = findNodeAtLocation(parent, [key]);
    if (list === undefined) fresh.push({ key, value: [item] });
    else if (list.type !== "array") throw unexpected(text, list, `${object}.${key}`, "a list");
    else splices.push(...insertMembers(text, list, [{ value: item }], style));
  }
  if (fresh.length > 0) splices.push(...insertMembers(text, parent, fresh, style));
  return splices;
}

/**
 * Removes what steps lead to, and then the objects and lists around it that are left empty, the innermost first, for as
 * long as `goes` says so of the steps to one. Comments of the user inside keep it.
 */
export function removeAt(text: string, steps: Steps, goes: (steps: Steps) => boolean): Splice[] {
  let member = memberAt(text, steps);
  for (let at = steps.slice(0, -1); at.length > 0 && goes(at); at = at.slice(0, -1)) {
    const parent = member.parent!;
    if (parent.children!.length > 1 || !isBare(text, parent, member)) break;
    member = memberAt(text, at);
  }
  return removeProperty(text, member);
}

/** Puts another string in the place of one. */
export function setString(text: string, steps: Steps, value: string): Splice[] {
  return replaceNode(text, findNodeAtLocation(rootOf(text)!, [...steps])!, value, "");
}

/** The item, or the property with its key. */
function memberAt(text: string, steps: Steps): Node {
  const node = findNodeAtLocation(rootOf(text)!, [...steps])!;
  return node.parent!.type === "property" ? node.parent! : node;
}

function unexpected(text: string, node: Node, name: string, expected: string) {
  return atLine(text, node.offset, `'${name}' is ${kindOf(node)}; ${expected} is expected`);
}
