/**
 * Cuts the texts of sources.ts into pieces, from clones that are at hand.
 *
 *   bun src/build/corpus/prior/pieces.ts CLONES OUT
 *
 * CLONES holds a clone of each repository as owner+name, bare or not. OUT gets a file for each group (a kind of
 * English, or another language) and source, named group.source.pieces; count.c says what is in it. The same clones give
 * the same bytes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Blob, listFiles, messages, openClone, readFiles } from "./clone.ts";
import { cutCode, cutLog, cutProse, isIn, takeWhole } from "./cut.ts";
import { read, toText } from "./markup.ts";
import type { Source } from "./source.ts";
import { SOURCES } from "./sources.ts";

/** Code of one repository: files enough, and no more than that of the others. */
const CODE_FILES_MAX = 220;
/** A paragraph that stands in this many files is part of the site, not of its texts. */
const BOILERPLATE = 4;
/** Languages with less text than this give no shares. */
const LANGUAGE_MIN = 400;
/** Talk repeats itself, and lists of requests are no paragraphs of one language: these are taken as they are. */
const AS_THEY_ARE = new Set(["pages", "turns", "utterances", "intents", "factbook", "speeches"]);

type ByLanguage = Map<string, string[]>;

const hash = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** The `count` items that a hash deals first: a sample that is the same every time. */
function sample<T>(items: T[], count: number, key: (item: T) => string): T[] {
  const keyed = items.map((item): [string, T] => [hash(key(item)), item]);
  keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return keyed.slice(0, count).map(([, item]) => item);
}

function append(map: ByLanguage, language: string, pieces: string[]): void {
  const all = map.get(language) ?? [];
  for (const piece of pieces) all.push(piece);
  map.set(language, all);
}

function wantedFiles(source: Source, blobs: Blob[]): Blob[] {
  const sorted = blobs.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return source.format === "code" ? sample(sorted, CODE_FILES_MAX, ({ path }) => path) : sorted;
}

function proseOf(source: Source, files: Iterable<{ path: string; bytes: Buffer }>): ByLanguage {
  const { format, states } = source;
  if (format === "code" || format === "log") throw new Error(`${format} is no prose`);
  const texts: { language: string; paragraphs: string[] }[] = [];
  const seen = new Map<string, number>();
  for (const { path, bytes } of files) {
    const language = source.language(path);
    if (!language || (states && !states.test(toText(bytes)))) continue;
    const paragraphs = read(format, bytes);
    texts.push({ language, paragraphs });
    for (const paragraph of new Set(paragraphs)) seen.set(paragraph, (seen.get(paragraph) ?? 0) + 1);
  }
  const result: ByLanguage = new Map();
  for (const { language, paragraphs } of texts) {
    const own = AS_THEY_ARE.has(format)
      ? paragraphs
      : paragraphs.filter((text) => seen.get(text)! < BOILERPLATE && isIn(language, text));
    const whole = format === "pages" || format === "utterances" || format === "intents";
    append(
      result,
      language,
      sample(whole ? takeWhole(own) : cutProse(own), source.perFile, (piece) => piece),
    );
  }
  return result;
}

/** Pieces of one clone, before the source's cap. */
function piecesOf(source: Source, clones: string, missing: string[]): ByLanguage {
  const clone = openClone(clones, source.repository, source.commit);
  if (source.format === "log") return new Map([["en", cutLog(messages(clone, source.cap))]]);
  const blobs = listFiles(clone, (path) => source.files.test(path) && !source.not?.test(path));
  const files = readFiles(clone, wantedFiles(source, blobs), missing);
  if (source.format !== "code") return proseOf(source, files);
  const result: ByLanguage = new Map();
  for (const { bytes } of files)
    append(
      result,
      "en",
      sample(cutCode(toText(bytes)), source.perFile, (piece) => piece),
    );
  return result;
}

/** As count.c reads it: each piece after its length in four bytes, low one first. */
function frame(pieces: string[]): Buffer {
  const parts = pieces.flatMap((piece) => {
    const text = Buffer.from(piece);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return [length, text];
  });
  return Buffer.concat(parts);
}

function main(clones: string, out: string): void {
  // Before the work begins: what is missing is not found out after some minutes of it.
  for (const { repository, commit } of SOURCES) openClone(clones, repository, commit);
  const files = new Map<string, string[]>();
  const sizes = new Map<string, number>();
  for (const source of SOURCES) {
    const missing: string[] = [];
    const said: string[] = [];
    for (const [language, pieces] of piecesOf(source, clones, missing)) {
      const kept = sample([...new Set(pieces)], source.cap, (piece) => piece);
      const group = language === "en" ? `en-${source.kind}` : language;
      append(files, `${group}.${source.name}.pieces`, kept);
      sizes.set(group, (sizes.get(group) ?? 0) + kept.length);
      said.push(`${language} ${kept.length}`);
    }
    if (missing.length > 0) said.push(`(${missing.length} files are not in the clone)`);
    console.log(`${source.repository} ${source.kind}: ${said.join(", ")}`);
  }
  mkdirSync(out, { recursive: true });
  for (const [name, pieces] of files) {
    const group = name.split(".")[0]!;
    if (sizes.get(group)! >= LANGUAGE_MIN && pieces.length > 0) writeFileSync(join(out, name), frame(pieces));
  }
}

if (import.meta.main) {
  const [clones, out] = process.argv.slice(2);
  if (!clones || !out) throw new Error("usage: pieces.ts CLONES OUT");
  try {
    main(clones, out);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
