/** The order of equal windows: by the bytes of their paths in UTF-8, in a file from its beginning to its end. */

/** Where a window stands. No two share a place. */
export interface WindowPosition {
  path: string;
  chunk: number;
}

/** Compares windows whose scores are equal. */
export function byPosition(a: WindowPosition, b: WindowPosition): number {
  return bytewise(a.path, b.path) || a.chunk - b.chunk;
}

/**
 * Compares two texts as `Buffer.compare` does their UTF-8, without the copies. UTF-16 has characters beyond the basic
 * plane as units of D800 to DFFF, which are below the units E000 to FFFF of characters that come first in UTF-8.
 */
export function bytewise(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at++) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
