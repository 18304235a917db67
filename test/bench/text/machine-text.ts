/** Text files of this machine, cut into passages, so that no text has to be shipped for the benchmark. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { random } from "../../random.ts";

/** Folders with text on most machines, and this checkout's installed packages. */
export const ROOTS = ["/usr/share", "/usr/lib", join(import.meta.dir, "../../../node_modules")];

/** Bytes of a passage: the first line end after so many ends it. */
const PASSAGE = 1285;
/** A shorter rest of a file is left out. */
const REST = 600;
/** Most bytes of one file, so that none is a large part of all. */
const FILE_MAX = 512 * 1024;
/** Lines longer than this are data or minified code. */
const LINE_MAX = 1000;
const SEED = 20;

const [TAB, NEWLINE, BLANK] = [9, 10, 32];

/** Files below a folder in sorted order; links are not followed, and what cannot be read is passed over. */
export function filesBelow(root: string): string[] {
  const found: string[] = [];
  const entries = (() => {
    try {
      return readdirSync(root, { withFileTypes: true });
    } catch {
      return [];
    }
  })();
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) found.push(...filesBelow(path));
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

/** Items in an order that a seed decides. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const next = random(seed);
  const all = [...items];
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1));
    [all[last], all[other]] = [all[other]!, all[last]!];
  }
  return all;
}

/** The beginning of a file as text; undefined where it is binary, not UTF-8, or cannot be read. */
export function readableText(path: string): string | undefined {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(FILE_MAX);
      const head = readSync(file, bytes, 0, 4096, 0);
      if (bytes.subarray(0, head).includes(0)) return undefined;
      const whole = head < 4096 ? head : head + readSync(file, bytes, head, FILE_MAX - head, head);
      const part = bytes.subarray(0, whole);
      if (part.includes(0)) return undefined;
      // A character cut at the end does not make the file invalid.
      return new TextDecoder("utf-8", { fatal: true }).decode(part, { stream: true });
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

/** A text in passages that end at line ends. */
export function passagesOf(text: string): string[] {
  const found: string[] = [];
  let passage = "";
  for (const line of text.split("\n")) {
    if (line.length > LINE_MAX) continue;
    passage += `${line}\n`;
    if (passage.length < PASSAGE) continue;
    found.push(passage);
    passage = "";
  }
  if (passage.length >= REST) found.push(passage);
  return found.filter(isText);
}

/** Whether a passage is mostly words, unlike tables of numbers and encoded bytes. */
function isText(passage: string): boolean {
  let letters = 0;
  let blanks = 0;
  for (let i = 0; i < passage.length; i++) {
    const unit = passage.charCodeAt(i);
    if (unit === BLANK || unit === NEWLINE || unit === TAB) blanks++;
    else if ((unit | 32) >= 97 && ((unit | 32) <= 122 || unit > 127)) letters++;
  }
  return letters > passage.length / 2 && blanks > passage.length / 10;
}

/** Up to `count` different passages, the same on every run while the files are. */
export function* machinePassages(count: number, roots: readonly string[] = ROOTS): Generator<string> {
  const seen = new Set<number | bigint>();
  for (const file of shuffled(roots.flatMap(filesBelow), SEED)) {
    for (const passage of passagesOf(readableText(file) ?? "")) {
      const hash = Bun.hash(passage);
      if (seen.has(hash)) continue;
      if (seen.size === count) return;
      seen.add(hash);
      yield passage;
    }
  }
}

const COMMON = new Set(["the", "of", "and", "to", "a", "in", "is", "that", "for", "it"]);
/** The ten words above are a quarter of English prose. */
const ENGLISH = 0.15;

/** Whether a passage is English prose, by the share of its commonest words. */
export function isEnglish(passage: string): boolean {
  const words = passage.toLowerCase().match(/\p{L}+/gu) ?? [];
  return words.filter((word) => COMMON.has(word)).length >= words.length * ENGLISH;
}
