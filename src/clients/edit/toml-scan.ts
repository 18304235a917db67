/** Where the tables and pairs of a TOML text lie. The text has been parsed: what is scanned here is valid. */

/** A key and its value. Offsets count UTF-16 units. */
export interface Pair {
  readonly keys: readonly string[];
  /** Where the key begins, and where the value does and ends. */
  readonly at: number;
  readonly valueAt: number;
  readonly end: number;
}

/** A table: `[keys]` with what follows up to the next one; the first has no header, and no keys. */
export interface Table {
  readonly keys: readonly string[];
  /** `[[keys]]`. */
  readonly isArray: boolean;
  /** Where the header's bracket is. */
  readonly at: number;
  /** Where its header ends, or its last pair; comments that follow belong to no table. */
  end: number;
  readonly pairs: Pair[];
}

/** The tables of a text in order, the root first. */
export function tablesOf(text: string): Table[] {
  let table: Table = { keys: [], isArray: false, at: 0, end: 0, pairs: [] };
  const tables = [table];
  for (let at = skipBlank(text, 0); at < text.length; at = skipBlank(text, at)) {
    if (text[at] === "[") {
      const isArray = text[at + 1] === "[";
      const { keys, end } = keysAt(text, at + (isArray ? 2 : 1));
      const close = end + (isArray ? 2 : 1);
      table = { keys, isArray, at, end: close, pairs: [] };
      tables.push(table);
      at = close;
    } else {
      const { keys, end } = keysAt(text, at);
      const valueAt = skipSpaces(text, end + 1);
      const valueEnd = skipValue(text, valueAt);
      table.pairs.push({ keys, at, valueAt, end: valueEnd });
      table.end = valueEnd;
      at = valueEnd;
    }
  }
  return tables;
}

/** Dotted keys, and the offset of the `=` or `]` after them. */
function keysAt(text: string, from: number): { keys: string[]; end: number } {
  const keys: string[] = [];
  for (let at = from; ; at += 1) {
    at = skipSpaces(text, at);
    const start = at;
    const quote = text[at];
    at = quote === '"' || quote === "'" ? skipString(text, at) : skipBareKey(text, at);
    keys.push(decodeKey(text.slice(start, at)));
    at = skipSpaces(text, at);
    if (text[at] !== ".") return { keys, end: at };
  }
}

function skipBareKey(text: string, from: number): number {
  let at = from;
  while (at < text.length && /[\w-]/.test(text[at]!)) at += 1;
  return at;
}

function decodeKey(raw: string): string {
  if (raw.startsWith("'")) return raw.slice(1, -1);
  return raw.startsWith('"') ? (Bun.TOML.parse(`key = ${raw}`) as { key: string }).key : raw;
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t") at += 1;
  return at;
}

/** After white space, line breaks and comments. */
function skipBlank(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at += 1) {
    if (text[at] === "#") at = endOfLine(text, at);
    else if (!/\s/.test(text[at]!)) break;
  }
  return Math.min(at, text.length);
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** After a string of any of the four kinds. */
function skipString(text: string, from: number): number {
  const quote = text[from]!;
  const fence = quote.repeat(3);
  const isLong = text.startsWith(fence, from);
  let at = from + (isLong ? 3 : 1);
  while (at < text.length) {
    if (quote === '"' && text[at] === "\\") at += 2;
    else if (!isLong && text[at] === quote) return at + 1;
    else if (isLong && text.startsWith(fence, at)) {
      // Up to two quotes may stand before the closing three.
      at += 3;
      while (text[at] === quote) at += 1;
      return at;
    } else at += 1;
  }
  return at;
}

/** After a value: a string, an array or inline table with everything in it, or a bare word. */
function skipValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const unit = text[at]!;
    if (unit === '"' || unit === "'") at = skipString(text, at);
    else if (unit === "[" || unit === "{") {
      depth += 1;
      at += 1;
    } else if (unit === "]" || unit === "}") {
      depth -= 1;
      at += 1;
    } else if (depth > 0) {
      at = unit === "#" ? endOfLine(text, at) : at + 1;
      continue;
    } else {
      // A date and its time may be parted by a space.
      return at + /^[^\s#,]+(?: \d\d:[^\s#]*)?/.exec(text.slice(at, at + 400))![0].length;
    }
    if (depth === 0) return at;
  }
  return text.length;
}
