/** What differs between two texts, as HTML. */
import { type ChangeObject, diffWordsWithSpace } from "diff";
import { cutTo } from "./text.ts";

/** UTF-16 units of each text that are compared, and milliseconds that it may take. */
const COMPARED = 20_000;
const TIMEOUT_MS = 300;
/** Units of what did not change that stand beside a change. */
const CONTEXT = 80;

/** The parts of two texts; undefined where they differ so much that it would take long. */
function partsOf(before: string, after: string): ChangeObject<string>[] | undefined {
  return diffWordsWithSpace(before.slice(0, COMPARED), after.slice(0, COMPARED), { timeout: TIMEOUT_MS });
}

/** One text with what was deleted and added, in at most `bytes` bytes; long parts that did not change are shortened. */
export function differenceHtml(before: string, after: string, bytes: number): string {
  const parts = partsOf(before, after) ?? [
    { value: before.slice(0, COMPARED), removed: true, added: false, count: 1 },
    { value: after.slice(0, COMPARED), removed: false, added: true, count: 1 },
  ];
  const isCut = before.length > COMPARED || after.length > COMPARED;
  let html = "";
  for (const [at, part] of parts.entries()) {
    const [first, last] = [at === 0, at === parts.length - 1];
    const text = part.added || part.removed ? part.value : shortened(part.value, first, last && !isCut);
    const left = bytes - Buffer.byteLength(html) - TAG_BYTES;
    const { html: shown, shown: units } = cutTo(text, Math.max(0, left));
    const tag = part.added ? "ins" : part.removed ? "del" : undefined;
    html += tag === undefined ? shown : `<${tag}>${shown}</${tag}>`;
    if (units < text.length) return `${html}…`;
  }
  return isCut ? `${html}…` : html;
}

/** Each of two texts with what the other one lacks marked, in at most `bytes` bytes each. */
export function sidesHtml(before: string, after: string, bytes: number): { before: string; after: string } {
  const parts = partsOf(before, after);
  if (parts === undefined) return { before: cutTo(before, bytes).html, after: cutTo(after, bytes).html };
  const side = (leftOut: "added" | "removed", tag: "ins" | "del") => {
    let html = "";
    for (const part of parts.filter((one) => !one[leftOut])) {
      const isOwn = part.added || part.removed;
      const { html: shown, shown: units } = cutTo(part.value, Math.max(0, bytes - Buffer.byteLength(html) - TAG_BYTES));
      html += isOwn ? `<${tag}>${shown}</${tag}>` : shown;
      if (units < part.value.length) return `${html}…`;
    }
    return html;
  };
  return { before: side("added", "del"), after: side("removed", "ins") };
}

/** What stands beside changes. @param isFirst nothing stands before it @param isLast nothing comes after it */
function shortened(text: string, isFirst: boolean, isLast: boolean): string {
  const [before, after] = [isFirst ? 0 : CONTEXT, isLast ? 0 : CONTEXT];
  if (text.length <= before + after + CONTEXT) return text;
  const begins = text.slice(0, before).replace(/\S*$/, "");
  const ends = text.slice(text.length - after, after === 0 ? 0 : undefined).replace(/^\S*/, "");
  return `${begins}…${ends}`;
}

/** Bytes of the tags around a part. */
const TAG_BYTES = 16;
