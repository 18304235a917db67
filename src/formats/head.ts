/** The first line of an export, with what is known of its collection: `{"svc_export": 1, "dim": …, …}`. */
import { isObject, optional, readFlag, wrongType } from "../checks/kinds.ts";
import { DIM, readNumber } from "../checks/numbers.ts";
import { readDescription, readString, readStrings } from "../checks/strings.ts";
import { ValueError } from "../errors.ts";
import { FILTER_COLUMNS_MAX } from "../limits.ts";
import { PROFILE_FIELDS } from "../store/schema.ts";
import type { ForeignSchema } from "./input/row.ts";

/** The field that makes a line the first one of an export, with the version of what stands in it. */
export const HEAD_FIELD = "svc_export";
const VERSION = 1;

/** UTF-16 units of a name in an embedder's profile. */
const PROFILE_VALUE_MAX = 256;

/** The first line of an export of this collection. */
export function headOf(collection: string, schema: ForeignSchema): Record<string, unknown> {
  return { [HEAD_FIELD]: VERSION, collection, ...schema };
}

/** What such a line says; fields that are not known are passed over. @throws ValueError, TypeError */
export function readHead(head: Record<string, unknown>): ForeignSchema {
  const version = head[HEAD_FIELD];
  if (version !== VERSION) {
    throw new ValueError(
      `${HEAD_FIELD} is ${JSON.stringify(version)}, and this program reads ${VERSION}: use a newer one`,
    );
  }
  const dim = optional(head.dim, "dim", (value, name) => readNumber(value, name, DIM));
  return {
    dim,
    dtype: optional(head.dtype, "dtype", readString),
    metric: optional(head.metric, "metric", readString),
    partition_by: optional(head.partition_by, "partition_by", readString),
    filter_columns: optional(head.filter_columns, "filter_columns", (value, name) =>
      readStrings(value, name, { max: FILTER_COLUMNS_MAX }),
    ),
    lexical: optional(head.lexical, "lexical", readFlag),
    embedder: head.embedder === null ? null : optional(head.embedder, "embedder", readProfile),
    description: optional(head.description, "description", readDescription),
  };
}

/** What it says is stored as it is in a collection that is made: known fields, and short. */
function readProfile(value: unknown, name: string): object {
  if (!isObject(value)) throw wrongType(name, "an object or null", value);
  const profile: Record<string, unknown> = {};
  for (const field of PROFILE_FIELDS) {
    const at = `${name}.${field}`;
    if (field === "dimension") {
      profile[field] = readNumber(value[field], at, DIM);
      continue;
    }
    const text = readString(value[field], at);
    if (text.length > PROFILE_VALUE_MAX) throw new ValueError(`${at} is longer than ${PROFILE_VALUE_MAX} characters`);
    profile[field] = text;
  }
  return profile;
}
