/** Lines on stderr about texts that a collection has already, or nearly. */
import type { SimilarTexts } from "../../../answers/similar.ts";
import type { SameTexts } from "../../../memory/requests.ts";
import { oneLine } from "../../terminal/output.ts";
import { showId } from "./text.ts";

/** Texts that are named. */
const NAMED_MAX = 3;

/** A line for each of the first ones, and how many more there are. */
export function noteSame({ duplicates = [], duplicates_omitted = 0, skipped = 0 }: SameTexts): string[] {
  const lines = duplicates.slice(0, NAMED_MAX).map(({ index, id, of }) => {
    const what = id === undefined ? "skipped" : `added as ${showId(id)}`;
    return `text ${index + 1} is the same as that of ${showId(of)}: ${what}`;
  });
  const others = duplicates.length - lines.length + duplicates_omitted;
  const isSkipped = skipped > 0 ? ` (${skipped} skipped in all)` : "";
  if (others > 0) lines.push(`and ${others} more ${others === 1 ? "text is" : "texts are"} there already${isSkipped}`);
  return lines;
}

/** A line for each text that a stored row nearly has. */
export function noteSimilar({ similar = [] }: SimilarTexts): string[] {
  return similar.map(
    ({ index, id, of, text }) => `text ${index + 1} (${showId(id)}) nearly repeats row ${showId(of)}: ${oneLine(text)}`,
  );
}
