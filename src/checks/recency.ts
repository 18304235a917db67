/** How much newer rows are preferred, as callers say it. */
import { ValueError } from "../errors.ts";
import { isObject, optional, shown, wrongType } from "./kinds.ts";
import { type Domain, readNumber } from "./numbers.ts";
import { readString } from "./strings.ts";
import { readTime } from "./times.ts";

/** The largest share of recency in a fused score, whose rankings have deviations of .3 and .7. */
export const RECENCY_WEIGHT_MAX = 0.3;
const WEIGHT: Domain = { above: 0, max: RECENCY_WEIGHT_MAX };
const HALF_LIFE: Domain = { above: 0 };

/** Adds `weight` × 2^(-age / half-life) to scores. */
export interface Recency {
  /** A field of the metadata, or "updated" or "created" for the row's own times. */
  field: string;
  halfLifeDays: number;
  weight: number;
  /** In milliseconds since 1970. Absent: the newest time among the candidates. */
  now?: number | undefined;
}

/**
 * @param halfLife what the caller's interface calls the half-life
 * @throws TypeError for a wrong type or a missing part; ValueError for an unknown part or a value outside its domain
 */
export function readRecency(value: unknown, name: string, halfLife: "half_life_days" | "halfLifeDays"): Recency {
  const parts = ["field", halfLife, "weight", "now"];
  if (!isObject(value)) throw wrongType(name, `an object of ${parts.join(", ")}`, value);
  const unknown = Object.keys(value).find((key) => !parts.includes(key));
  if (unknown !== undefined)
    throw new ValueError(`unknown part ${shown(unknown)} of ${name}: it takes ${parts.join(", ")}`);
  const { field, weight, now } = value;
  if (field === "")
    throw new ValueError(`${name}.field is empty: name a field of the metadata, or 'updated' or 'created'`);
  return {
    field: readString(field, `${name}.field`),
    halfLifeDays: readNumber(value[halfLife], `${name}.${halfLife}`, HALF_LIFE),
    weight: readNumber(weight, `${name}.weight`, WEIGHT),
    now: optional(now, `${name}.now`, readTime),
  };
}
