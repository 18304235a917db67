/** What a walk of a folder tree reports: `ty_tree_event` of ty_runtime/ty_runtime.h. */

/** What a walk reports: `TY_TREE_NEW` and others. */
export const TreeEventKind = { NEW: 1, CHANGED: 2, GONE: 3, UNREADABLE: 4 } as const;
export type TreeEventKindCode = (typeof TreeEventKind)[keyof typeof TreeEventKind];

/** Types of entries; UNKNOWN: gone before it was ever seen, or a file system that does not say. */
export const EntryType = { UNKNOWN: 0, FILE: 1, DIRECTORY: 2, LINK: 3, OTHER: 4 } as const;
export type EntryTypeCode = (typeof EntryType)[keyof typeof EntryType];

/** What was found of one entry. */
export interface TreeEvent {
  kind: TreeEventKindCode;
  /** Of what is gone: as it was last seen. */
  type: EntryTypeCode;
  path: string;
  /** Bytes; 0 of what is gone or unreadable, as the next two. */
  size: number;
  /** An integer below 2^53 that another edit makes another one; it may be stored. */
  mark: number;
  /** The later of the times of content and inode, in whole milliseconds since 1970. */
  changedMs: number;
  /** A folder of another file system than its parent's. */
  deviceChanged: boolean;
  /** Why it is unreadable, else 0. */
  errno: number;
}

const EVENT_BYTES = 48;

/** Decodes `count` records of `ty_tree_event` after `into`; without bigints. */
export function decodeEvents(bytes: Uint8Array, count: number, into: TreeEvent[]): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0, at = 0; i < count; i++) {
    const pathAt = at + EVENT_BYTES;
    into.push({
      kind: view.getUint32(at, true) as TreeEventKindCode,
      type: view.getUint32(at + 4, true) as EntryTypeCode,
      path: text.toString("utf8", pathAt, pathAt + view.getUint32(at + 40, true)),
      size: view.getFloat64(at + 8, true),
      mark: view.getFloat64(at + 16, true),
      changedMs: view.getFloat64(at + 24, true),
      deviceChanged: view.getUint32(at + 32, true) === 1,
      errno: view.getInt32(at + 36, true),
    });
    at += view.getUint32(at + 44, true);
  }
}
