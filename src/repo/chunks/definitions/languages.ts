/** Which grammar a language has, by the names of `language.ts`: the constant of that name, or a similar language's. */
import * as braces from "./braces.ts";
import * as functional from "./functional.ts";
import type { Grammar } from "./grammar.ts";
import * as rest from "./rest.ts";
import * as scripts from "./scripts.ts";
import * as words from "./words.ts";

const { SMALL, ...others } = rest;
const grammars = Object.entries({ ...braces, ...functional, ...scripts, ...words, ...others });
const GRAMMARS = new Map<string, Grammar>([
  ...grammars.map(([name, grammar]) => [name.toLowerCase(), grammar] as const),
  ...Object.entries({
    ...SMALL,
    astro: scripts.MARKUP,
    bazel: SMALL.starlark!,
    clojure: functional.LISP,
    cpp: braces.C,
    cuda: braces.C,
    d: braces.JAVA,
    glsl: braces.C,
    svelte: scripts.MARKUP,
    thrift: rest.PROTO,
    vue: scripts.MARKUP,
  }),
]);

/** The grammar of a language; undefined where the table has none. */
export function grammarOf(language: string): Grammar | undefined {
  return GRAMMARS.get(language);
}
