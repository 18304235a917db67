/** Metadata of rows as HTML. */
import type { Metadata } from "../../../checks/values.ts";
import { attempt } from "../../../errors.ts";
import { cutTo } from "./text.ts";

/** Bytes of HTML: of a value in a list, of the metadata of a row there, of a value and of all values on a row's own page. */
const SHORT_VALUE = 120;
const SHORT = 400;
const VALUE = 2_000;
const ALL = 8_000;

/** On a line, as a filter takes it: `scope=ops n=1`. Empty without metadata. */
export function shortMetadata(metadata: Metadata | undefined): string {
  let html = "";
  for (const [key, value] of Object.entries(metadata ?? {})) {
    const part = `<span class="pair">${shortened(key, SHORT_VALUE)}=${shortened(written(value), SHORT_VALUE)}</span> `;
    if (html.length + part.length > SHORT) return `${html}…`;
    html += part;
  }
  return html.trimEnd();
}

/** Names and values, one below the other. Empty without metadata. */
export function wholeMetadata(metadata: Metadata | undefined): string {
  const entries = Object.entries(metadata ?? {});
  let html = "";
  for (const [at, [key, value]] of entries.entries()) {
    const part = `<dt>${shortened(key, SHORT)}</dt><dd class="lines">${shortened(written(value), VALUE)}</dd>`;
    if (html.length + part.length > ALL) {
      html += `<dt>…</dt><dd>${entries.length - at} more</dd>`;
      break;
    }
    html += part;
  }
  return html === "" ? "" : `<dl>${html}</dl>`;
}

/** A text as it is, unless it could be taken for another value; everything else as JSON. */
function written(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "";
  const isPlain = value !== "" && !/^["[{\s]|\s$/.test(value) && attempt(() => JSON.parse(value)) === undefined;
  return isPlain ? value : JSON.stringify(value);
}

function shortened(text: string, bytes: number): string {
  const { html, shown } = cutTo(text, bytes);
  return `<bdi>${html}${shown < text.length ? "…" : ""}</bdi>`;
}
