/**
 * What every page of the authority has: one column of plain HTML without scripts, assets or motion. It works without a
 * mouse, in dark mode, in forced colors, enlarged to 400 %, on a screen 320 px wide, and with a screen reader.
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
}

/** A whole page. */
export function framed({ title, site, content, header }: Frame): string {
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
<style>${STYLE}</style>
</head>
<body${isWide ? ' class="wide"' : ""}>
${skip}<header><p><strong>svc</strong> on ${escaped(site)}</p>${header ?? ""}</header>
<main${isWide ? ' id="content"' : ""}>${content}</main>
</body>
</html>
`;
}

/** Allows only this style and a form to this site (CSP level 3). */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");
