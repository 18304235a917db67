/** Texts in a file, for processes that read them. Runs under Node.js and Bun. */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Ends each text; no text contains it. */
const END = "\0";

/** Writes texts one after another; returns their count and bytes. */
export function writeTexts(path: string, texts: Iterable<string>): { count: number; bytes: number } {
  const file = openSync(path, "w");
  let count = 0;
  let bytes = 0;
  for (const text of texts) {
    bytes += writeSync(file, text + END) - END.length;
    count++;
  }
  closeSync(file);
  return { count, bytes };
}

/** Reads texts, so many at a time. */
export function* textsOf(path: string, batch: number): Generator<string[]> {
  const bytes = readFileSync(path);
  let texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(END, at);
    texts.push(bytes.toString("utf8", at, end));
    at = end + 1;
    if (texts.length < batch) continue;
    yield texts;
    texts = [];
  }
  if (texts.length > 0) yield texts;
}
