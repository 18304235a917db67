/** What the bytes of a collection's files are, by FORMAT.md: the places that damage is aimed at. */

/** A structure of a file. Regions may lie in each other, as the fields of a header do. */
export interface Region {
  what: string;
  at: number;
  bytes: number;
}

const BASE_SECTIONS: Record<number, string> = {
  1: "shape",
  2: "codes",
  3: "info",
  4: "vectors",
  5: "row",
  6: "partitions",
  7: "id ends",
  8: "ids",
  9: "metadata ends",
  10: "metadata",
  11: "text ends",
  12: "texts",
  15: "presence",
  16: "blocks",
  17: "coding",
  18: "squares",
  19: "lines",
  20: "levels",
  21: "runs",
  22: "times",
  23: "squares of partitions",
  24: "sums of vectors",
  25: "sums of metadata",
  26: "sums of texts",
  27: "sums of codes",
  29: "symbols",
  30: "symbols again",
  31: "sums",
};

const HISTORY_SECTIONS: Record<number, string> = { 1: "saves", 2: "changes", 3: "ids", 4: "rows", 5: "origins" };

type Field = readonly [name: string, at: number, bytes: number];

const HEADER: readonly Field[] = [
  ["magic", 0, 8],
  ["version", 8, 4],
  ["kind", 12, 4],
  ["sections", 16, 4],
  ["table crc", 20, 4],
  ["bytes", 24, 8],
  ["generation", 32, 8],
  ["base generation", 40, 8],
  ["reserved", 48, 12],
  ["crc", 60, 4],
];
const SECTION: readonly Field[] = [
  ["id", 0, 4],
  ["crc", 4, 4],
  ["offset", 8, 8],
  ["bytes", 16, 8],
  ["reserved", 24, 8],
];
const BLOCK: readonly Field[] = [
  ["magic", 0, 4],
  ["operations' crc", 4, 4],
  ["operations", 8, 8],
  ["bytes", 16, 8],
  ["generation", 24, 8],
  ["first row", 32, 8],
  ["time", 40, 8],
  ["reserved", 48, 12],
  ["crc", 60, 4],
];
const OPERATION: readonly Field[] = [
  ["kind", 0, 4],
  ["flags", 4, 4],
  ["row", 8, 8],
  ["replaced", 16, 8],
  ["updated", 24, 8],
  ["lengths", 32, 16],
  ["bytes of values", 48, 4],
  ["bytes of a vector without zeros", 52, 4],
  ["bytes", 56, 8],
];

/** The structures of a file by its name; of an unknown one the whole file. */
export function regionsOf(name: string, file: Buffer): Region[] {
  const whole = { what: "whole file", at: 0, bytes: file.length };
  if (name === "collection.json") return [whole, ...linesOf(file)];
  if (name === "id_map.npy") {
    return [whole, { what: "header", at: 0, bytes: 128 }, { what: "entries", at: 128, bytes: file.length - 128 }];
  }
  if (!name.endsWith(".slab")) return [whole];
  const header = [{ what: "header", at: 0, bytes: 64 }, ...fields("header", HEADER, 0)];
  return [whole, ...header, ...(name.startsWith("delta-") ? blocksOf(file) : sectionsOf(name, file))].filter(
    (region) => region.bytes > 0,
  );
}

function fields(of: string, all: readonly Field[], at: number): Region[] {
  return all.map(([name, offset, bytes]) => ({ what: `${of}: ${name}`, at: at + offset, bytes }));
}

/** Each key and value of the manifest, a line each, and what follows the object. */
function linesOf(file: Buffer): Region[] {
  const out: Region[] = [];
  let at = 0;
  for (const line of file.toString("latin1").split("\n")) {
    const key = /^\s*"([^"]+)": ?/.exec(line);
    if (key) {
      const [before, name] = [line.indexOf('"'), key[1]!];
      out.push({ what: `key ${name}`, at: at + before, bytes: name.length + 2 });
      out.push({ what: `value of ${name}`, at: at + key[0].length, bytes: line.length - key[0].length });
    } else if (line.length > 0) out.push({ what: line.trim() === "" ? "padding" : "a line", at, bytes: line.length });
    at += line.length + 1;
  }
  return out;
}

/** The section table and the sections of a base, IVF, lexical or history slab; their parts and the padding between them. */
function sectionsOf(name: string, file: Buffer): Region[] {
  const count = file.readUInt32LE(16);
  const out: Region[] = [{ what: "section table", at: 64, bytes: 32 * count }];
  let end = 64 + 32 * count;
  for (let i = 0; i < count; i++) {
    const entry = 64 + 32 * i;
    const id = file.readUInt32LE(entry);
    const [at, bytes] = [Number(file.readBigUInt64LE(entry + 8)), Number(file.readBigUInt64LE(entry + 16))];
    const what = sectionName(name, id);
    out.push(...fields(`table entry of ${what}`, SECTION, entry));
    if (at > end) out.push({ what: `padding before ${what}`, at: end, bytes: at - end });
    out.push({ what, at, bytes });
    const content = file.subarray(at, at + bytes);
    if (id === 1 && name.startsWith("lexical-")) out.push(...shifted(wordsOf(content), at));
    if (id === 1 && name.startsWith("ivf-")) out.push(...shifted(ivfOf(content), at));
    if (id === 1 && name.startsWith("base-")) out.push(...shifted(eighths("shape", content), at));
    end = at + bytes;
  }
  return out;
}

function sectionName(file: string, id: number): string {
  if (file.startsWith("history-") && id !== 31) return HISTORY_SECTIONS[id] ?? `section ${id}`;
  if (id !== 31 && !file.startsWith("base-")) return `section ${id}`;
  if (id >= 128) return `column ${id - 128} by value`;
  if (id >= 32) return `column ${Math.floor((id - 32) / 3)} ${["codes", "ends", "values"][(id - 32) % 3]}`;
  return BASE_SECTIONS[id] ?? `section ${id}`;
}

function shifted(regions: Region[], by: number): Region[] {
  return regions.map((region) => ({ ...region, at: region.at + by }));
}

/** A record of eight u64. */
function eighths(what: string, bytes: Buffer): Region[] {
  return Array.from({ length: bytes.length / 8 }, (_, i) => ({ what: `${what} ${i}`, at: 8 * i, bytes: 8 }));
}

/** The parts of a lexical index. */
export function wordsOf(index: Buffer): Region[] {
  const foot = index.length - 64;
  const number = (at: number) => Number(index.readBigUInt64LE(at));
  const [rows, terms, lists] = [number(16), number(foot + 8), number(foot + 16)];
  const lengths = Math.ceil((64 + lists) / 64) * 64;
  const fences = lengths + 4 * rows;
  const entries = fences + 8 * Math.ceil(terms / 64);
  const part = (what: string, at: number, end: number) => ({ what: `words: ${what}`, at, bytes: end - at });
  return [
    part("head", 0, 64),
    part("lists", 64, 64 + lists),
    part("lengths", lengths, fences),
    part("fences", fences, entries),
    part("entries", entries, foot),
    part("foot", foot, index.length),
  ];
}

/** The parts of an IVF index, with the arrays of its first one. */
function ivfOf(index: Buffer): Region[] {
  const [dim, parts] = [index.readUInt32LE(0), index.readUInt32LE(4)];
  const out = [
    { what: "ivf: head", at: 0, bytes: 64 },
    { what: "ivf: parts", at: 64, bytes: 64 * parts },
  ];
  if (parts === 0) return out;
  const nlist = index.readUInt32LE(64 + 4);
  let at = Number(index.readBigUInt64LE(64 + 16));
  const stride = Math.ceil(dim / 64) * 64;
  const arrays = { centroids: 4 * dim, norms: 4, rms: 4, most: 4, info: 16, codes: stride };
  for (const [what, each] of Object.entries(arrays)) {
    out.push({ what: `ivf: ${what}`, at, bytes: nlist * each });
    at += Math.ceil((nlist * each) / 64) * 64;
  }
  out.push({ what: "ivf: list starts", at, bytes: 8 * (nlist + 1) });
  return out;
}

/** Each block of a delta, with the fields and parts of its first and last operation. */
function blocksOf(file: Buffer): Region[] {
  const out: Region[] = [];
  for (let at = 64, n = 0; at + 64 <= file.length; n++) {
    const bytes = Number(file.readBigUInt64LE(at + 16));
    out.push({ what: `block ${n}`, at, bytes: 64 + bytes }, ...fields(`block ${n}`, BLOCK, at));
    const operations: number[] = [];
    const end = at + 64 + bytes;
    for (let op = at + 64; op + 64 <= end; op += Number(file.readBigUInt64LE(op + 56))) operations.push(op);
    for (const op of new Set([operations[0]!, operations.at(-1)!])) {
      const size = Number(file.readBigUInt64LE(op + 56));
      out.push({ what: `operation of block ${n}`, at: op, bytes: size }, ...fields("operation", OPERATION, op));
      const tail = [0, 4, 8, 12].map((i) => file.readUInt32LE(op + 32 + i));
      const values = file.readUInt32LE(op + 48);
      if (size > 64) out.push(...partsOf(op, size, tail, values));
    }
    at = end;
  }
  return out;
}

/** The parts after a put's fields: what precedes the id is the vector, how long it is depends on the collection. */
function partsOf(op: number, size: number, lengths: readonly number[], values: number): Region[] {
  const [id, metadata, text, terms] = lengths as [number, number, number, number];
  const behind = id + metadata + text + terms + values;
  const third = Math.floor((size - 64) / 3);
  return [
    { what: "operation: vector", at: op + 64, bytes: Math.max(1, Math.min(third, size - 64 - behind)) },
    {
      what: "operation: end",
      at: op + size - Math.min(size - 64, behind + 64),
      bytes: Math.min(size - 64, behind + 64),
    },
  ];
}
