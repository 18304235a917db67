/** What a window of a file is found by beside its text: the names that are defined in it. */
import { type Chunk, textOf } from "./chunk.ts";
import { grammarOf } from "./definitions/languages.ts";
import { definitionsIn } from "./definitions.ts";

/** The distinct names that each of a text's chunks defines; overlapping chunks share those of the lines they share. */
export function labelsOf(text: Uint8Array, language: string, chunks: readonly Chunk[]): string[][] {
  // Nothing is decoded for prose and data.
  const found = grammarOf(language) ? definitionsIn(textOf(text), language) : [];
  let first = 0;
  return chunks.map(({ startLine, endLine, piece = 0 }) => {
    while (first < found.length && found[first]!.line < startLine) first++;
    const names = new Set<string>();
    // Names are looked for where a line begins, so that later pieces of a long line have none.
    for (let at = first; piece === 0 && at < found.length && found[at]!.line <= endLine; at++)
      names.add(found[at]!.name);
    return [...names];
  });
}
