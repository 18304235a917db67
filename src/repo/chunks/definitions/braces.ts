/** Languages that write a function as `type name(parameters) {`: the family of C and Java. */
import { at, type Grammar, ID, keyword, type Rule, rule, type SignatureStyle, SLASHES, top, words } from "./grammar.ts";

// What follows a C++ function's parameters, up to its body. The word boundary keeps it linear: a word is one step.
const TRAILING =
  "(?:(?:const|volatile|noexcept|override|final|try|mutable|throw|[A-Z][A-Z_]*)\\b\\s*(?:\\([^()]{0,80}\\)\\s*)?|&&?\\s*){0,6}";
const C_STYLE: SignatureStyle = {
  after: at(`${TRAILING}(?:->[^;{}=]{1,100})?\\{`),
  afterBare: at(`${TRAILING}(?:\\{|:[^:;?])`),
  modifiers: words("static inline extern constexpr virtual explicit friend const volatile"),
  topWithoutType: true,
};

/** The last word before a brace, a colon or the line end: attributes and macros may precede a type's name. */
const C_RULES: readonly Rule[] = [
  rule(`#[ \\t]{0,20}define[ \\t]+(${ID})`),
  rule(
    "(?:typedef[ \\t]+|static[ \\t]+|const[ \\t]+)*(?:enum[ \\t]+(?:class|struct)|struct|union|enum|class)[ \\t]+" +
      `(?:(?:alignas|__attribute__|__declspec|[A-Z][A-Z0-9_]+)[ \\t]?\\([^\\n]{0,60}?\\)\\)?[ \\t]+)?(?:[A-Z][A-Z0-9_]+[ \\t]+)?` +
      `(?:${ID}::){0,4}(${ID})[ \\t]*(?:<[^{};]{0,120}>[ \\t]*)?(?:final[ \\t]*)?(?:\\{|:[^:]|//|/\\*|$)`,
  ),
  top(`\\}[ \\t]*(?:__\\w+[ \\t]*(?:\\([^\\n]{0,40}\\)\\)[ \\t]*)?)?\\*?(${ID})[ \\t]*(?:,[^;]{0,100})?;`),
  rule(`typedef\\b[^;{}()]{1,200}?[ \\t*&](${ID})[ \\t]*(?:\\[[^\\]]{0,60}\\][ \\t]*)*;`),
  rule(`typedef\\b[^;{}()]{1,200}\\([ \\t]*[*^][ \\t]*(${ID})[ \\t]*\\)`),
  rule(`typedef\\b[^;{}()]{1,200}?[ \\t*&](${ID})[ \\t]*\\(|typedef\\b[^;{}()]{1,200}\\((${ID})\\)[ \\t]*\\(`),
  rule(`using[ \\t]+(${ID})[ \\t]*=`),
  rule(`(?:inline[ \\t]+)?namespace[ \\t]+(?:${ID}::){0,6}(${ID})[ \\t]*(?:\\{|$)`),
  rule(`(?:(?:template[ \\t]*<[^\\n]{0,80}>[ \\t]*))?concept[ \\t]+(${ID})[ \\t]*=`),
  // A variable with a value in the first column; the type takes a word before the name.
  top(`(?:${ID}[ \\t*&]+){1,6}(?:${ID}::){0,3}(${ID})[ \\t]*(?:\\[[^\\]]{0,60}\\][ \\t]*){0,3}=(?!=)`),
  rule(
    `(?:static|inline)[ \\t]+constexpr[ \\t]+(?:${ID}[ \\t*&:]+){1,4}(${ID})[ \\t]*(?:\\[[^\\]]{0,60}\\])?[ \\t]*(?:=(?!=)|\\{)`,
  ),
];

const C_ENUM = {
  open: at("(?:typedef[ \\t]+)?enum\\b[^;{}=()]{0,120}(?:\\{[ \\t]*(?:/[/*].*)?)?$"),
  close: "}",
  rules: [rule(`(${ID})[ \\t]*(?:=|,|/|$)`)],
};

export const C: Grammar = {
  rules: C_RULES,
  signature: C_STYLE,
  comments: SLASHES,
  before: [
    "et[",
    at(
      '(?:extern[ \\t]+"C(?:\\+\\+)?"|template[ \\t]*<[^<>\\n]{0,100}(?:<[^<>\\n]{0,60}>[^<>\\n]{0,60}){0,3}>|\\[\\[[^\\]\\n]{0,80}\\]\\])[ \\t]*',
    ),
  ],
  blocks: [C_ENUM],
};

export const OBJC: Grammar = {
  ...C,
  rules: [
    rule(`@(?:interface|implementation|protocol)[ \\t]+(${ID})(?![^;]*;)`),
    top(`[-+][ \\t]*\\([^;{}]{1,100}?\\)[ \\t]*(${ID})(?![^;]*;)`),
    rule(`typedef[ \\t]+NS_\\w+[ \\t]*\\([^,)]*,[ \\t]*(${ID})`),
    ...C_RULES,
  ],
};

const JAVA_MODIFIERS =
  "public private protected internal static final abstract sealed non-sealed partial override virtual async " +
  "synchronized default native readonly unsafe extern strictfp transient volatile required external factory late " +
  "covariant ref file new";
const JAVA_STYLE: SignatureStyle = {
  after: /^(?:(?:throws|where)\b[^;{}]{0,200})?(?:\{|;|=>|default\b)/,
  afterBare: /^(?:throws\b[^;{}]{0,200})?(?::\s*(?:base|this|super|assert)?[^;{}]{0,200})?(?:\{)/,
  modifiers: words(JAVA_MODIFIERS.replace("non-sealed ", "")),
};
const CONSTANT_MODIFIERS = "(?:(?:public|private|protected|internal|static|final|const|new|readonly)[ \\t]+){1,6}";

const JAVA_RULES: readonly Rule[] = [
  keyword(JAVA_MODIFIERS, "class interface enum record @interface"),
  rule(
    `(?=[^=;({]{0,100}\\b(?:final|const|readonly)\\b)(?=[^=;({]{0,100}\\b(?:static|public|protected|internal|private)\\b)${CONSTANT_MODIFIERS}` +
      `${ID}[\\w.<>,?[\\] ]{0,80}[ \\t](${ID})[ \\t]*=(?!=)`,
  ),
];

export const JAVA: Grammar = {
  rules: JAVA_RULES,
  signature: JAVA_STYLE,
  comments: SLASHES,
  strings: ['"""'],
  before: [
    "@",
    at("@(?!interface\\b)[\\w.]+(?:\\([^()\\n]{0,120}(?:\\([^()\\n]{0,60}\\)[^()\\n]{0,60}){0,3}\\))?[ \\t]+"),
  ],
};

export const GROOVY: Grammar = {
  ...JAVA,
  rules: [
    ...JAVA_RULES,
    keyword(JAVA_MODIFIERS, "trait"),
    keyword(JAVA_MODIFIERS, "def", `(${ID})[ \\t]*\\(`),
    keyword("", "task", `(${ID})`),
  ],
};

export const CSHARP: Grammar = {
  rules: [
    keyword(
      JAVA_MODIFIERS,
      "class interface enum record(?:\\s+(?:class|struct))? struct namespace",
      `(?:${ID}\\.){0,8}(${ID})`,
    ),
    rule(
      `(?:(?:${JAVA_MODIFIERS.replaceAll(" ", "|")})[ \\t]+)*delegate[ \\t]+[\\w.<>,?[\\] ]{1,80}[ \\t](${ID})[ \\t]*[(<]`,
    ),
    // A property: its accessors follow, or its value.
    rule(
      `(?:(?:public|private|protected|internal|static|abstract|override|virtual|sealed|required|new|readonly)[ \\t]+)+` +
        `(?:${ID})[\\w.<>,?[\\] ]{0,80}[ \\t](${ID})[ \\t]*(?:\\{|=>|$)`,
    ),
    rule(`(?:(?:public|private|protected|internal|static|new)[ \\t]+)*event[ \\t]+[\\w.<>,?[\\]]{1,80}[ \\t]+(${ID})`),
    JAVA_RULES[1]!,
  ],
  signature: { ...JAVA_STYLE, dotted: true },
  comments: SLASHES,
  before: ["[", at("\\[[A-Za-z][^\\]\\n]{0,160}\\][ \\t]*")],
};

export const DART: Grammar = {
  rules: [
    keyword("abstract base final sealed interface mixin macro", "class mixin enum extension(?:\\s+type)? typedef"),
    rule(`(?:${ID}(?:<[^;=(){}]{0,60}>)?\\??[ \\t]+)?(?:get|set)[ \\t]+(${ID})`),
    top(`(?:static[ \\t]+|late[ \\t]+)*(?:const|final)[ \\t]+(?:${ID}[\\w<>,? ]{0,60}[ \\t])?(${ID})[ \\t]*=`),
  ],
  signature: { ...JAVA_STYLE, after: /^(?:async\*?|sync\*)?\s*(?:\{|;|=>)/ },
  comments: SLASHES,
  strings: ["'''", '"""'],
  before: ["@", at("@[\\w.]+(?:\\([^()\\n]{0,120}\\))?[ \\t]+")],
};
