/**
 * Decodes the packed results of libty_runtime: `ty_record`, `ty_save_record`, `ty_change_record`, `ty_term`,
 * `ty_replacement`, `ty_weight`, `ty_partition` and `ty_damage` in ty_runtime.h.
 */

const ABSENT = 0xffff_ffff;
const RECORD_BYTES = 48;
const TIMES_BYTES = 16;
const SCORES_BYTES = 24;
const TERM_BYTES = 32;
const REPLACEMENT_BYTES = 16;
const WEIGHT_BYTES = 16;
const PARTITION_BYTES = 40;
const DAMAGE_BYTES = 264;
const SAVE_BYTES = 40;
const CHANGE_BYTES = 16;

/** What a damaged place belongs to, in the order of `ty_part`, which begins with 1. */
export const PARTS = [
  "base",
  "codes",
  "vectors",
  "texts",
  "metadata",
  "filter",
  "ivf",
  "words",
  "delta",
  "id_map",
  "manifest",
  "meaning",
  "history",
] as const;

/** A damaged place in a file of a collection. */
export interface Damage {
  part: (typeof PARTS)[number];
  /** The section of a slab (FORMAT.md); 0 of other files. */
  section: number;
  /** In the file's directory. */
  file: string;
  /** In the file, in bytes. */
  offset: number;
  bytes: number;
  /** The rows concerned: the position of the first in the base, and how many; 0 where it is not of rows. */
  first: number;
  rows: number;
  /** What is wrong, as a clause. */
  what: string;
}

/** One query term's share in a lexical score. */
export interface TermShare {
  term: string;
  tf: number;
  idf: number;
  share: number;
  /** The query's word that the term stands for, if it is not the query's own. */
  instead: string | undefined;
}

/** A word of a query that the rows lack, and the words that were searched for in its place, the most frequent first. */
export interface Replacement {
  word: string;
  partners: string[];
}

/** What a term of a query's text weighs. */
export interface TermWeight {
  /** As `termsOf` has it. */
  hash: number;
  /** Whether a row has it, of those whose statistics weigh the query: the partition's under a filter on its key. */
  known: boolean;
  /** Its rarity among those rows times the worth of the word; of a term that they lack as rare as can be. */
  weight: number;
}

/** What an answer's records carry beside the id: `TY_WITH_*`, to be added up. */
export const With = {
  META: 1,
  TEXT: 2,
  VECTOR: 4,
  EXPLAIN: 8,
  SCORES: 16,
  TIMES: 32,
  ALL: 64,
  WEIGHTS: 128,
  NEWER: 256,
} as const;

/** When a row was put, in milliseconds since 1970. */
export interface RowTimes {
  /** When its id became live. */
  created: number;
  /** When the row was put, by an add, an upsert or an update. */
  updated: number;
}

/** One row of a result; parts not requested or not stored are undefined. */
export interface RowRecord {
  id: string;
  /** Order of insertion; a replacement keeps its predecessor's. Compaction keeps the order, not the numbers. */
  birth: number;
  score: number;
  found: boolean;
  /** JSON as stored. */
  meta: string | undefined;
  text: string | undefined;
  vector: Float32Array | undefined;
  terms: TermShare[] | undefined;
  /** The row's score in each ranking; NaN where that does not list it. */
  scores: { vector: number; words: number; meaning?: number } | undefined;
  times: RowTimes | undefined;
}

/** A save of the history. */
export interface SaveRecord {
  /** Its number: the generation that it made. */
  save: number;
  /** Milliseconds since 1970. */
  time: number;
  /** The index of its first change. */
  first: number;
  /** Ids. */
  added: number;
  replaced: number;
  deleted: number;
  /** JSON as it was saved; empty where it is not known. */
  origin: string;
}

/** What a save did to an id: `TY_CHANGE_...`, from 1 on. */
export const CHANGES = ["added", "replaced", "deleted"] as const;
export type ChangeKind = (typeof CHANGES)[number];

/** A change of a save. */
export interface ChangeRecord {
  index: number;
  kind: ChangeKind;
  /** Its origin is empty unless that was asked for. */
  save: SaveRecord;
  /** The row before it; not `found` where it was added, or is damaged. */
  row: RowRecord;
}

/** A partition of a collection. */
export interface PartitionInfo {
  /** The encoded value of the partition key. */
  key: Uint8Array;
  rows: number;
  nlist: number;
  nprobe: number;
  /** Mean squared distance of rows to their lists' centroids, relative to when those were made; 0 without an index. */
  drift: number;
}

function padded(bytes: number): number {
  return (bytes + 7) & ~7;
}

/** Decodes `count` records with `what` was requested; the answer's bytes may be reused afterwards. */
export function decodeRecords(answer: Uint8Array, count: number, what: number): RowRecord[] {
  return decodeRows(answer, count, what).rows;
}

/**
 * The same with the `replaced` words after the records, and at the end the `weights`. With `isMany` the indices of the
 * rows' collections lie after the records.
 */
export function decodeAnswer(
  answer: Uint8Array,
  count: number,
  what: number,
  replaced: number,
  weights: number,
  isMany = false,
): { rows: RowRecord[]; replaced: Replacement[]; weights: TermWeight[]; places: number[] } {
  const { rows, end } = decodeRows(answer, count, what);
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  const rest = isMany ? end + padded(4 * count) : end;
  return {
    rows,
    replaced: replaced === 0 ? [] : decodeReplacements(answer.subarray(rest), replaced),
    weights: weights === 0 ? [] : decodeWeights(answer.subarray(answer.byteLength - weights * WEIGHT_BYTES)),
    places: isMany ? rows.map((_, i) => view.getUint32(end + 4 * i, true)) : [],
  };
}

/** Decodes saves. */
export function decodeSaves(answer: Uint8Array, count: number): SaveRecord[] {
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  const saves: SaveRecord[] = [];
  for (let i = 0, at = 0; i < count; i++) {
    const { save, bytes } = decodeSave(view, at);
    saves.push(save);
    at += bytes;
  }
  return saves;
}

function decodeSave(view: DataView, at: number): { save: SaveRecord; bytes: number } {
  const [save, time, first] = [0, 8, 16].map((field) => readCount(view, at + field));
  const [added, replaced, deleted, bytes] = [24, 28, 32, 36].map((field) => view.getUint32(at + field, true));
  const origin = Buffer.from(view.buffer, view.byteOffset + at + SAVE_BYTES, bytes!).toString("utf8");
  const record = {
    save: save!,
    time: time!,
    first: first!,
    added: added!,
    replaced: replaced!,
    deleted: deleted!,
    origin,
  };
  return { save: record, bytes: SAVE_BYTES + padded(bytes!) };
}

/** Decodes changes, with the rows before them as `what` was requested. */
export function decodeChanges(answer: Uint8Array, count: number, what: number): ChangeRecord[] {
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  const heads: Omit<ChangeRecord, "row">[] = [];
  const { rows } = decodeRows(answer, count, what, (at) => {
    const [index, kind] = [0, 8].map((field) => readCount(view, at + field));
    const { save, bytes } = decodeSave(view, at + CHANGE_BYTES);
    heads.push({ index: index!, kind: CHANGES[kind! - 1]!, save });
    return CHANGE_BYTES + bytes;
  });
  return rows.map((row, i) => ({ ...heads[i]!, row }));
}

/**
 * Records from the beginning of an answer, and where they end.
 * @param head reads what stands before each record, and returns its bytes
 */
function decodeRows(
  answer: Uint8Array,
  count: number,
  what: number,
  head?: (at: number) => number,
): { rows: RowRecord[]; end: number } {
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  const text = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  const rows: RowRecord[] = new Array(count);
  let at = 0;
  const take = (bytes: number): string => {
    const value = text.toString("utf8", at, at + bytes);
    at += padded(bytes);
    return value;
  };
  for (let i = 0; i < count; i++) {
    if (head) at += head(at);
    // A bigint for each row would take a tenth of the time.
    const birth = readCount(view, at + 8);
    const score = view.getFloat64(at + 16, true);
    const idBytes = view.getUint32(at + 24, true);
    const metaBytes = view.getUint32(at + 28, true);
    const textBytes = view.getUint32(at + 32, true);
    const vectorBytes = view.getUint32(at + 36, true);
    const extraBytes = view.getUint32(at + 40, true);
    const found = view.getUint32(at + 44, true) === 1;
    at += RECORD_BYTES;
    const id = take(idBytes);
    const meta = metaBytes === ABSENT ? undefined : take(metaBytes);
    const body = textBytes === ABSENT ? undefined : take(textBytes);
    let vector: Float32Array | undefined;
    if (vectorBytes > 0) {
      vector = new Float32Array(answer.slice(at, at + vectorBytes).buffer);
      at += padded(vectorBytes);
    }
    const end = at + padded(extraBytes);
    let times: RowTimes | undefined;
    if (found && what & With.TIMES) {
      times = { created: readCount(view, at), updated: readCount(view, at + 8) };
      at += TIMES_BYTES;
    }
    let scores: RowRecord["scores"];
    if (what & With.SCORES) {
      const [vector, words, meaning] = [0, 8, 16].map((offset) => view.getFloat64(at + offset, true));
      scores = { vector: vector!, words: words!, meaning: meaning! };
      at += SCORES_BYTES;
    }
    const terms = at < end ? decodeTerms(view, text, at, end) : undefined;
    at = end;
    rows[i] = { id, birth, score, found, meta, text: body, vector, terms, scores, times };
  }
  return { rows, end: at };
}

/** Partners of one word follow each other. */
function decodeReplacements(bytes: Uint8Array, count: number): Replacement[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const replaced: Replacement[] = [];
  let last: number | undefined;
  for (let i = 0, at = 0; i < count; i++) {
    const number = view.getUint32(at, true);
    const wordEnd = at + REPLACEMENT_BYTES + view.getUint32(at + 4, true);
    const end = wordEnd + view.getUint32(at + 8, true);
    if (end > bytes.byteLength) throw new RangeError("a replaced word reaches beyond the answer");
    if (number !== last) replaced.push({ word: text.toString("utf8", at + REPLACEMENT_BYTES, wordEnd), partners: [] });
    replaced.at(-1)!.partners.push(text.toString("utf8", wordEnd, end));
    last = number;
    at += REPLACEMENT_BYTES + padded(end - at - REPLACEMENT_BYTES);
  }
  return replaced;
}

function decodeWeights(bytes: Uint8Array): TermWeight[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / WEIGHT_BYTES }, (_, i) => ({
    hash: view.getUint32(i * WEIGHT_BYTES, true),
    known: view.getUint32(i * WEIGHT_BYTES + 4, true) === 1,
    weight: view.getFloat64(i * WEIGHT_BYTES + 8, true),
  }));
}

/** A u64 below 2^53. */
function readCount(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

function decodeTerms(view: DataView, text: Buffer, start: number, end: number): TermShare[] {
  const terms: TermShare[] = [];
  for (let at = start; at < end; ) {
    const termEnd = at + TERM_BYTES + view.getUint32(at + 20, true);
    const insteadBytes = view.getUint32(at + 24, true);
    terms.push({
      term: text.toString("utf8", at + TERM_BYTES, termEnd),
      tf: view.getUint32(at + 16, true),
      idf: view.getFloat64(at + 8, true),
      share: view.getFloat64(at, true),
      instead: insteadBytes === 0 ? undefined : text.toString("utf8", termEnd, termEnd + insteadBytes),
    });
    at += TERM_BYTES + padded(termEnd - at - TERM_BYTES + insteadBytes);
  }
  return terms;
}

/** Decodes `count` partitions. */
export function decodePartitions(answer: Uint8Array, count: number): PartitionInfo[] {
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  const partitions: PartitionInfo[] = [];
  for (let i = 0, at = 0; i < count; i++) {
    const [rows, nlist, nprobe, keyBytes] = [0, 8, 16, 32].map((field) => Number(view.getBigUint64(at + field, true)));
    const drift = view.getFloat64(at + 24, true);
    at += PARTITION_BYTES;
    partitions.push({ rows: rows!, nlist: nlist!, nprobe: nprobe!, drift, key: answer.slice(at, at + keyBytes!) });
    at += padded(keyBytes!);
  }
  return partitions;
}

/** Decodes the damaged places of a collection. */
export function decodeDamages(answer: Uint8Array): Damage[] {
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  const text = (at: number, bytes: number) => {
    const part = answer.subarray(at, at + bytes);
    return new TextDecoder().decode(part.subarray(0, part.indexOf(0)));
  };
  return Array.from({ length: answer.byteLength / DAMAGE_BYTES }, (_, i) => {
    const at = i * DAMAGE_BYTES;
    const [offset, bytes, first, rows] = [8, 16, 24, 32].map((field) => readCount(view, at + field));
    return {
      part: PARTS[view.getUint32(at, true) - 1]!,
      section: view.getUint32(at + 4, true),
      file: text(at + 40, 64),
      offset: offset!,
      bytes: bytes!,
      first: first!,
      rows: rows!,
      what: text(at + 104, 160),
    };
  });
}
