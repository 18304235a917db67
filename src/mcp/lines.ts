/**
 * Finds the ids of messages without parsing them: 60 MiB of nested arrays stall JSON.parse for seconds and take 1.5 GB.
 */
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import { stringEnd } from "../checks/depth.ts";
import type { OversizeLine } from "../checks/lines.ts";

/**
 * The `id` of a JSON-RPC message that is not parsed, for an error reply; undefined where none can be read. Considers only
 * names directly in the outermost object.
 */
export function topLevelId(line: Uint8Array): RequestId | undefined {
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    const byte = line[at];
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    else if (byte === 0x22) {
      const end = stringEnd(line, at + 1);
      const isId = depth === 1 && end - at === 3 && line[at + 1] === 0x69 && line[at + 2] === 0x64;
      const colon = skipSpace(line, end + 1);
      if (isId && line[colon] === 0x3a) return scalarAt(line, skipSpace(line, colon + 1));
      at = end;
    }
  }
  return undefined;
}

function skipSpace(line: Uint8Array, start: number): number {
  let at = start;
  while (line[at] === 0x20 || line[at] === 0x09) at++;
  return at;
}

function scalarAt(line: Uint8Array, start: number): RequestId | undefined {
  let end = start;
  if (line[start] === 0x22) end = stringEnd(line, start + 1) + 1;
  else while (end < line.length && /[-+.0-9eE]/.test(String.fromCharCode(line[end]!))) end++;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(line.subarray(start, end)));
    return typeof value === "string" || typeof value === "number" ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The id of a message of which only the ends are known: many clients write it first, some last. At the end, one closing
 * brace and nothing else must follow it, so that the id of a nested object does not match.
 */
export function idOfOversize({ head, tail }: OversizeLine): RequestId | undefined {
  const first = topLevelId(head);
  if (first !== undefined) return first;
  const [, written] = /"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")[^{}[\]]*\}\s*$/.exec(new TextDecoder().decode(tail)) ?? [];
  return written === undefined ? undefined : scalarAt(new TextEncoder().encode(written), 0);
}
