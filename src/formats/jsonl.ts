/** JSON lines: what `svc mem export` writes, and every file with an object a line that has a text. */
import { readId } from "../checks/ids.ts";
import { isObject, optional, wrongType } from "../checks/kinds.ts";
import { readObject } from "../checks/metadata.ts";
import { unpackFloats } from "../checks/packed-vectors.ts";
import { readString } from "../checks/strings.ts";
import { readTime } from "../checks/times.ts";
import { checkFinite, readVector } from "../checks/vectors.ts";
import { ValueError } from "../errors.ts";

import { HEAD_FIELD, readHead } from "./head.ts";
import { locate } from "./input/fields.ts";
import { memberNames } from "./input/json-elements.ts";
import { Remarks } from "./input/remarks.ts";
import type { ForeignRow, ForeignSchema, Format } from "./input/row.ts";
import { LineSource } from "./input/source.ts";

/** What a line may have. */
const FIELDS: ReadonlySet<string> = new Set(["id", "text", "metadata", "created", "updated", "vector", "meaning"]);
const KEPT = "only id, text, metadata, created, updated, vector and meaning are kept";

/** The format. It is the last one to be tried: an object at the beginning is all that tells it. */
export const JSONL: Format = {
  name: "jsonl",
  title: 'JSON lines, as in {"text": …, "id": …, "metadata": …}',
  matches: (path, head, isFolder) => !isFolder && (/\.(jsonl|ndjson)(\.gz)?$/i.test(path) || beginsAsObject(head)),
  async open(path, { input, onBad }) {
    if (!input) throw new ValueError(`'${path}' is a folder: name a file of JSON lines in it`);
    return new JsonLines(input, new Remarks(onBad));
  },
};

/** Nothing at all is a file without rows. */
function beginsAsObject(head: Uint8Array): boolean {
  const text = new TextDecoder().decode(head).trimStart();
  return text === "" || text.startsWith("{");
}

/**
 * Whether a first line that is longer than the head is one of these: the members that it begins with, before the one that
 * is cut off, are those of a row.
 */
export function beginsAsRow(head: string): boolean {
  const names = [...memberNames(new TextEncoder().encode(head), 1).keys()];
  return names.length > 0 && names.every((name) => FIELDS.has(name));
}

class JsonLines extends LineSource {
  schema: ForeignSchema | undefined;
  private isFirst = true;

  protected rowsOf(object: Record<string, unknown>, where: string): ForeignRow | undefined {
    const { isFirst } = this;
    this.isFirst = false;
    try {
      if (!isFirst || object[HEAD_FIELD] === undefined) return readRow(object, where);
      this.schema = readHead(object);
      return undefined;
    } catch (error) {
      throw locate(error, where);
    }
  }
}

/** @throws ValueError, TypeError saying what is wrong */
function readRow(row: Record<string, unknown>, where: string): ForeignRow {
  const { id, text, metadata, created, updated, vector, meaning } = row;
  // A field that is not kept would be silently lost.
  for (const key in row) if (!FIELDS.has(key)) throw new ValueError(`unknown field '${key}', ${KEPT}`);
  const numbers = optional(vector, "vector", readFloats);
  return {
    id: optional(id, "id", readId),
    text: numbers && (text === undefined || text === null) ? undefined : readString(text, "text"),
    metadata: readObject(metadata, "metadata"),
    created: optional(created, "created", readTime),
    updated: optional(updated, "updated", readTime),
    vector: numbers,
    meaning: typeof meaning === "string" ? Buffer.from(meaning, "base64") : undefined,
    where,
  };
}

/** A vector as a list of numbers, or as `{"f32": …}`. */
function readFloats(value: unknown, name: string): Float32Array {
  const isPacked = isObject(value);
  if (isPacked && typeof value.f32 !== "string") throw wrongType(`${name}.f32`, "a string of base64", value.f32);
  const floats = isPacked ? unpackFloats(value.f32 as string, name) : readVector(value, name);
  checkFinite(floats, name);
  return floats;
}
