/** The turns beside hits of conversations, with the beginnings of their texts. */
import type { Neighbour, Neighbours } from "../answers/hits.ts";
import { cut } from "../answers/sizes.ts";
import type { Collection, Row } from "../store/collection.ts";

/** Bytes of a turn's text inside a JSON string: three lines. */
const TEXT_BYTES = 300;
/** Four bytes more than are shown, to see whether the text goes on. */
const TEXT_READ = TEXT_BYTES + 4;
/** Hits whose neighbours are read in one call: of thousands only a few may fit into the answer. */
const AT_ONCE = 64;

/** A reader of the neighbours of hits, the best first; undefined for a row that is not a turn. */
export function neighboursOf(
  collection: Pick<Collection, "neighbours">,
  hits: readonly Row[],
): (hit: Row) => Neighbours | undefined {
  const turns = hits.filter(isTurn);
  const places = new Map(turns.map((row, i) => [row, i]));
  const read = new Map<Row, Neighbours>();
  return (hit) => {
    const place = places.get(hit);
    if (place !== undefined && !read.has(hit)) {
      const some = turns.slice(place, place + AT_ONCE);
      const found = collection.neighbours(
        some.map(({ id }) => id),
        TEXT_READ,
      );
      for (const [i, { before, after }] of found.entries()) {
        read.set(some[i]!, { before: shown(before), after: shown(after) });
      }
    }
    return read.get(hit);
  };
}

/** Whether it may be a turn: the runtime reads no others. */
function isTurn({ metadata }: Row): boolean {
  return metadata?.session !== undefined;
}

function shown(turn: Row | undefined): Neighbour | undefined {
  if (turn === undefined) return undefined;
  const { id, text = "" } = turn;
  const short = cut(text, TEXT_BYTES);
  return short.length < text.length ? { id, text: short, truncated: true } : { id, text };
}
