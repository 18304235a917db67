/** Languages in which a word before a name says that it is defined. */
import { at, type Grammar, ID, inner, keyword, rule, SLASHES, top } from "./grammar.ts";

const QUOTES = ['"""', "'''"];

export const PYTHON: Grammar = {
  rules: [
    rule(`(?:async[ \\t]+)?(?:def|class)[ \\t]+(${ID})`),
    top(`(${ID})[ \\t]*(?::[^=\\n]{1,160})?=(?!=)`),
    inner("([A-Z_][A-Z0-9_]{2,})[ \\t]*(?::[^=\\n]{1,160})?=(?!=)"),
    rule(`type[ \\t]+(${ID})[ \\t]*(?:\\[[^\\]]{0,80}\\])?[ \\t]*=`),
    rule(
      `(?:cdef|cpdef)[ \\t]+(?:(?:public|inline|api|extern)[ \\t]+)*(?:class|struct|enum|union|${ID})[ \\t*]+(?:${ID}[ \\t*]+){0,3}(${ID})[ \\t]*(?:\\(|:|$)`,
    ),
    rule(`ctypedef[ \\t]+[^\\n]{0,80}[ \\t](${ID})[ \\t]*(?:\\([^\\n]{0,120}\\))?:?$`),
  ],
  strings: QUOTES,
};

const GO_NAMES = at(`(${ID}(?:[ \\t]*,[ \\t]*${ID}){0,12})(?:[ \\t]+[\\w.*[\\]]+)?[ \\t]*(?:=|$|//)`);
export const GO: Grammar = {
  rules: [
    top(`func[ \\t]+(?:\\([^()]{0,120}\\)[ \\t]*)?(${ID})[ \\t]*[([]`),
    rule(`type[ \\t]+(${ID})`),
    { ...top(`(?:const|var)[ \\t]+(${ID}(?:[ \\t]*,[ \\t]*${ID}){0,12})`), list: true },
  ],
  comments: SLASHES,
  blocks: [
    { open: at("(?:const|var)[ \\t]*\\([ \\t]*(?://.*)?$"), close: ")", rules: [{ pattern: GO_NAMES, list: true }] },
    {
      open: at("type[ \\t]*\\([ \\t]*$"),
      close: ")",
      rules: [rule(`(${ID})[ \\t]*(?:\\[[^\\]]{0,80}\\][ \\t]*)?[=\\w*[(]`)],
    },
    {
      open: at(`type[ \\t]+${ID}(?:\\[[^\\]]{0,120}\\])?[ \\t]+interface[ \\t]*\\{[ \\t]*$`),
      close: "}",
      rules: [rule(`(${ID})\\(`)],
    },
  ],
};

const RUST_MODIFIERS = 'pub(?:\\([^)]{0,60}\\))? default const async unsafe safe extern(?:\\s+"[^"]{0,20}")? auto';
export const RUST: Grammar = {
  rules: [
    keyword(RUST_MODIFIERS, "fn struct enum trait union type"),
    keyword(RUST_MODIFIERS, "mod", `(${ID})[ \\t]*(?:\\{|$)`),
    keyword(RUST_MODIFIERS, "static const", `(?:ref[ \\t]+|mut[ \\t]+)?(${ID})[ \\t]*:`),
    rule(`(?:pub(?:\\([^)]{0,60}\\))?[ \\t]+)?(?:macro_rules![ \\t]*|macro[ \\t]+)(${ID})`),
  ],
  comments: SLASHES,
  before: ["#", at("#!?\\[[^\\]\\n]{0,160}\\][ \\t]*")],
};

const KOTLIN_MODIFIERS =
  "public private protected internal abstract final open sealed override inline suspend operator infix tailrec " +
  "external data inner enum annotation value companion const lateinit expect actual noinline crossinline fun";
export const KOTLIN: Grammar = {
  rules: [
    keyword(
      KOTLIN_MODIFIERS,
      "fun",
      `(?:<[^\\n]{0,120}?>[ \\t]+)?(?:\`([^\`\\n]{1,200})\`|(?:[\\w<>?*, ]{1,80}\\.)?(${ID})[ \\t]*\\()`,
    ),
    keyword(KOTLIN_MODIFIERS, "class interface object typealias"),
    { ...keyword(KOTLIN_MODIFIERS, "val var", `(?:<[^\\n]{0,80}?>[ \\t]+)?(?:${ID}\\.)?(${ID})`), at: "top" },
    keyword(KOTLIN_MODIFIERS, "val", "([A-Z][A-Z0-9_]+)\\b"),
    rule(`(?:(?:private|internal|public)[ \\t]+)?const[ \\t]+val[ \\t]+(${ID})`),
  ],
  comments: SLASHES,
  strings: ['"""'],
  before: ["@", at("@[\\w.:]+(?:\\([^()\\n]{0,120}(?:\\([^()\\n]{0,60}\\)[^()\\n]{0,60}){0,3}\\))?[ \\t]+")],
};

const SWIFT_MODIFIERS =
  "public private(?:\\(set\\))? fileprivate internal open final static class override mutating nonmutating " +
  "indirect lazy weak convenience required dynamic optional prefix postfix infix nonisolated(?:\\([^)]{0,20}\\))? " +
  "distributed isolated async package borrowing consuming";
export const SWIFT: Grammar = {
  rules: [
    keyword(
      SWIFT_MODIFIERS,
      "func class struct enum protocol actor typealias associatedtype macro precedencegroup",
      `\`?(${ID})`,
    ),
    { ...keyword(SWIFT_MODIFIERS, "let var", `(${ID})`), at: "top" },
    keyword(SWIFT_MODIFIERS, "static\\s+let static\\s+var", `(${ID})`),
  ],
  comments: SLASHES,
  strings: ['"""'],
  before: ["@", at("@\\w+(?:\\([^()\\n]{0,120}\\))?[ \\t]+")],
};

const SCALA_MODIFIERS =
  "public private(?:\\[\\w+\\])? protected(?:\\[\\w+\\])? final sealed abstract override implicit lazy case inline " +
  "opaque transparent open infix erased package";
export const SCALA: Grammar = {
  rules: [
    keyword(SCALA_MODIFIERS, "def class object trait enum type given", `\`?(${ID})`),
    { ...keyword(SCALA_MODIFIERS, "val var", `(${ID})`), at: "top" },
    keyword(SCALA_MODIFIERS, "val", "([A-Z][\\w$]*)\\s*[:=]"),
  ],
  comments: SLASHES,
  strings: ['"""'],
  before: ["@", at("@\\w+(?:\\([^()\\n]{0,120}\\))?[ \\t]+")],
};

export const RUBY: Grammar = {
  rules: [
    rule(
      `(?:(?:private|protected|public|module_function|private_class_method|memoize|helper_method)[ \\t]+)?` +
        `def[ \\t]+(?:${ID}\\.)?(${ID}[?!=]?)`,
    ),
    rule(`(?:class|module)[ \\t]+(?:::)?(?:${ID}::){0,8}(${ID})`),
    rule("([A-Z]\\w*)[ \\t]*(?:\\|\\|)?=(?![=~>])"),
    {
      ...rule(
        "(?:cattr|mattr|attr|class_attribute|thread_mattr)(?:_(?:accessor|reader|writer))?[ \\t(]+(:[^#]{1,200})",
      ),
      list: true,
    },
    rule(`(?:alias_method|define_method|scope|alias|task|namespace)[ \\t(]+:?(${ID}[?!]?)`),
  ],
  comments: [["=begin", "\n=end"]],
};

export const PHP: Grammar = {
  rules: [
    keyword("public private protected static final abstract readonly", "function", `&?[ \\t]*(${ID})`),
    keyword("final abstract readonly", "class interface trait enum"),
    keyword("public private protected final", "const", `(?:[\\w?|]+[ \\t]+)?(${ID})[ \\t]*=`),
    rule(`define\\([ \\t]*['"](${ID})['"]`),
  ],
  comments: SLASHES,
  before: ["#", at("#\\[[^\\]\\n]{0,160}\\][ \\t]*")],
};

export const LUA: Grammar = {
  rules: [
    rule(`(?:local[ \\t]+)?function[ \\t]+(?:${ID}[.:]){0,8}(${ID})`),
    rule(`(?:local[ \\t]+)?(?:${ID}[.:]){0,8}(${ID})[ \\t]*=[ \\t]*function\\b`),
    top("(?:local[ \\t]+)?([A-Z_][A-Z0-9_]{2,})[ \\t]*=(?!=)"),
  ],
  comments: [["--[[", "]]"]],
};
