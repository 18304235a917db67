/**
 * Plots as inline SVG. Lengths are in em and percent, so that a plot fits every screen and grows with the text. The
 * figures are in a table after it: to a screen reader a plot is an image with a title and a description.
 */
import { escaped, visible } from "../../pages/text.ts";

/** One bar. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The value as a person reads it. */
  readonly shown: string;
}

export interface Plot {
  /** Distinguishes the plots of a page. */
  readonly id: string;
  readonly title: string;
  /** What is largest, in a sentence, and where the figures are. */
  readonly description: string;
  readonly bars: readonly Bar[];
}

/** Characters of a label. */
const LABEL_MAX = 24;
/** Height of a bar with its label, in em. */
const BAR_EM = 2.5;
/** Height of the columns, in em, and width of one that stands alone. */
const COLUMN_EM = 8;
const ALONE_PERCENT = 12;

/** Bars one below the other, each with its label and value. */
export function barPlot(plot: Plot): string {
  const most = Math.max(1, ...plot.bars.map(({ value }) => value));
  const parts = plot.bars.map(({ label, value, shown }, at) => {
    const top = at * BAR_EM;
    return `<text y="${em(top + 1)}">${label === "" ? "" : labelled(label)}</text><text x="100%" y="${em(top + 1)}" text-anchor="end">${escaped(shown)}</text>
      <rect class="track" y="${em(top + 1.35)}" width="100%" height=".6em"/><rect y="${em(top + 1.35)}" width="${percent(value, most)}" height=".6em"/>`;
  });
  return figure(plot, plot.bars.length * BAR_EM, parts.join("\n"));
}

/** Columns side by side, the first and the last with their labels. */
export function columnPlot(plot: Plot): string {
  const { bars } = plot;
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const largest = bars.find(({ value }) => value === most);
  // One column alone would be a block as wide as the page.
  const width = bars.length === 1 ? ALONE_PERCENT : 100 / bars.length;
  const columns = bars.flatMap(({ label, value, shown }, at) => {
    if (value === 0) return [];
    // A column of few rows stays visible beside one of many.
    const height = Math.max(0.15, (value / most) * COLUMN_EM);
    const place = `x="${(at * width).toFixed(2)}%" y="${em(1.5 + COLUMN_EM - height)}"`;
    const title = `<title>${escaped(`${label}: ${shown}`)}</title>`;
    return [`<rect ${place} width="${(width * 0.8).toFixed(2)}%" height="${em(height)}">${title}</rect>`];
  });
  const bottom = em(COLUMN_EM + 2.9);
  const [first, last] = [bars[0]?.label ?? "", bars.at(-1)?.label ?? ""];
  const marks = `<text y="1em">${escaped(`highest: ${largest?.shown ?? "0"}`)}</text>
    <rect class="axis" y="${em(COLUMN_EM + 1.5)}" width="100%" height=".1em"/><text y="${bottom}">${escaped(first)}</text>
    ${bars.length > 1 ? `<text x="100%" y="${bottom}" text-anchor="end">${escaped(last)}</text>` : ""}`;
  return figure(plot, COLUMN_EM + 3.3, `${columns.join("\n")}${marks}`);
}

function figure({ id, title, description }: Plot, height: number, content: string): string {
  return `<figure class="plot"><figcaption>${escaped(title)}</figcaption>
    <svg role="img" aria-labelledby="${id}-title" aria-describedby="${id}-about" width="100%" height="${em(height)}"><title id="${id}-title">${escaped(title)}</title><desc id="${id}-about">${escaped(description)}</desc>
    ${content}</svg></figure>`;
}

/** A label of others: cut, and its direction ends with it (U+2068, U+2069), as there is no `bdi` in SVG. */
function labelled(label: string): string {
  const characters = [...visible(label.slice(0, 4 * LABEL_MAX))];
  const cut = characters.length > LABEL_MAX ? `${characters.slice(0, LABEL_MAX - 1).join("")}…` : characters.join("");
  return `\u2068${escaped(cut)}\u2069`;
}

function em(length: number): string {
  return `${Number(length.toFixed(2))}em`;
}

function percent(value: number, most: number): string {
  return `${((100 * value) / most).toFixed(2)}%`;
}
