/** The way back from a change: noted with it, followed by the change that undoes it. */
import type { ClientSite, Note } from "./client.ts";
import { inverse, type Splice, spliced } from "./edit/edit.ts";
import { bytesFrom, type Text } from "./file.ts";
import { hashOf, readNote } from "./notes.ts";

/** What is read of a file that a change is planned for. */
export interface Before {
  readonly bytes: Uint8Array | undefined;
  readonly text: Text;
  /** The real file, behind links. */
  readonly target: string;
}

/** The note of a change that svc has not made before. */
export function noteOf(
  before: Uint8Array | undefined,
  after: Uint8Array,
  splices: readonly Splice[],
  containers: number,
): Note {
  const back = inverse(splices).map(({ at, removed, inserted }) => ({ at, removed: removed.length, inserted }));
  const isNew = before === undefined;
  return { isNew, before: hashOf(before), after: hashOf(after), back, containers, folders: [] };
}

/**
 * The note of what svc wrote before and changes now. Where the file is what that install left, and each change lies in
 * what it inserted, the way back is the same; else only what the install made is known.
 */
export function noteAfterUpdate(
  { bytes, target }: Before,
  site: ClientSite,
  name: string,
  splices: readonly Splice[],
  after: Uint8Array,
): Note | undefined {
  const note = readNote(site, target, name);
  if (!note) return undefined;
  const isInside = (splice: Splice, { at, removed }: Note["back"][number]) =>
    splice.at >= at && splice.at + splice.removed.length <= at + removed;
  const areInside = splices.every((splice) => note.back.some((one) => isInside(splice, one)));
  if (note.after !== hashOf(bytes)) return { ...note, after: "", back: [] };
  // Another install of svc has moved what this one inserted.
  if (!areInside) return { ...note, after: hashOf(after), back: [] };
  const grown = (some: readonly Splice[]) =>
    some.reduce((sum, { removed, inserted }) => sum + inserted.length - removed.length, 0);
  const back = note.back.map((one) => {
    const inside = splices.filter((splice) => isInside(splice, one));
    const before = splices.filter((splice) => splice.at < one.at && !inside.includes(splice));
    return { ...one, at: one.at + grown(before), removed: one.removed + grown(inside) };
  });
  return { ...note, after: hashOf(after), back };
}

/** The bytes from before an install; undefined where the file, or an entry of svc in it, was changed since. */
export function bytesBefore({ bytes, text }: Before, note: Note | undefined): Uint8Array | undefined {
  if (note === undefined || hashOf(bytes) !== note.after) return undefined;
  const back = note.back.map(({ at, removed, inserted }) => {
    return { at, removed: text.text.slice(at, at + removed), inserted };
  });
  const before = bytesFrom({ ...text, text: spliced(text.text, back) });
  return hashOf(before) === note.before ? before : undefined;
}
