/**
 * One regular expression for all lines of a language that may matter. The engine that runs it goes over the others
 * without a step of ours: to look at each line took three times as long, half of it to compile the code that did.
 */
import { type Grammar, SIGNED } from "./grammar.ts";

const finders = new WeakMap<Grammar, RegExp>();

/** Matches, from the beginning of a line, those that rules, blocks, comments or decorators may apply to. */
export function finderOf(grammar: Grammar): RegExp {
  const known = finders.get(grammar);
  if (known) return known;
  const shared = [...(grammar.comments ?? []).map(([open]) => escaped(open.trimStart()))];
  if (grammar.before) shared.push(`[${escaped(grammar.before[0])}]`);
  const isTop = (at: string | undefined) => at !== "inner";
  const isInner = (at: string | undefined) => at !== "top";
  const sources = (isFor: (at: string | undefined) => boolean) =>
    grammar.rules.filter((rule) => isFor(rule.at)).map((rule) => rule.pattern.source);
  const top = [...shared, ...sources(isTop), ...(grammar.blocks ?? []).map(({ open }) => open.source)];
  const inner = [...shared, ...sources(isInner)];
  if (grammar.signature) {
    top.push(SIGNED[0]);
    inner.push(SIGNED[1]);
  }
  const flags = grammar.rules.some(({ pattern }) => pattern.flags.includes("i")) ? "gim" : "gm";
  const blanks = "[ \\t\\f]";
  const finder = new RegExp(`^(?:${alternatives(top)}|${blanks}+(?!${blanks})(?:${alternatives(inner)}))`, flags);
  finders.set(grammar, finder);
  return finder;
}

/** The names within are of no use here, and would be kept for each match. */
function alternatives(sources: readonly string[]): string {
  return sources
    .map((source) => source.replace(/\\.|\[(?:\\.|[^\]])*\]|\((?!\?)/gs, (part) => (part === "(" ? "(?:" : part)))
    .join("|");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/#-]/g, "\\$&");
}
