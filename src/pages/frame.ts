/**
 * What every page has: one column of plain HTML without assets or motion. It works without a mouse, in dark mode, in
 * forced colors, enlarged to 400 %, on a screen 320 px wide, and with a screen reader. An authority's pages have no
 * script; the one of `svc ui` only adds to pages that work without it.
 */
import { createHash } from "node:crypto";
import { STYLE } from "./style.ts";
import { escaped } from "./text.ts";

export interface Frame {
  /** The state of the page, as it stands in the list of tabs. */
  readonly title: string;
  /** Where the page is from: the host, or this machine. */
  readonly site: string;
  /** HTML, of which everything that is not ours was escaped. */
  readonly content: string;
  /** HTML of the header, in addition to where the page is from: then the page is as wide as tables need. */
  readonly header?: string;
  /** Style after that of all pages; `policyOf` has to name it. */
  readonly style?: string;
  /** A script at the end of the page; `policyOf` has to name it. */
  readonly script?: string;
}

/** A whole page. */
export function framed({ title, site, content, header, style = "", script }: Frame): string {
  const isWide = header !== undefined;
  const skip = isWide ? '<a class="skip" href="#content">Skip to the content</a>\n' : "";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escaped(title)} · svc</title>
<style>${STYLE}${style}</style>
</head>
<body${isWide ? ' class="wide"' : ""}>
${skip}<header><p><strong>svc</strong> on ${escaped(site)}</p>${header ?? ""}</header>
<main${isWide ? ' id="content"' : ""}>${content}</main>
${script === undefined ? "" : `<script>${script}</script>\n`}</body>
</html>
`;
}

/**
 * The policy of a page (CSP level 3): allows only its style, its script if it has one, and forms to its own site.
 * @param style what `Frame.style` is @param script what `Frame.script` is
 * @param more further directives, as `img-src 'self'`
 */
export function policyOf(style = "", script?: string, more: readonly string[] = []): string {
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return [
    "default-src 'none'",
    `style-src ${hash(STYLE + style)}`,
    ...(script === undefined ? [] : [`script-src ${hash(script)}`]),
    ...more,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");
}
