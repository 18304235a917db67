/**
 * The vocabulary as ffi/ame_kernel/encode/tokens.c reads it in place: a tree of pieces over classes of characters, and
 * what NFKC does to characters that matter to a piece.
 */
import { BuildError } from "../step.ts";
import type { Piece } from "./weights.ts";

/** Pieces before this one are not found in texts. */
const RESERVED = 6;
const CLASSES = 256;
/** Places of the tree in a row that are tried for a node; more make it a little smaller. */
const TRIES = 200;
/** A piece without a probability is possible, and less likely than all others. */
const NO_SCORE = -30;

export interface Vocabulary {
  /** 2^24 times each piece's score. */
  scores: Int32Array;
  /** The characters of all pieces, ascending; the class of one is its place + 1. */
  chars: Uint32Array;
  /** Eight bytes a node: base, piece (16 bits), label (8), 0. */
  nodes: Uint8Array;
  /** Eight bytes a character that NFKC replaces: the character, where its replacement is (16 bits), its length (16). */
  forms: Uint8Array;
  formChars: Uint32Array;
  /** Three numbers each: two characters and the one that NFKC makes of them, ascending. */
  pairs: Uint32Array;
}

export function makeVocabulary(pieces: readonly Piece[]): Vocabulary {
  const found = pieces.map(([text], id) => ({ id, symbols: codePoints(text) })).slice(RESERVED);
  const chars = Uint32Array.from(new Set(found.flatMap(({ symbols }) => symbols))).sort();
  if (chars.length >= CLASSES) throw new BuildError(`the vocabulary has ${chars.length} characters, too many`);
  const classOf = new Map(Array.from(chars, (char, place) => [char, place + 1]));
  const words = found.map(({ id, symbols }) => ({ id, classes: symbols.map((char) => classOf.get(char)!) }));
  return {
    scores: Int32Array.from(pieces, ([, score]) => Math.round((score ?? NO_SCORE) * 2 ** 24)),
    chars,
    nodes: layOut(treeOf(words)),
    ...normalForms(new Set(chars)),
  };
}

interface Node {
  piece: number;
  children: Map<number, Node>;
}

function treeOf(words: { id: number; classes: number[] }[]): Node {
  const root: Node = { piece: 0, children: new Map() };
  for (const { id, classes } of words) {
    let node = root;
    for (const label of classes) {
      const child: Node = node.children.get(label) ?? { piece: 0, children: new Map() };
      node.children.set(label, child);
      node = child;
    }
    node.piece = id;
  }
  return root;
}

/**
 * A double array: the child of a node for a class is at base + class. No two nodes have one base, so a label that
 * equals the class says that the child is this node's.
 */
function layOut(root: Node): Uint8Array {
  const bases: number[] = [];
  const labels = [1]; // of the root, whose place no child may take
  const placed = [{ node: root, place: 0 }];
  const used = new Set<number>();
  let from = 1; // bases below it are not tried: most places near them are taken
  for (const { node, place } of placed) {
    const classes = [...node.children.keys()].sort((a, b) => a - b);
    if (classes.length === 0) {
      bases[place] = 0;
      continue;
    }
    let base = from;
    while (used.has(base) || classes.some((label) => labels[base + label])) base++;
    if (base > from + TRIES) from = base - TRIES;
    used.add(base);
    bases[place] = base;
    for (const label of classes) {
      labels[base + label] = label;
      placed.push({ node: node.children.get(label)!, place: base + label });
    }
  }
  const count = labels.length + CLASSES;
  const bytes = new DataView(new ArrayBuffer(8 * count));
  for (const { node, place } of placed) {
    bytes.setUint32(8 * place, bases[place]!, true);
    bytes.setUint16(8 * place + 4, node.piece, true);
    bytes.setUint8(8 * place + 6, place === 0 ? 0 : labels[place]!);
  }
  return new Uint8Array(bytes.buffer);
}

/**
 * Only characters whose replacement has one of `chars`, a space, or a part of a pair: all others are unknown whatever
 * NFKC makes of them.
 */
function normalForms(chars: ReadonlySet<number>): Pick<Vocabulary, "forms" | "formChars" | "pairs"> {
  const changed: [char: number, form: number[]][] = [];
  const pairs: number[] = [];
  for (const char of normalizedChars()) {
    const text = String.fromCodePoint(char);
    const form = codePoints(text.normalize("NFKC"));
    if (form.length !== 1 || form[0] !== char) {
      changed.push([char, form]);
      continue;
    }
    const [first, second, ...more] = codePoints(text.normalize("NFD"));
    const isHangul = char >= 0xac00 && char < 0xd7a4;
    if (second === undefined || isHangul) continue;
    // The last mark joins what the others have made.
    const marks = [second, ...more];
    const last = marks.pop()!;
    const before = codePoints(String.fromCodePoint(first!, ...marks).normalize("NFC"));
    if (before.length === 1) pairs.push(before[0]!, last, char);
  }
  const matters = new Set([...chars, ...pairs, 0x20]);
  const entries = changed.filter(([, form]) => form.some((char) => matters.has(char)));
  const formChars = entries.flatMap(([, form]) => form);
  const forms = new DataView(new ArrayBuffer(8 * entries.length));
  let at = 0;
  entries.forEach(([char, form], i) => {
    forms.setUint32(8 * i, char, true);
    forms.setUint16(8 * i + 4, at, true);
    forms.setUint16(8 * i + 6, form.length, true);
    at += form.length;
  });
  return {
    forms: new Uint8Array(forms.buffer),
    formChars: Uint32Array.from(formChars),
    pairs: Uint32Array.from(sortedByTwo(pairs)),
  };
}

/** All characters that a normal form may change, and some others: most blocks of 256 have none, and are skipped. */
function* normalizedChars(): Generator<number> {
  for (let block = 0; block < 0x110000; block += 256) {
    if (block >= 0xd800 && block < 0xe000) continue; // surrogates
    const chars = Array.from({ length: 256 }, (_, i) => block + i);
    const text = String.fromCodePoint(...chars);
    if (text.normalize("NFKD") !== text) yield* chars;
  }
}

function sortedByTwo(pairs: readonly number[]): number[] {
  const triples = Array.from({ length: pairs.length / 3 }, (_, i) => pairs.slice(3 * i, 3 * i + 3));
  return triples.sort((a, b) => a[0]! - b[0]! || a[1]! - b[1]!).flat();
}

function codePoints(text: string): number[] {
  return Array.from(text, (symbol) => symbol.codePointAt(0)!);
}
