/** Lists of parameters that go over lines: where they end, and what follows. Each look ahead is bounded. */
import { isNamePart, type Line, NEVER, RESERVED, type SignatureStyle } from "./grammar.ts";

/** How far a look ahead goes. Both bounds keep it linear: a line of a hostile file costs this many lines at most. */
const AHEAD_LINES = 16;
const AHEAD_CHARS = 1500;

const [TAB, NEWLINE, RETURN, SPACE] = [9, 10, 13, 32];
const [QUOTE, APOSTROPHE, OPEN, CLOSE, BACKTICK] = [34, 39, 40, 41, 96];

/** The place after the parenthesis that closes the one at `open`; -1 where none does within the bounds. */
export function closing(text: string, open: number): number {
  const last = Math.min(text.length, open + AHEAD_CHARS);
  let [depth, lines] = [0, 0];
  for (let at = open; at < last; at++) {
    const unit = text.charCodeAt(at);
    if (unit === OPEN) depth++;
    else if (unit === CLOSE) {
      if (--depth === 0) return at + 1;
    } else if (unit === NEWLINE) {
      if (++lines > AHEAD_LINES) return -1;
    } else if (unit === QUOTE || unit === APOSTROPHE || unit === BACKTICK) at = pastString(text, at, last);
  }
  return -1;
}

/** The end of a string that closes on its line, otherwise its first quote: an apostrophe in a comment opens nothing. */
function pastString(text: string, from: number, last: number): number {
  const quote = text.charCodeAt(from);
  for (let at = from + 1; at < last; at++) {
    const unit = text.charCodeAt(at);
    if (unit === quote) return at;
    if (unit === NEWLINE) return from;
    if (unit === 92) at++;
  }
  return from;
}

/** The first place from `from` that is not blank, over at most two line ends. */
export function pastBlank(text: string, from: number): number {
  const last = Math.min(text.length, from + AHEAD_CHARS);
  let lines = 0;
  for (let at = from; at < last; at++) {
    const unit = text.charCodeAt(at);
    if (unit === NEWLINE) {
      if (++lines > 2) return at;
    } else if (unit !== SPACE && unit !== TAB && unit !== RETURN) return at;
  }
  return last;
}

/** How much of what follows the parameters is looked at: a `throws` or `where` clause. */
const AFTER_CHARS = 240;

/** Words that cannot stand before the name in a definition: what follows them is an expression. */
const EXPRESSION = new Set(
  (
    "return new throw else case goto delete await yield in is as do typedef using assert co_return co_await " +
    "co_yield namespace import package if while for switch sizeof not and or define ifdef ifndef elif undef"
  ).split(" "),
);

const TYPE_CHARS = /^[\w$\s*&:<>,.?[\]@\u0080-\uffff-]*$/;
const TYPE_LINE = /^[A-Za-z_][\w \t*&:<>,]*$/;
const WORD = /[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*/g;
const LINE_START = /^[A-Za-z_$<*\u0080-\uffff]/;
const NAME_START = /^[A-Za-z_$\u0080-\uffff]/;

/** A function's or method's name, where the line begins its definition: `type name(parameters) {`. */
export function signatureName(line: Line, style: SignatureStyle, seen: ReadonlySet<string>): string | undefined {
  const { head, text, first } = line;
  if (!LINE_START.test(head)) return undefined;
  let open = head.indexOf("(");
  let from = 0;
  // At most one macro with arguments may precede the type: `EXPORT(int) name(`.
  for (let tries = 0; open > 0 && tries < 2; tries++) {
    const found = nameBefore(head, from, open);
    const after = found && afterOf(line, found, style, seen);
    if (after === undefined) return undefined;
    const close = closing(text, first + open);
    if (close === -1) return undefined;
    const next = pastBlank(text, close);
    const rest = text.slice(next, next + AFTER_CHARS);
    if (after?.test(rest)) return found!.name;
    if (close >= line.end || !/^[\w*]/.test(rest)) return undefined;
    from = close - first;
    open = head.indexOf("(", from);
  }
  return undefined;
}

interface NameBefore {
  name: string;
  before: string;
}

/** The name before the parenthesis at `open`, over the arguments of a template, and what precedes the name. */
function nameBefore(head: string, from: number, open: number): NameBefore | undefined {
  let end = open;
  while (end > 0 && isBlank(head.charCodeAt(end - 1))) end--;
  if (head[end - 1] === ">") {
    end = head.lastIndexOf("<", end);
    while (end > 0 && isBlank(head.charCodeAt(end - 1))) end--;
  }
  let start = end;
  while (start > from && isNamePart(head.charCodeAt(start - 1))) start--;
  const name = head.slice(start, Math.max(start, end));
  if (!NAME_START.test(name) || RESERVED.has(name) || NEVER.has(name)) return undefined;
  return { name, before: head.slice(from, start) };
}

/** What must follow the parameters for a definition; null where nothing makes it one, undefined for an expression. */
function afterOf(line: Line, found: NameBefore, style: SignatureStyle, seen: ReadonlySet<string>) {
  const { name, before } = found;
  if (before === "" && line.indent > 0 && style.topWithoutType && !seen.has(name)) return undefined;
  if (!TYPE_CHARS.test(before) || /[,~]$|->$/.test(before)) return undefined;
  if (before.endsWith(".") && !(style.dotted && /[ \t]/.test(before))) return undefined;
  const words = before.match(WORD) ?? [];
  if (words.some((word) => EXPRESSION.has(word))) return undefined;
  const scoped = before.endsWith("::");
  const isTyped = scoped ? /[\s*&>]/.test(before.trimEnd()) : words.some((word) => !style.modifiers.has(word));
  if (isTyped) return style.after;
  if (scoped || words.length > 0 || seen.has(name)) return style.afterBare;
  if (!style.topWithoutType) return /^[A-Z].*[a-z]/.test(name) ? style.afterBare : null;
  return line.indent === 0 && (/[a-z]/.test(name) || typeAbove(line)) ? style.afterBare : null;
}

/** Whether the line above is a type by itself, as GNU projects write it. */
function typeAbove({ text, first }: Line): boolean {
  const end = first - 1;
  const start = text.lastIndexOf("\n", end - 1) + 1;
  return end > start && end - start < 100 && TYPE_LINE.test(text.slice(start, end).trimEnd());
}

function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB;
}
