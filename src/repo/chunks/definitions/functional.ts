/** Languages in which a word before a name says that it is defined: the functional and the newer ones. */
import { at, type Grammar, ID, keyword } from "./grammar.ts";

export const PERL: Grammar = {
  rules: [
    { pattern: at("sub[ \\t]+(?:\\w+(?:::|')){0,8}(\\w+)") },
    { pattern: at("package[ \\t]+((?:\\w+::){0,12}\\w+)") },
    { pattern: at("use[ \\t]+constant[ \\t]+([A-Za-z_]\\w*)") },
    { pattern: at("(?:has|method|class|role)[ \\t]+['\"]?\\+?([A-Za-z_]\\w*)") },
  ],
  comments: [
    ["=pod", "\n=cut"],
    ["=head", "\n=cut"],
    ["=over", "\n=cut"],
    ["=item", "\n=cut"],
    ["=begin", "\n=cut"],
  ],
};

export const ELIXIR: Grammar = {
  rules: [
    { pattern: at("def(?:p|macro|macrop|guard|guardp|delegate|n|np)?[ \\t(]+([a-z_]\\w*[?!]?)") },
    { pattern: at("def(?:module|protocol|impl)[ \\t(]+(?:\\w+\\.){0,10}(\\w+)") },
    { pattern: at("@(?:type|typep|opaque|callback|macrocallback)[ \\t]+([a-z_]\\w*[?!]?)") },
  ],
  strings: ['"""', "'''"],
  once: true,
};

export const ERLANG: Grammar = {
  rules: [
    { pattern: at("-(?:module|record|define|type|opaque|callback)[ \\t]*\\(?[ \\t]*'?(\\w+)"), at: "top" },
    { pattern: at("([a-z][\\w@]*)\\((?:[^%]{0,280})$"), at: "top" },
  ],
  once: true,
};

export const HASKELL: Grammar = {
  rules: [
    { pattern: at("([a-z_][\\w']*)[ \\t]*(?:::|$)"), at: "top" },
    {
      pattern: at(
        "(?:data|newtype|type|class)[ \\t]+(?:(?:family|instance)[ \\t]+)?(?:[^=\\n]{1,160}=>[ \\t]*)?([A-Z][\\w']*)",
      ),
      at: "top",
    },
    { pattern: at("module[ \\t]+((?:\\w+\\.){0,12}\\w+)"), at: "top" },
    { pattern: at("([a-z_][\\w']*)[ \\t][^=\\n]{0,160}=(?!=)"), at: "top" },
  ],
  comments: [["{-", "-}"]],
  once: true,
};

export const OCAML: Grammar = {
  rules: [
    {
      pattern: at("(?:let|and)[ \\t]+(?:rec[ \\t]+|nonrec[ \\t]+|inline[ \\t]+)*([a-z_][\\w']*)(?![\\w' ]*\\bin\\b)"),
      at: "top",
    },
    {
      pattern: at(
        "(?:val|external|method|exception|module(?:[ \\t]+type|[ \\t]+rec)?|class)[ \\t]+(?:!|private[ \\t]+|virtual[ \\t]+)*(\\w[\\w']*)",
      ),
    },
    {
      pattern: at(
        "(?:type|and)[ \\t]+(?:nonrec[ \\t]+)?(?:'\\w+[ \\t]+|\\([^)]{1,60}\\)[ \\t]+)?([a-z_][\\w']*)[ \\t]*(?:=|$)",
      ),
    },
  ],
  comments: [["(*", "*)"]],
};

export const FSHARP: Grammar = {
  rules: [
    { pattern: at(`(?:let|and)[ \\t]+(?:(?:rec|inline|private|internal|public|mutable)[ \\t]+)*(${ID})`), at: "top" },
    {
      pattern: at(
        `(?:type|and|module|exception)[ \\t]+(?:(?:rec|private|internal|public)[ \\t]+)*(?:${ID}\\.){0,8}(${ID})`,
      ),
    },
    {
      pattern: at(
        `(?:static[ \\t]+)?(?:member|abstract|override|default)[ \\t]+(?:(?:inline|private|internal)[ \\t]+)*(?:${ID}\\.)?(${ID})`,
      ),
    },
  ],
  comments: [["(*", "*)"]],
};

const SYMBOL = "[^\\s()\\[\\]{}\"';`,]+";
export const LISP: Grammar = {
  rules: [
    {
      pattern: at(
        `\\((?:[\\w.-]{1,40}/)?(?:def[\\w*-]{0,40}|define[\\w*-]{0,40}|cl-def[\\w*-]{0,40}|ns)[ \\t]+` +
          `(?:\\^(?::[\\w-]+|\\{[^}]{0,120}\\}|${SYMBOL})[ \\t]+){0,3}\\(?['#:]{0,3}(${SYMBOL})`,
      ),
    },
  ],
  comments: [["#|", "|#"]],
};

export const ZIG: Grammar = {
  rules: [
    keyword('pub export inline noinline extern(?:\\s+"[^"]{0,20}")?', "fn"),
    {
      pattern: at(
        `(?:(?:pub|export|extern|threadlocal)[ \\t]+)*(?:const|var)[ \\t]+(${ID})[^=]{0,80}=(?![^\\n]{0,40}@import)`,
      ),
      at: "top",
    },
    {
      pattern: at(
        `(?:pub[ \\t]+const[ \\t]+(${ID})[ \\t]*(?::[^=]{1,80})?=|const[ \\t]+(${ID})[ \\t]*=[ \\t]*(?:packed[ \\t]+|extern[ \\t]+)?(?:struct|enum|union|opaque|error)\\b)`,
      ),
    },
  ],
};

export const NIM: Grammar = {
  rules: [
    { pattern: at(`(?:proc|func|method|template|macro|iterator|converter)[ \\t]+\`?(${ID})`) },
    {
      pattern: at(
        `(?:type[ \\t]+)?(${ID})\\*?[ \\t]*(?:\\[[^\\]]{0,60}\\])?[ \\t]*(?:\\{\\.[^}]{0,80}\\.\\})?[ \\t]*=[ \\t]*(?:ref[ \\t]+|ptr[ \\t]+)?(?:object|enum|tuple|distinct|concept)\\b`,
      ),
    },
    { pattern: at(`(?:const|let|var)[ \\t]+(${ID})`), at: "top" },
  ],
  comments: [["#[", "]#"]],
  blocks: [{ open: at("const[ \\t]*$"), close: "", rules: [{ pattern: at(`(${ID})\\*?[ \\t]*(?::[^=]{1,60})?=`) }] }],
  strings: ['"""'],
};

export const JULIA: Grammar = {
  rules: [
    { pattern: at(`(?:@\\w+[ \\t]+){0,3}(?:function|macro)[ \\t]+(?:${ID}\\.){0,6}(${ID}!?)`) },
    { pattern: at(`(?:mutable[ \\t]+)?struct[ \\t]+(${ID})`) },
    { pattern: at(`(?:abstract|primitive)[ \\t]+type[ \\t]+(${ID})`) },
    { pattern: at(`(?:bare)?module[ \\t]+(${ID})`) },
    { pattern: at(`const[ \\t]+(${ID})[ \\t]*=`) },
    {
      pattern: at(
        `(?:@\\w+[ \\t]+){0,3}(?:${ID}\\.){0,6}(${ID}!?)(?:\\{[^}]{0,80}\\})?\\([^=]{0,160}\\)(?:::[\\w{},. ]{1,60})?(?:[ \\t]+where[ \\t][^=]{1,80})?[ \\t]*=(?!=)`,
      ),
      at: "top",
    },
  ],
  comments: [["#=", "=#"]],
  strings: ['"""'],
};

export const R: Grammar = {
  rules: [
    { pattern: at('[`"]?([A-Za-z.][\\w.]*(?:<-)?)[`"]?[ \\t]*(?:<-|=)[ \\t]*(?:function\\b|\\\\\\()') },
    { pattern: at("([A-Za-z.][\\w.]*)[ \\t]*<-"), at: "top" },
    { pattern: at("set(?:Class|Generic|Method|RefClass)\\([ \\t]*['\"]([^'\"]{1,120})") },
  ],
};
