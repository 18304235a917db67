/** Languages in which a word before a name says that it is defined: the functional and the newer ones. */
import { at, type Grammar, ID, keyword, rule, top } from "./grammar.ts";

export const PERL: Grammar = {
  rules: [
    rule("sub[ \\t]+(?:\\w+(?:::|')){0,8}(\\w+)"),
    rule("package[ \\t]+((?:\\w+::){0,12}\\w+)"),
    rule("use[ \\t]+constant[ \\t]+([A-Za-z_]\\w*)"),
    rule("(?:has|method|class|role)[ \\t]+['\"]?\\+?([A-Za-z_]\\w*)"),
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
    rule("def(?:p|macro|macrop|guard|guardp|delegate|n|np)?[ \\t(]+([a-z_]\\w*[?!]?)"),
    rule("def(?:module|protocol|impl)[ \\t(]+(?:\\w+\\.){0,10}(\\w+)"),
    rule("@(?:type|typep|opaque|callback|macrocallback)[ \\t]+([a-z_]\\w*[?!]?)"),
  ],
  strings: ['"""', "'''"],
  once: true,
};

export const ERLANG: Grammar = {
  rules: [
    top("-(?:module|record|define|type|opaque|callback)[ \\t]*\\(?[ \\t]*'?(\\w+)"),
    top("([a-z][\\w@]*)\\((?:[^%]{0,280})$"),
  ],
  once: true,
};

export const HASKELL: Grammar = {
  rules: [
    top("([a-z_][\\w']*)[ \\t]*(?:::|$)"),
    top("(?:data|newtype|type|class)[ \\t]+(?:(?:family|instance)[ \\t]+)?(?:[^=\\n]{1,160}=>[ \\t]*)?([A-Z][\\w']*)"),
    top("module[ \\t]+((?:\\w+\\.){0,12}\\w+)"),
    top("([a-z_][\\w']*)[ \\t][^=\\n]{0,160}=(?!=)"),
  ],
  comments: [["{-", "-}"]],
  once: true,
};

export const OCAML: Grammar = {
  rules: [
    top("(?:let|and)[ \\t]+(?:rec[ \\t]+|nonrec[ \\t]+|inline[ \\t]+)*([a-z_][\\w']*)(?![\\w' ]*\\bin\\b)"),
    rule(
      "(?:val|external|method|exception|module(?:[ \\t]+type|[ \\t]+rec)?|class)[ \\t]+(?:!|private[ \\t]+|virtual[ \\t]+)*(\\w[\\w']*)",
    ),
    rule("(?:type|and)[ \\t]+(?:nonrec[ \\t]+)?(?:'\\w+[ \\t]+|\\([^)]{1,60}\\)[ \\t]+)?([a-z_][\\w']*)[ \\t]*(?:=|$)"),
  ],
  comments: [["(*", "*)"]],
};

export const FSHARP: Grammar = {
  rules: [
    top(`(?:let|and)[ \\t]+(?:(?:rec|inline|private|internal|public|mutable)[ \\t]+)*(${ID})`),
    rule(`(?:type|and|module|exception)[ \\t]+(?:(?:rec|private|internal|public)[ \\t]+)*(?:${ID}\\.){0,8}(${ID})`),
    rule(
      `(?:static[ \\t]+)?(?:member|abstract|override|default)[ \\t]+(?:(?:inline|private|internal)[ \\t]+)*(?:${ID}\\.)?(${ID})`,
    ),
  ],
  comments: [["(*", "*)"]],
};

const SYMBOL = "[^\\s()\\[\\]{}\"';`,]+";
export const LISP: Grammar = {
  rules: [
    rule(
      `\\((?:[\\w.-]{1,40}/)?(?:def[\\w*-]{0,40}|define[\\w*-]{0,40}|cl-def[\\w*-]{0,40}|ns)[ \\t]+` +
        `(?:\\^(?::[\\w-]+|\\{[^}]{0,120}\\}|${SYMBOL})[ \\t]+){0,3}\\(?['#:]{0,3}(${SYMBOL})`,
    ),
  ],
  comments: [["#|", "|#"]],
};

export const ZIG: Grammar = {
  rules: [
    keyword('pub export inline noinline extern(?:\\s+"[^"]{0,20}")?', "fn"),
    top(`(?:(?:pub|export|extern|threadlocal)[ \\t]+)*(?:const|var)[ \\t]+(${ID})[^=]{0,80}=(?![^\\n]{0,40}@import)`),
    rule(
      `(?:pub[ \\t]+const[ \\t]+(${ID})[ \\t]*(?::[^=]{1,80})?=|const[ \\t]+(${ID})[ \\t]*=[ \\t]*(?:packed[ \\t]+|extern[ \\t]+)?(?:struct|enum|union|opaque|error)\\b)`,
    ),
  ],
};

export const NIM: Grammar = {
  rules: [
    rule(`(?:proc|func|method|template|macro|iterator|converter)[ \\t]+\`?(${ID})`),
    rule(
      `(?:type[ \\t]+)?(${ID})\\*?[ \\t]*(?:\\[[^\\]]{0,60}\\])?[ \\t]*(?:\\{\\.[^}]{0,80}\\.\\})?[ \\t]*=[ \\t]*(?:ref[ \\t]+|ptr[ \\t]+)?(?:object|enum|tuple|distinct|concept)\\b`,
    ),
    top(`(?:const|let|var)[ \\t]+(${ID})`),
  ],
  comments: [["#[", "]#"]],
  blocks: [{ open: at("const[ \\t]*$"), close: "", rules: [rule(`(${ID})\\*?[ \\t]*(?::[^=]{1,60})?=`)] }],
  strings: ['"""'],
};

export const JULIA: Grammar = {
  rules: [
    rule(`(?:@\\w+[ \\t]+){0,3}(?:function|macro)[ \\t]+(?:${ID}\\.){0,6}(${ID}!?)`),
    rule(`(?:mutable[ \\t]+)?struct[ \\t]+(${ID})`),
    rule(`(?:abstract|primitive)[ \\t]+type[ \\t]+(${ID})`),
    rule(`(?:bare)?module[ \\t]+(${ID})`),
    rule(`const[ \\t]+(${ID})[ \\t]*=`),
    top(
      `(?:@\\w+[ \\t]+){0,3}(?:${ID}\\.){0,6}(${ID}!?)(?:\\{[^}]{0,80}\\})?\\([^=]{0,160}\\)(?:::[\\w{},. ]{1,60})?(?:[ \\t]+where[ \\t][^=]{1,80})?[ \\t]*=(?!=)`,
    ),
  ],
  comments: [["#=", "=#"]],
  strings: ['"""'],
};

export const R: Grammar = {
  rules: [
    rule('[`"]?([A-Za-z.][\\w.]*(?:<-)?)[`"]?[ \\t]*(?:<-|=)[ \\t]*(?:function\\b|\\\\\\()'),
    top("([A-Za-z.][\\w.]*)[ \\t]*<-"),
    rule("set(?:Class|Generic|Method|RefClass)\\([ \\t]*['\"]([^'\"]{1,120})"),
  ],
};
