/**
 * Where the keys of block mappings lie in a YAML text. Lines are enough for that: in a block mapping a value that goes
 * on in further lines is indented deeper than its key. The text has been parsed, and the result of an edit is parsed
 * again.
 */
import { lineEnd } from "./edit.ts";

/** One key of a block mapping with its value. Offsets count UTF-16 units. */
export interface Entry {
  readonly key: string;
  /** White space before the key. */
  readonly indent: string;
  /** Begin of the key's line. */
  readonly at: number;
  /** After the colon. */
  readonly colon: number;
  /** What stands after the colon on its line, without a comment. */
  readonly rest: string;
  /** After the last line of the value, its line break included; comments and empty lines after it are not its. */
  end: number;
}

/** Characters of a line in which a key is looked for: the pattern takes their square for a line of spaces. */
const KEY_MAX = 1000;
const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>'"%@`{}[\],?:-][^#]*?|[-?:][^\s#][^#]*?)[ \t]*:(?=\s|$)/;

/**
 * The keys of the block mapping that begins at an offset and whose keys are indented deeper than `outer` characters.
 * @returns an empty list where no mapping begins there
 */
export function mappingAt(text: string, from: number, outer: number): Entry[] {
  const entries: Entry[] = [];
  let indent: string | undefined;
  for (let at = from; at < text.length; ) {
    const end = lineEnd(text, at);
    const line = text.slice(at, end);
    const white = /^ */.exec(line)![0];
    const content = line.slice(white.length).trimEnd();
    if (content !== "" && !content.startsWith("#")) {
      if (white.length <= outer || (white.length === 0 && /^(---|\.\.\.)(\s|$)/.test(content))) break;
      indent ??= white;
      if (white.length < indent.length) break;
      if (white.length === indent.length) {
        const key = KEY.exec(content.slice(0, KEY_MAX));
        // A list may lie as deep as its key. Anything else here is not a mapping.
        if (!key) {
          if (entries.length === 0 || !/^[-}\]]/.test(content)) return [];
          entries.at(-1)!.end = end;
        } else {
          const colon = at + white.length + key[0].length;
          const rest = withoutComment(text.slice(colon, end));
          entries.push({ key: decodeKey(key[1]!), indent, at, colon, rest, end });
        }
      } else if (entries.length > 0) entries.at(-1)!.end = end;
    }
    at = end;
  }
  return entries;
}

/** Where the content of the first document begins and ends, without its markers, and how many documents there are. */
export function documentBounds(text: string): { from: number; to: number; documents: number } {
  let [from, to, documents] = [0, text.length, 0];
  let isOpen = false;
  for (let at = 0; at < text.length; at = lineEnd(text, at)) {
    const line = text.slice(at, lineEnd(text, at));
    if (/^---(\s|$)/.test(line)) {
      documents += 1;
      isOpen = true;
      if (documents === 1) from = lineEnd(text, at);
    } else if (/^\.\.\.(\s|$)/.test(line)) {
      isOpen = false;
      to = Math.min(to, at);
    } else if (!isOpen && line.trim() !== "" && !/^\s*#|^%/.test(line)) {
      documents += 1;
      isOpen = true;
    }
  }
  return { from, to, documents };
}

function decodeKey(raw: string): string {
  if (raw.startsWith("'")) return raw.slice(1, -1).replaceAll("''", "'");
  return raw.startsWith('"') ? (Bun.YAML.parse(`- ${raw}`) as string[])[0]! : raw;
}

function withoutComment(rest: string): string {
  return rest.replace(/(^|\s)#.*$/s, "").trim();
}
