/** How deep and how rich JSON is, counted in its bytes before anything is parsed: 60 MiB of nested arrays stall JSON.parse for seconds and take 1.5 GB. */
import { JSON_CONTAINERS_MAX, JSON_DEPTH_MAX } from "../limits.ts";

/**
 * True if objects and arrays stand inside one another deeper than `max`, or if there are too many of them to parse. Works on bytes: in UTF-8 no part of a longer character
 * looks like a bracket or a quote. Input that is not JSON may get either answer; the parser refuses it then.
 */
export function isTooDeep(line: Uint8Array, max: number = JSON_DEPTH_MAX): boolean {
  if (line.length <= max) return false;
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < line.length; at++) {
    switch (line[at]) {
      case 0x22: // A string: on to its closing quote, whatever stands inside.
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

/** Offset of the quote that ends the string, or the length. Found with indexOf, as texts are most of what comes. */
export function stringEnd(line: Uint8Array, start: number): number {
  for (let at = line.indexOf(0x22, start); at >= 0; at = line.indexOf(0x22, at + 1)) {
    let backslashes = 0;
    while (at - 1 - backslashes >= start && line[at - 1 - backslashes] === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return line.length;
}
