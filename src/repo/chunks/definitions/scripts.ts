/** JavaScript and TypeScript, and the files that hold them. */
import { at, type Grammar, ID, inner, type Line, type Rule, rule, SLASHES, top } from "./grammar.ts";
import { closing, pastBlank } from "./signature.ts";

const MODIFIERS = "export default declare abstract async";
const IMPORTED = "(?![ \\t]*(?:await[ \\t]+)?(?:require|import|__import\\w*|_interop\\w*)\\b)";

/** What a function's value begins with, up to its parameters. */
const FUNCTION = at(
  `(?:/\\*[^\\n]{0,80}?\\*/[ \\t]*)?(?:async[ \\t]*)?(?:function\\b|class\\b|${ID}[ \\t]*=>|(?:<[^<>()]{0,120}>[ \\t]*)?(\\())`,
);
/** What a line must go on with, that {@link FUNCTION} need not be asked of every value. */
const VALUE = `(?=[ \\t]*(?:$|/\\*|[(<]|(?:async|function|class)\\b|${ID}[ \\t]*=>))`;
/** What stands between an arrow function's parameters and its arrow: a type, which may hold arrows itself. */
const ARROW = /^(?::[^;]{1,200}?)?=>/;
/** What stands between a method's parameters and its body. */
const BODY = /^(?::[^;={}]{1,120}(?:\{[^{}\n]{0,120}\}[^;={}]{0,60})?)?\{/;
/** The end of a method without a body: in an interface, abstract, or of several signatures. */
const NO_BODY = /^:[^;={}()?]{1,120}(?:;|,?\r?(?:\n|$))/;

/** Whether the value at `from` is a function or a class. */
function isFunction({ text }: Line, from: number): boolean {
  const start = pastBlank(text, from);
  const match = FUNCTION.exec(text.slice(start, start + 160));
  if (!match) return false;
  if (match[1] === undefined) return true;
  return ARROW.test(afterParameters(text, start + match[0].length - 1, 240));
}

/** Whether the parameters that begin before `from` are followed by a body. */
function hasBody({ text }: Line, from: number): boolean {
  return BODY.test(afterParameters(text, from - 1, 320));
}

function hasBodyOrType({ text }: Line, from: number): boolean {
  const after = afterParameters(text, from - 1, 320);
  return BODY.test(after) || NO_BODY.test(after);
}

/** At most so many characters after the parenthesis that closes the one at `open`; none where it is not closed. */
function afterParameters(text: string, open: number, most: number): string {
  const close = closing(text, open);
  if (close === -1) return "";
  const next = pastBlank(text, close);
  return text.slice(next, next + most);
}

// Calls that begin a line are many: those that a look at their line excludes are not looked at any further.
const NO_CALL =
  "(?!(?:if|for|while|switch|catch|return|await|super|throw|new|import)\\b)" +
  "(?![^\\n]{0,300}(?:\\)[;,]|=>[ \\t]*[{(]?|\\bfunction\\b[^\\n]{0,80}\\{)[ \\t]*$)";
const CLOSED_OR_ON = "(?=[^()]{0,200}(?:\\([^()]{0,100}\\)[^()]{0,100}){0,4}(?:\\)[ \\t]*(?:[:{]|$)|$))";
const METHOD = at(
  `${NO_CALL}(?:(?:public|private|protected|static|async|readonly|override|abstract|declare|get|set|accessor)[ \\t]+)*` +
    `\\*?[ \\t]?(?:#|\\[?(?:Symbol\\.)?)(${ID})\\]?\\??(?:<[^<>()]{0,80}(?:<[^<>()]{0,60}>[^<>()]{0,60}){0,2}>)?[ \\t]?` +
    `\\(${CLOSED_OR_ON}`,
);

const RULES: readonly Rule[] = [
  rule(
    `(?:(?:${MODIFIERS.replaceAll(" ", "|")})[ \\t]+)*` +
      `(?:function[ \\t]*\\*[ \\t]*|(?:function|class|interface|namespace|(?:const[ \\t]+)?enum)[ \\t]+)(${ID})`,
  ),
  rule(`(?:(?:export|declare)[ \\t]+)*type[ \\t]+(${ID})[ \\t]*(?:<|=(?!=)|$)`),
  rule(`(?:(?:export|declare)[ \\t]+)*module[ \\t]+(${ID})[ \\t]*\\{`),
  top(`(?:(?:export|declare)[ \\t]+)*(?:const|let|var)[ \\t]+(${ID})[ \\t]*(?:$|[;,:]|=${IMPORTED})`),
  {
    ...inner(`(?:export[ \\t]+)?(?:const|let|var)[ \\t]+(${ID})[ \\t]*(?::[^=]{1,120})?=(?!=)${VALUE}`),
    follows: isFunction,
  },
  rule(`(?:module\\.)?exports\\.(${ID})[ \\t]*=(?!=)${IMPORTED}`),
  {
    ...rule(
      "(?:(?:public|private|protected|static|readonly|override)[ \\t]+)*" +
        `(?:${ID}\\.){0,6}['"]?#?(${ID})['"]?[ \\t]*(?::|(?::[^=]{1,100})?=(?!=))${VALUE}`,
    ),
    follows: isFunction,
  },
];

const BEFORE = [
  "@",
  at("@[\\w.]+(?:\\([^()\\n]{0,120}(?:\\([^()\\n]{0,60}\\)[^()\\n]{0,60}){0,3}\\))?[ \\t]+"),
] as const;

export const JAVASCRIPT: Grammar = {
  rules: [...RULES, { pattern: METHOD, at: "inner", bare: true, follows: hasBody }],
  comments: SLASHES,
  before: BEFORE,
};

export const TYPESCRIPT: Grammar = {
  rules: [...RULES, { pattern: METHOD, at: "inner", bare: true, follows: hasBodyOrType }],
  comments: SLASHES,
  before: BEFORE,
};

/** A file of markup with TypeScript in it. */
export const MARKUP: Grammar = { ...TYPESCRIPT, comments: [...SLASHES, ["<!--", "-->"]] };
