/**
 * Limits on JSON, checked in its bytes before parsing: 60 MiB of nested arrays stall JSON.parse for seconds and take
 * 1.5 GB.
 */
import { JSON_CONTAINERS_MAX, JSON_DEPTH_MAX } from "../limits.ts";

/**
 * Whether objects and arrays are nested deeper than `max`, or are too many to parse. Works on bytes: no byte of a
 * multi-byte UTF-8 character equals a bracket or a quote. For input that is not JSON the result is undefined; the
 * parser refuses it.
 */
export function isTooDeep(line: Uint8Array, max: number = JSON_DEPTH_MAX): boolean {
  if (line.length <= max) return false;
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < line.length; at++) {
    switch (line[at]) {
      case 0x22: // A string: skip to its closing quote.
        at = stringEnd(line, at + 1);
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        containers += 1;
        if (depth > max || containers > JSON_CONTAINERS_MAX) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
    }
  }
  return false;
}

/** Offset of the quote that ends the string, or the length. By indexOf, as most input is text. */
export function stringEnd(line: Uint8Array, start: number): number {
  for (let at = line.indexOf(0x22, start); at >= 0; at = line.indexOf(0x22, at + 1)) {
    let backslashes = 0;
    while (at - 1 - backslashes >= start && line[at - 1 - backslashes] === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return line.length;
}
