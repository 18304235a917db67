/** Which grammar a language has, by the names of `language.ts`. */
import { C, CSHARP, DART, GROOVY, JAVA, OBJC } from "./braces.ts";
import { ELIXIR, ERLANG, FSHARP, HASKELL, JULIA, LISP, NIM, OCAML, PERL, R, ZIG } from "./functional.ts";
import type { Grammar, Rule } from "./grammar.ts";
import {
  AWK,
  BATCH,
  CMAKE,
  DOCKERFILE,
  FISH,
  GRAPHQL,
  HCL,
  JUST,
  MAKEFILE,
  NIX,
  POWERSHELL,
  PRISMA,
  PROTO,
  SHELL,
  SMALL,
  SQL,
} from "./rest.ts";
import { JAVASCRIPT, MARKUP, TYPESCRIPT } from "./scripts.ts";
import { GO, KOTLIN, LUA, PHP, PYTHON, RUBY, RUST, SCALA, SWIFT } from "./words.ts";

const GRAMMARS = new Map<string, Grammar>(
  Object.entries({
    ...SMALL,
    astro: MARKUP,
    awk: AWK,
    batch: BATCH,
    bazel: SMALL.starlark!,
    c: C,
    clojure: LISP,
    cmake: CMAKE,
    cpp: C,
    csharp: CSHARP,
    cuda: C,
    d: JAVA,
    dart: DART,
    dockerfile: DOCKERFILE,
    elixir: ELIXIR,
    erlang: ERLANG,
    fish: FISH,
    fsharp: FSHARP,
    glsl: C,
    go: GO,
    graphql: GRAPHQL,
    groovy: GROOVY,
    haskell: HASKELL,
    hcl: HCL,
    java: JAVA,
    javascript: JAVASCRIPT,
    julia: JULIA,
    just: JUST,
    kotlin: KOTLIN,
    lisp: LISP,
    lua: LUA,
    makefile: MAKEFILE,
    nim: NIM,
    nix: NIX,
    objc: OBJC,
    ocaml: OCAML,
    perl: PERL,
    php: PHP,
    powershell: POWERSHELL,
    prisma: PRISMA,
    proto: PROTO,
    python: PYTHON,
    r: R,
    ruby: RUBY,
    rust: RUST,
    scala: SCALA,
    shell: SHELL,
    sql: SQL,
    svelte: MARKUP,
    swift: SWIFT,
    thrift: PROTO,
    typescript: TYPESCRIPT,
    vue: MARKUP,
    zig: ZIG,
  }),
);

const joined = new Map<Grammar, Grammar>();

/** The grammar of a language; undefined where the table has none. */
export function grammarOf(language: string): Grammar | undefined {
  const grammar = GRAMMARS.get(language);
  if (!grammar) return undefined;
  const known = joined.get(grammar) ?? { ...grammar, rules: joinRules(grammar.rules) };
  joined.set(grammar, known);
  return known;
}

/** Neighbours that differ in nothing but their pattern become one rule: a failed match costs more than its steps. */
function joinRules(rules: readonly Rule[]): Rule[] {
  const all: Rule[] = [];
  for (const rule of rules) {
    const last = all.at(-1);
    const [a, b] = [rule.pattern, last?.pattern];
    const isLike = last && rule.at === last.at && rule.list === last.list && rule.bare === last.bare;
    if (isLike && !rule.follows && !last.follows && a.flags === b!.flags) {
      all[all.length - 1] = { ...last, pattern: new RegExp(`${b!.source}|${a.source}`, a.flags) };
    } else all.push(rule);
  }
  return all;
}
