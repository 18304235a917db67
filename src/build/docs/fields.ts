/** The fields of the answers and what each is, read from the interfaces that the verbs are written against. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const SRC = join(import.meta.dir, "../..");
/** Where the interfaces stand that answers are made of. */
const FILES = [
  "memory/payloads.ts",
  "answers/collections.ts",
  "answers/duplicates.ts",
  "answers/similar.ts",
  "answers/hits.ts",
  "answers/rows.ts",
  "memory/repos/overview.ts",
  "repo/indexing/options.ts",
  "repo/show/hits.ts",
  "repo/fingerprints/partial.ts",
  "texts/stats.ts",
  "tune/plan.ts",
];

/** A field of an answer. */
export interface Field {
  readonly name: string;
  readonly isOptional: boolean;
  /** As it is written in TypeScript. */
  readonly type: string;
  /** Its comment in one line; "" where there is none. */
  readonly text: string;
}

interface Shape {
  readonly parents: readonly string[];
  readonly fields: readonly Field[];
}

const SHAPES = new Map(FILES.flatMap((file) => [...shapesOf(readFileSync(join(SRC, file), "utf8"))]));

/** The fields of an interface, those of what it extends first; undefined where no file has it. */
export function fieldsOf(name: string): readonly Field[] | undefined {
  const shape = SHAPES.get(name);
  if (shape === undefined) return undefined;
  const own = new Set(shape.fields.map((field) => field.name));
  const inherited = shape.parents.flatMap((parent) => fieldsOf(parent) ?? []).filter((field) => !own.has(field.name));
  return [...shape.fields, ...inherited];
}

/** Interfaces whose fields lie one a line, as the formatter writes them. */
function* shapesOf(source: string): Generator<[string, Shape]> {
  for (const [, name, parents, body] of source.matchAll(
    /interface (\w+)(?: extends ([^{]+?))? \{(?:\}|\n([\s\S]*?)\n\})/g,
  )) {
    const names = (parents ?? "")
      .split(/,\s*(?![^<]*>)/)
      .map((parent) => parent.replace(/^Omit<(\w+).*$/s, "$1").trim());
    yield [name!, { parents: names.filter(Boolean), fields: [...fieldsIn(body ?? "")] }];
  }
}

function* fieldsIn(body: string): Generator<Field> {
  const pattern = /(?:^ {2}\/\*\*([\s\S]*?)\*\/\n)?^ {2}(\w+)(\?)?: ([^\n]*?)[;{]$/gm;
  for (const [, comment, name, optional, type] of body.matchAll(pattern)) {
    const text = (comment ?? "").replace(/\s*\n\s*\*\s?/g, " ").trim();
    const shown = type!.replace(/ \| undefined$/, "").trim();
    yield { name: name!, isOptional: optional !== undefined, type: shown === "" ? "object" : shown, text };
  }
}
