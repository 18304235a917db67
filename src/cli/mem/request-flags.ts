/** The flags of a verb that are arguments of its request: `memory/requests.ts` has their types, texts and defaults. */
import { type Argument, argumentsOf } from "../../checks/schema.ts";
import { type ArgumentsOf, SCHEMAS, type VerbName } from "../../memory/requests.ts";
import { type Arg, type Args, number, string } from "../terminal/command.ts";

/** What help shows in the place of a value; a number has N, another text TEXT. */
const HINTS: Readonly<Record<string, string>> = {
  after: "NEXT",
  collection: "NAME",
  offset: "BYTE",
  path_hint: "PATH",
};

type FlagName<K extends string> = K extends `${infer Head}_${infer Rest}` ? `${Head}-${FlagName<Rest>}` : K;

type FlagOf<T> = T extends boolean
  ? { type: "boolean" }
  : T extends number
    ? { type: "string"; numeric: true }
    : T extends string
      ? { type: "string" }
      : never;

/** The flags of a verb by name; those of arguments that are lists or objects are written by hand. */
export type RequestFlags<V extends VerbName> = {
  [K in keyof ArgumentsOf<V> & string as FlagName<K>]: FlagOf<NonNullable<ArgumentsOf<V>[K]>>;
};

/** The flag of an argument: `top_k` is `--top-k`. */
export function flagName(argument: string): string {
  return argument.replaceAll("_", "-");
}

/**
 * What a verb takes on a command line: its positionals, a flag for each argument of its request, and its other flags.
 * @param own positionals, and flags that are not an argument or differ from it
 */
export function verbArgs(verb: VerbName, own: Args, common: Args): Args {
  const positionals = Object.entries(own).filter(([, { type }]) => type === "positional");
  const requested = argumentsOf(SCHEMAS[verb]()).flatMap((argument) => {
    const name = flagName(argument.name);
    const flag = name in own || name in common ? undefined : flagOf(argument);
    return flag === undefined ? [] : [[name, flag] as const];
  });
  return { ...Object.fromEntries([...positionals, ...requested]), ...own, ...common };
}

/** Undefined for a list or an object. */
function flagOf({ name, json, fallback }: Argument): Arg | undefined {
  const text = helpText(json.description);
  const description = typeof fallback === "number" || typeof fallback === "string" ? `${text} (${fallback})` : text;
  if (Array.isArray(json.enum)) return { type: "enum", options: json.enum as string[], description };
  switch (json.type) {
    case "boolean":
      return fallback === true
        ? { type: "boolean", default: true, description, negativeDescription: `do not ${text}` }
        : { type: "boolean", description };
    case "integer":
    case "number":
      return number(HINTS[name] ?? "N", description);
    case "string":
      return string(HINTS[name] ?? "TEXT", description);
    default:
      return undefined;
  }
}

/** The sentence of a schema as a line of help: lower case, and without a full stop. */
function helpText(sentence: unknown): string {
  return String(sentence)
    .replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())
    .replace(/\.$/, "")
    .replaceAll("`", "");
}
