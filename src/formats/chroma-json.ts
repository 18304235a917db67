/**
 * What Chroma's `collection.get()` returns, as JSON: lists side by side, as of chromadb 3.5.0 (npm) and 1.x (Python).
 */
import { isObject } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { isBlankText, rowOf } from "./input/fields.ts";
import type { Remarks } from "./input/remarks.ts";
import type { ForeignRow } from "./input/row.ts";

/** Why a row of Chroma may be left out. */
export const NO_DOCUMENT = "without a document (a vector alone cannot be searched with words)";

/** Whether a value is such an answer. */
export function isChroma(value: unknown): value is Record<string, unknown> {
  return isObject(value) && Array.isArray(value.ids) && ("documents" in value || "metadatas" in value);
}

/** Its rows, undefined in place of one that is left out. @throws ValueError naming the place */
export function* chromaRows(value: unknown, name: string, remarks: Remarks): Generator<ForeignRow | undefined> {
  if (!isChroma(value)) throw new ValueError(`${name} has no 'ids' and 'documents', as collection.get() returns them`);
  const ids = value.ids as unknown[];
  if (ids.some(Array.isArray)) {
    throw new ValueError(`${name} holds answers to a query: write what collection.get() returns, which has all rows`);
  }
  const [documents, metadatas, uris] = ["documents", "metadatas", "uris"].map((key) => {
    const list = value[key];
    if (list === undefined || list === null) return undefined;
    if (Array.isArray(list) && list.length === ids.length) return list as unknown[];
    throw new ValueError(`${name}: '${key}' is not a list of ${ids.length} values, as many as there are ids`);
  });
  if (!documents) throw new ValueError(`${name} holds no documents: call collection.get() with include: ["documents"]`);
  const row = (id: unknown, i: number): ForeignRow | undefined => {
    const where = `${name}, row ${i + 1}`;
    if (isBlankText(documents[i])) {
      remarks.add(NO_DOCUMENT, where);
      return undefined;
    }
    const metadata = metadatas?.[i] ?? {};
    if (!isObject(metadata)) throw new ValueError(`${where}: its metadata is not an object`);
    const fields = Object.entries(metadata);
    const uri = uris?.[i];
    if (typeof uri === "string" && !("uri" in metadata)) fields.push(["uri", uri]);
    return rowOf({ id, text: documents[i], metadata: fields }, where);
  };
  for (const [i, id] of ids.entries()) yield remarks.row(() => row(id, i));
}
