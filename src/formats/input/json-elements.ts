/**
 * The elements of a JSON array one by one, so that a document of any length is read: what is held is one of them. A document
 * that is not an array is its only element, unless others follow it, as in JSON lines.
 */
import { isTooDeep, stringEnd } from "../../checks/depth.ts";
import { ValueError } from "../../errors.ts";
import { STDIO_LINE_BYTES_MAX } from "../../limits.ts";

const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const BOM = [0xef, 0xbb, 0xbf];
const decoder = new TextDecoder("utf-8", { fatal: true });

/** One element: its value, or what is wrong with it, after which the next one can be read. */
export type Element = { readonly at: string; readonly value: unknown } | { readonly error: ValueError };

/** Cuts a document into elements as its bytes come. */
export class JsonElements {
  private pieces: Uint8Array[] = [];
  private held = 0;
  private depth = 0;
  private isString = false;
  private isEscaped = false;
  private index = 0;
  /** Whether the document is an array; undefined before its first byte. */
  private isArray: boolean | undefined;
  private isEnded = false;
  private isOversize = false;
  private isStart = true;

  constructor(private readonly name: string) {}

  /** The elements that end in these bytes. */
  *push(chunk: Uint8Array): Generator<Element> {
    let start = 0;
    if (this.isStart && BOM.every((byte, i) => chunk[i] === byte)) start = BOM.length;
    this.isStart = false;
    for (let at = start; at < chunk.length && !this.isEnded; at++) {
      const byte = chunk[at]!;
      if (this.isString) {
        at = this.inString(chunk, at);
        continue;
      }
      if (byte === QUOTE) this.isString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (this.isArray === undefined) {
          this.isArray = byte === OPEN_ARRAY;
          if (this.isArray) {
            start = at + 1;
            continue;
          }
        }
        this.depth += 1;
      } else if (byte === CLOSE_OBJECT || (byte === CLOSE_ARRAY && this.depth > 0)) {
        this.depth -= 1;
        if (this.depth !== 0 || this.isArray) continue;
        this.hold(chunk.subarray(start, at + 1));
        start = at + 1;
        yield* this.taken(true);
      } else if (this.depth === 0 && this.isArray && (byte === COMMA || byte === CLOSE_ARRAY)) {
        this.hold(chunk.subarray(start, at));
        start = at + 1;
        yield* this.taken(byte === COMMA);
        if (byte === CLOSE_ARRAY) this.isEnded = true;
      }
    }
    this.hold(chunk.subarray(start));
  }

  /** The rest, at the end of the document. */
  *finish(): Generator<Element> {
    const rest = this.isOversize ? "…" : Buffer.concat(this.pieces).toString().trim();
    if (this.isArray === true && !this.isEnded) {
      yield { error: new ValueError(`${this.place()}: the file ends in the middle: it is cut short, get it again`) };
    } else if (this.isArray === true) {
      if (rest !== "") yield { error: new ValueError(`${this.name}: not JSON: something follows after its end`) };
    } else if (rest !== "" || this.index === 0) yield* this.taken(true);
  }

  /** The last byte of this string that is in the chunk. By indexOf, as most input is text. */
  private inString(chunk: Uint8Array, from: number): number {
    let start = this.isEscaped ? from + 1 : from;
    for (;;) {
      const end = chunk.indexOf(QUOTE, start);
      const stop = end < 0 ? chunk.length : end;
      let backslashes = 0;
      while (stop - 1 - backslashes >= start && chunk[stop - 1 - backslashes] === BACKSLASH) backslashes += 1;
      const isEscaped = backslashes % 2 === 1;
      this.isEscaped = end < 0 && isEscaped;
      if (end < 0) return chunk.length;
      if (!isEscaped) {
        this.isString = false;
        return end;
      }
      start = end + 1;
    }
  }

  private hold(piece: Uint8Array): void {
    if (this.held + piece.length > STDIO_LINE_BYTES_MAX) {
      this.isOversize = true;
      this.pieces = [];
    }
    if (this.isOversize || piece.length === 0) return;
    this.pieces.push(piece);
    this.held += piece.length;
  }

  /** The element that is held, if it is one: nothing is one in an array without any. */
  private *taken(isNeeded: boolean): Generator<Element> {
    const bytes = this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces, this.held);
    const { isOversize } = this;
    const at = this.place();
    this.pieces = [];
    this.held = 0;
    this.isOversize = false;
    this.depth = 0;
    if (!isNeeded && bytes.length < 100 && this.index === 0 && Buffer.from(bytes).toString().trim() === "") return;
    this.index += 1;
    if (isOversize) {
      yield { error: new ValueError(`${at} has more than ${STDIO_LINE_BYTES_MAX} bytes`, "limit") };
    } else if (isTooDeep(bytes)) {
      yield { error: new ValueError(`${at}: nested too deeply, or too many objects and arrays`) };
    } else yield parsed(bytes, at);
  }

  private place(): string {
    return this.isArray === false && this.index === 0 ? this.name : `${this.name}, [${this.index}]`;
  }
}

function parsed(bytes: Uint8Array, at: string): Element {
  try {
    return { at, value: JSON.parse(decoder.decode(bytes)) as unknown };
  } catch {
    return { error: new ValueError(`${at}: not JSON in UTF-8`) };
  }
}

/**
 * The names of the members at a depth, as far as the beginning of a document has them, each with the first character of its
 * value.
 */
export function memberNames(head: Uint8Array, depth: number): Map<string, string> {
  const names = new Map<string, string>();
  let at = 0;
  for (let open = 0; at < head.length; at++) {
    const byte = head[at];
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) open -= 1;
    else if (byte === QUOTE) {
      const end = stringEnd(head, at + 1);
      const after = /^\s*:\s*(.?)/s.exec(Buffer.from(head.subarray(end + 1, end + 17)).toString());
      if (open === depth && after) names.set(Buffer.from(head.subarray(at + 1, end)).toString(), after[1]!);
      at = end;
    }
  }
  return names;
}
