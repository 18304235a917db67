/**
 * What every page of the authority has: one column of plain HTML without scripts, assets or motion. It works without a
 * mouse, in dark mode, in forced colors, enlarged to 400 %, on a screen 320 px wide, and with a screen reader.
 */
import { createHash } from "node:crypto";

export interface Frame {
  /** The state of the page, as it stands in the list of tabs. */
  readonly title: string;
  /** Where the page is from: the host, or this machine. */
  readonly site: string;
  /** HTML, of which everything that is not ours was escaped. */
  readonly content: string;
}

/** A whole page. */
export function framed({ title, site, content }: Frame): string {
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
<body>
<header><p><strong>svc</strong> on ${escaped(site)}</p></header>
<main>${content}</main>
</body>
</html>
`;
}

/** Text as HTML, within an element or a quoted attribute. */
export function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign);
}

/**
 * Text on its ground has a contrast of 7 at least, in both schemes, and what bounds a control 3. Borders are there in
 * forced colors too, where grounds and shadows are not.
 */
const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #4a515a; --paper: #fff; --ground: #eef0f3; --line: #737b86;
  --edge: #d5d9df; --accent: #0b4f96; --on-accent: #fff; --alarm: #8f1c17; --good: #0f5b2e; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceef0; --soft: #b9c0c9; --paper: #1c2024; --ground: #111316;
  --line: #8b939e; --edge: #343a42; --accent: #8ec5ff; --on-accent: #0b1a2a; --alarm: #ffaea6; --good: #86dba2; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; padding: min(1rem, 4vw); min-height: 100vh; display: flex; flex-direction: column; align-items: center;
  background: var(--ground); color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header, main { width: 100%; max-width: 29rem; }
header { margin-top: auto; color: var(--soft); font-size: .9375rem; }
header p { margin: 0 0 .75rem; }
main { margin-bottom: auto; padding: min(2rem, 6vw); background: var(--paper); border: 1px solid var(--edge);
  border-radius: .75rem; }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: .75rem 0; }
main > :last-child { margin-bottom: 0; }
code { white-space: nowrap; }
.code { padding: .75rem .25rem; text-align: center; font: 600 clamp(1.25rem, 8vw, 1.75rem)/1.2 ui-monospace, monospace;
  letter-spacing: .08em; border: 1px solid var(--line); border-radius: .5rem; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.alert { padding: .25rem .75rem; border-left: .25rem solid currentColor; color: var(--alarm); }
.good { color: var(--good); }
.hint { margin: .25rem 0; color: var(--soft); font-size: .9375rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; padding: .6rem .75rem; font: inherit; color: inherit; background: transparent;
  border: 1px solid var(--line); border-radius: .5rem; }
input[aria-invalid] { border: 2px solid var(--alarm); }
::placeholder { color: var(--soft); opacity: 1; }
#user_code { font-family: ui-monospace, monospace; letter-spacing: .08em; text-transform: uppercase; }
button { width: 100%; margin-top: .75rem; padding: .7rem .5rem; font: inherit; font-weight: 600; color: inherit;
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; cursor: pointer; }
button.primary { margin-top: 1.25rem; color: var(--on-accent); background: var(--accent); border-color: var(--accent); }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 24rem) { dl { grid-template-columns: 1fr; gap: 0; } dd + dt { margin-top: .5rem; } }
@media (forced-colors: active) { button.primary { border-width: 3px; } }
`;

/** Allows only this style and a form to this site (CSP level 3). */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");
