/**
 * Arguments in JSON. The functions of `checks/` check each value; zod declares names, types, defaults and the published
 * JSON Schema. Its own parser would check each value a second time, with messages that no other transport has. After
 * `parseBy` nothing checks types again.
 */
import * as z from "zod/mini";
import { ArgumentTypeError, ValueError } from "../errors.ts";
import { isObject, readFlag, shown, wrongType } from "./kinds.ts";
import { type Domain, readNumber } from "./numbers.ts";
import { readString } from "./strings.ts";

/** Reads a value, or throws the error for it. */
export type Check<T> = (value: unknown, name: string) => T;

/** What a schema of `checked` was made of. In zod's own registry of JSON Schemas the second part would cost a start 0.3 ms. */
const CHECKED = new WeakMap<object, { check: Check<unknown>; json: Record<string, unknown> }>();

/** The schema of values that `check` reads, published as `json`. */
export function checked<T>(check: Check<T>, json: Record<string, unknown> = {}) {
  const schema = z.custom<T>();
  CHECKED.set(schema, { check, json });
  return schema;
}

/** The JSON Schema of a schema of `checked`; undefined for any other. */
export function jsonOf(schema: object): Readonly<Record<string, unknown>> | undefined {
  return CHECKED.get(schema)?.json;
}

export const string = (description?: string) => checked(readString, { type: "string", description });

export const flag = (description?: string) => checked(readFlag, { type: "boolean", description });

export const number = (domain: Domain, description: string) => {
  const { integer, min: minimum, above: exclusiveMinimum, max: maximum } = domain;
  const json = { type: integer ? "integer" : "number", exclusiveMinimum, minimum, maximum, description };
  return checked<number>((value, name) => readNumber(value, name, domain), json);
};

/**
 * Parses arguments by their schema: defaults are filled in, and null for an optional argument counts as omitted.
 * @param owner what the arguments belong to, for messages
 * @param called how messages call an argument
 * @throws ValueError for an unknown argument or a value outside its domain; TypeError for a wrong type or a missing
 * argument
 */
export function parseBy<S extends z.ZodMiniObject>(
  schema: S,
  owner: string,
  raw: unknown,
  called = (name: string) => name,
): z.infer<S> {
  const known = argumentsOf(schema);
  const given = raw ?? {};
  if (!isObject(given)) throw wrongType(`the arguments of ${owner}`, "an object", given);
  // Own keys only: an argument called `__proto__` or `constructor` is refused like any other unknown one.
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(schema.shape, name));
  if (unknown !== undefined) {
    const hint = known.length > 0 ? `it takes ${known.map(({ name }) => name).join(", ")}` : "it takes none";
    throw new ValueError(`unknown argument ${shown(unknown)} of ${owner}: ${hint}`);
  }
  const parsed: Record<string, unknown> = {};
  for (const { name, check, isOptional, isNullable, fallback } of known) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || (value === null && isOptional)) {
      if (!isOptional) throw new ArgumentTypeError(`missing required argument '${name}'`);
      if (fallback !== undefined) parsed[name] = fallback;
      continue;
    }
    const read = value === null && isNullable ? null : check(value, called(name));
    if (read !== undefined) parsed[name] = read;
  }
  return parsed as z.infer<S>;
}

/** One argument of a schema. */
export interface Argument {
  name: string;
  check: Check<unknown>;
  /** Its JSON Schema without the default: `type`, `description`, `enum`, bounds. */
  json: Readonly<Record<string, unknown>>;
  isOptional: boolean;
  isNullable: boolean;
  /** The default; undefined where an omitted argument has no value. */
  fallback: unknown;
}

/** The arguments of a schema, in its order. */
export function argumentsOf(schema: z.ZodMiniObject): Argument[] {
  const shape = schema.shape as Record<string, z.ZodMiniType>;
  return Object.entries(shape).map(([name, argument]) => ({ name, ...unwrap(argument) }));
}

/** What is below the wrappers of an argument's schema. */
function unwrap(schema: z.ZodMiniType): Omit<Argument, "name"> {
  const found = CHECKED.get(schema);
  if (found) return { ...found, isOptional: false, isNullable: false, fallback: undefined };
  const { type, innerType, defaultValue } = schema.def as {
    type: string;
    innerType: z.ZodMiniType;
    defaultValue?: unknown;
  };
  const inner = unwrap(innerType);
  if (type === "nullable") return { ...inner, isNullable: true };
  return { ...inner, isOptional: true, fallback: defaultValue };
}
