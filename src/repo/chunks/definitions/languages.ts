/** Which grammar a language has, by the names of `language.ts`. */
import { C, CSHARP, DART, GROOVY, JAVA, OBJC } from "./braces.ts";
import { ELIXIR, ERLANG, FSHARP, HASKELL, JULIA, LISP, NIM, OCAML, PERL, R, ZIG } from "./functional.ts";
import type { Grammar } from "./grammar.ts";
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

/** The grammar of a language; undefined where the table has none. */
export function grammarOf(language: string): Grammar | undefined {
  return GRAMMARS.get(language);
}
