/**
 * Markdown of a row as HTML. An agent wrote it, or a page that the agent has read: it may have no HTML, loads nothing, and a
 * link leads to the address that stands beside it. Loaded with the first row that is shown.
 */
import MarkdownIt, { type Token } from "markdown-it";
import { escaped, visible, visibleLines } from "../../../pages/text.ts";

/** Schemes that a link may have; others, and links to pages of this site, stay as they are written. */
const LINKED = /^(?:https?:\/\/|mailto:)/i;
/** Headings begin below those of the page. */
const HEADING_OFFSET = 2;

const markdown = new MarkdownIt("default", { html: false, linkify: false, typographer: false });
markdown.validateLink = (address) => LINKED.test(address);

/** @param text of any kind: what is not Markdown is a paragraph */
export function markdownHtml(text: string): string {
  return markdown.render(visibleLines(text));
}

const { rules } = markdown.renderer;

// An entity may stand for a character that was not in the source.
rules.text = (tokens, at) => escaped(visible(tokens[at]!.content));

// The name of a language would stand in an attribute, with entities that are decoded.
rules.fence = (tokens, at) => `<pre><code>${escaped(visibleLines(tokens[at]!.content))}</code></pre>\n`;

rules.link_open = (tokens, at) => {
  const address = addressOf(tokens[at]!);
  return address === undefined
    ? ""
    : `<a href="${escaped(address)}" rel="noreferrer noopener" target="_blank" referrerpolicy="no-referrer">`;
};

rules.link_close = (tokens, at) => {
  const opened = openingOf(tokens, at);
  const address = addressOf(tokens[opened]!);
  if (address === undefined) return "";
  const inside = tokens.slice(opened + 1, at).map(({ content }) => content);
  return inside.join("") === address ? "</a>" : `</a> <span class="address">(${escaped(visible(address))})</span>`;
};

// Nothing is loaded: the image's server would learn when the text is read.
rules.image = (tokens, at) => {
  const { content } = tokens[at]!;
  const address = String(tokens[at]!.attrGet("src") ?? "");
  const alt = content === "" ? "" : ` ${escaped(visible(content))}`;
  const place = escaped(visible(address));
  const isInLink = tokens.slice(0, at).reduce((depth, { type }) => depth + step(type), 0) > 0;
  const link = `<a href="${escaped(address)}" rel="noreferrer noopener" target="_blank" referrerpolicy="no-referrer">${place}</a>`;
  return `<span class="image">[Image${alt}: ${isInLink || !LINKED.test(address) ? place : link}]</span>`;
};

for (const rule of ["heading_open", "heading_close"]) {
  rules[rule] = (tokens, at, options, _, self) => {
    const token = tokens[at]!;
    token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + HEADING_OFFSET)}`;
    return self.renderToken(tokens, at, options);
  };
}

// A narrow screen shows a table as a list, in which each cell has its column's name: see src/pages/lists.ts.
rules.td_open = (_tokens, _at, _options, env) => {
  const { columns, next } = env as unknown as Cells;
  (env as unknown as Cells).next = next + 1;
  return `<td role="cell" data-column="${escaped(visible(columns[next] ?? ""))}"><span>`;
};
rules.td_close = () => "</span></td>";
rules.th_open = () => '<th scope="col" role="columnheader">';
rules.tr_open = (_tokens, _at, _options, env) => {
  (env as unknown as Cells).next = 0;
  return '<tr role="row">';
};
rules.table_open = (tokens, at, _options, env) => {
  const end = tokens.findIndex(({ type }, i) => i > at && type === "thead_close");
  const heads = tokens.slice(at, end).filter(({ type }) => type === "inline");
  const columns = heads.map(({ content }) => content);
  Object.assign(env as unknown as Cells, { columns, next: 0 });
  return '<table role="table">';
};
rules.thead_open = () => '<thead role="rowgroup">';
rules.tbody_open = () => '<tbody role="rowgroup">';

/** The columns of the table that is rendered, and which one is next. */
interface Cells {
  columns: string[];
  next: number;
}

function addressOf(token: Token): string | undefined {
  const address = String(token.attrGet("href") ?? "");
  return LINKED.test(address) ? address : undefined;
}

/** Where the link that ends here begins: links do not stand within each other. */
function openingOf(tokens: readonly Token[], end: number): number {
  return tokens.findLastIndex(({ type }, at) => at < end && type === "link_open");
}

function step(type: string): number {
  return type === "link_open" ? 1 : type === "link_close" ? -1 : 0;
}
