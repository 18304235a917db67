/** Git's compressed bitmaps (EWAH), in which a split index says what of the shared one it changes. Untrusted input. */

/** Positions in an index; an index of 512 MB has fewer entries. */
const BITS_MAX = 16 * 1024 * 1024;
const WORD_BYTES = 8;

/**
 * The positions of the bits that are set in the bitmap at `start`, ascending: its number of bits, its number of words,
 * the words, and the position of the last word that is a marker. A marker counts words that are all zeros or all ones,
 * and the words after it that are as they are.
 * @returns where the bitmap ends too; undefined where it is damaged, or reaches beyond `limit`
 */
export function bitsOf(
  bytes: Uint8Array,
  start: number,
  limit: number,
): { positions: number[]; end: number } | undefined {
  if (start + 8 > limit) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const bits = view.getUint32(start);
  const words = view.getUint32(start + 4);
  const end = start + 8 + words * WORD_BYTES + 4;
  if (bits > BITS_MAX || end > limit) return undefined;
  const positions: number[] = [];
  const wordAt = (word: number) => start + 8 + word * WORD_BYTES;
  let position = 0;
  for (let word = 0; word < words; ) {
    const [high, low] = [view.getUint32(wordAt(word)), view.getUint32(wordAt(word) + 4)];
    word++;
    const isRunOfOnes = (low & 1) === 1;
    const runBits = ((((high & 1) << 31) | (low >>> 1)) >>> 0) * 64;
    const plain = high >>> 1;
    if (plain > words - word || position + runBits > bits + 63) return undefined;
    if (isRunOfOnes) for (let i = 0; i < runBits && position + i < bits; i++) positions.push(position + i);
    position += runBits;
    for (let i = 0; i < plain; i++, word++, position += 64) {
      if (position >= bits + 63) return undefined;
      for (let half = 0; half < 2; half++) {
        // The lower half of a word has its first bits.
        const set = view.getUint32(wordAt(word) + (half === 0 ? 4 : 0));
        for (let bit = 0; bit < 32; bit++) if ((set >>> bit) & 1) positions.push(position + half * 32 + bit);
      }
    }
  }
  return { positions, end };
}
