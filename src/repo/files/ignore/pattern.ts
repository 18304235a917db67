/**
 * One pattern of an ignore file, as gitignore(5) describes it and as git behaves where that page is silent: bytes, not
 * characters, so that `?` is one byte of a UTF-8 name. Names and patterns are binary strings ({@link bytesOf}).
 *
 * Patterns are untrusted input. A regular expression made of `*a*a*a*b` tries every way to share a name among the
 * stars, so patterns are matched by a loop that remembers the last `*` and the last `**` only: an earlier one has
 * nothing to gain from another try, since `*` ends with its component and `**` takes anything. The time is at most the
 * pattern's length times the path's.
 */
import { type ByteSet, classAt, has } from "./classes.ts";

/** A compiled pattern. */
export interface Pattern {
  /** `!`: what it matches is not ignored. */
  negated: boolean;
  /** `foo/`: matches directories only. */
  directoryOnly: boolean;
  /** Matched against the path from the file's directory; otherwise against the name alone. */
  anchored: boolean;
  /** What the name or path begins with, byte for byte; all of it where `steps` is absent. */
  literal: string;
  /** `*literal`: the name ends with it. */
  isSuffix: boolean;
  /** What follows `literal`: bytes, and the numbers below. */
  steps?: Uint32Array;
  classes: readonly ByteSet[];
}

/** `?` */
const ONE = 256;
/** `*`: any bytes of one component. */
const STAR = 257;
/** `**` before an escaped slash or at the end: any bytes. */
const ANY = 258;
/** `**` with its slash: no folder, or any number of them. */
const FOLDERS = 259;
/** The first class; the others follow. */
const CLASS = 260;

const SPECIAL = /[*?[\\]/;
const SLASH = 0x2f;

/**
 * @param line one line of an ignore file as a binary string, without its line end
 * @param foldsCase `core.ignoreCase`: ASCII letters match in either case
 * @returns undefined for a comment, an empty line and a pattern that can match nothing
 */
export function compile(line: string, foldsCase: boolean): Pattern | undefined {
  if (line.startsWith("#")) return undefined;
  let body = withoutTrailingSpaces(line);
  const negated = body.startsWith("!");
  if (negated) body = body.slice(1);
  const directoryOnly = body.endsWith("/");
  if (directoryOnly) body = body.slice(0, -1);
  const anchored = body.includes("/");
  if (body.startsWith("/")) body = body.slice(1);
  // No path begins with a slash: one after the first never matches.
  if (body === "" || body.startsWith("/")) return undefined;
  const first = body.search(SPECIAL);
  const common = { negated, directoryOnly, anchored, classes: [] as ByteSet[], isSuffix: false };
  if (first === -1) return { ...common, literal: foldsCase ? folded(body) : body };
  if (!anchored && first === 0 && body[0] === "*" && !SPECIAL.test(body.slice(1))) {
    return { ...common, isSuffix: true, literal: foldsCase ? folded(body.slice(1)) : body.slice(1) };
  }
  // Git compares what comes before the first special character by itself: `**` after it stands at a beginning.
  const literal = foldsCase ? folded(body.slice(0, first)) : body.slice(0, first);
  const steps = stepsOf(body, first, anchored, foldsCase, common.classes);
  return steps && { ...common, literal, steps };
}

/** @returns undefined where the pattern cannot match: a class without an end, a lone backslash after it */
function stepsOf(
  body: string,
  start: number,
  anchored: boolean,
  foldsCase: boolean,
  classes: ByteSet[],
): Uint32Array | undefined {
  const steps: number[] = [];
  for (let at = start; at < body.length; at++) {
    const character = body[at]!;
    if (character === "?") steps.push(ONE);
    else if (character === "*") {
      const from = at;
      while (body[at + 1] === "*") at++;
      const step = anchored && at > from ? starsAt(body, start, from, at + 1) : STAR;
      if (step === FOLDERS) at++;
      steps.push(step);
    } else if (character === "[") {
      const found = classAt(body, at + 1, foldsCase);
      if (!found) return undefined;
      at = found.end;
      steps.push(CLASS + classes.length);
      classes.push(found.bytes);
    } else if (character === "\\") {
      if (++at === body.length) return undefined;
      // As it is: git folds the name but not an escaped character.
      steps.push(body.charCodeAt(at));
    } else steps.push((foldsCase ? folded(character) : character).charCodeAt(0));
  }
  return Uint32Array.from(steps);
}

/** What two stars or more are, from `from` to `to`: across folders only as a whole component. */
function starsAt(body: string, start: number, from: number, to: number): number {
  if (from !== start && body[from - 1] !== "/") return STAR;
  if (body[to] === "/") return FOLDERS;
  return to === body.length || body.startsWith("\\/", to) ? ANY : STAR;
}

/**
 * Whether a pattern matches, for a kind of entry that it may match.
 * @param path from the directory of the ignore file, a binary string, folded if the pattern is
 * @param nameAt where the last component of the path begins
 */
export function matches(pattern: Pattern, path: string, nameAt: number): boolean {
  const { literal, steps } = pattern;
  const from = pattern.anchored ? 0 : nameAt;
  if (pattern.isSuffix) return path.length - from >= literal.length && path.endsWith(literal);
  if (steps === undefined) return path.length - from === literal.length && path.startsWith(literal, from);
  return path.startsWith(literal, from) && run(steps, pattern.classes, path, from + literal.length);
}

function run(steps: Uint32Array, classes: readonly ByteSet[], path: string, from: number): boolean {
  let [step, at] = [0, from];
  /** After the last `*`, and where what it stands for ends. */
  let [star, starEnd] = [-1, 0];
  /** After the last `**`, and where what it stands for ends. */
  let [any, anyEnd, isFolders] = [-1, 0, false];
  for (;;) {
    if (step < steps.length) {
      const kind = steps[step]!;
      if (kind === FOLDERS || kind === ANY) {
        if (kind === ANY && step + 1 === steps.length) return true;
        [any, anyEnd, isFolders, star] = [++step, at, kind === FOLDERS, -1];
        continue;
      }
      if (kind === STAR) {
        if (step + 1 === steps.length && !path.includes("/", at)) return true;
        [star, starEnd] = [++step, at];
        continue;
      }
      if (at < path.length && takes(kind, path.charCodeAt(at), classes)) {
        step++;
        at++;
        continue;
      }
    } else if (at === path.length) return true;
    if (star >= 0 && starEnd < path.length && path.charCodeAt(starEnd) !== SLASH) {
      [step, at] = [star, ++starEnd];
    } else if (any >= 0 && anyEnd < path.length) {
      anyEnd = isFolders ? path.indexOf("/", anyEnd) + 1 : anyEnd + 1;
      if (anyEnd === 0) return false;
      [step, at, star] = [any, anyEnd, -1];
    } else return false;
  }
}

function takes(kind: number, byte: number, classes: readonly ByteSet[]): boolean {
  if (kind < ONE) return kind === byte;
  if (byte === SLASH) return false;
  return kind === ONE || has(classes[kind - CLASS]!, byte);
}

/** Spaces at the end do not count, unless the first of them is escaped; other blanks do. */
function withoutTrailingSpaces(line: string): string {
  if (!line.endsWith(" ")) return line;
  let spaces = -1;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === " ") {
      if (spaces === -1) spaces = at;
      continue;
    }
    spaces = -1;
    if (line[at] === "\\") at++;
  }
  return spaces === -1 ? line : line.slice(0, spaces);
}

/** ASCII letters in lower case. Not `toLowerCase`, which takes bytes of UTF-8 for letters. */
export function folded(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
}

/** A name or path as a binary string: a character for each byte of its UTF-8. */
export function bytesOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
  return /[^\x00-\x7f]/.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
}
