/** The style of all pages. One for all of them: the policy of a page names its hash. */

/**
 * Text on its ground has a contrast of 7 at least, in both schemes, and what bounds a control 3. Borders are there in
 * forced colors too, where grounds and shadows are not.
 */
const BASE = `
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
h1, label { hyphens: auto; }
p { margin: .75rem 0; }
main > :last-child { margin-bottom: 0; }
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
input, select { width: 100%; padding: .6rem .75rem; font: inherit; color: inherit; background: transparent;
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
@media (forced-colors: active) { .primary { border-width: 3px; } }
`;

/** A table as a list of its rows, by the width of the screen and, where text alone is enlarged, by that in characters. */
const LIST = `
  table, caption, tbody, tr, tbody th, td { display: block; }
  thead { display: block; position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  thead th { display: block; width: 1px; overflow: hidden; }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  tbody th, td { padding: .125rem 0; border: 0; }
  td { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
  td::before { content: attr(data-column) / ""; flex: 0 0 min(8rem, 100%); color: var(--soft); }
  td > span { flex: 1 1 12rem; min-width: 0; }
  .whole, .utc { white-space: normal; }
`;

/**
 * What the administrator's pages add: a wide column, sections, tables. A table that has no room is a list of its rows,
 * each cell with its column's name; its roles stand in the HTML, as `display` would take them away.
 */
const ADMINISTRATION = `
.wide header, .wide main { max-width: 72rem; }
.wide header { margin-top: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
  justify-content: space-between; padding-bottom: .75rem; }
.wide header p { margin: 0; }
.wide header form { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
.wide header button { width: auto; margin: 0; padding: .25rem .75rem; }
.wide main { margin-bottom: 0; padding: min(1.5rem, 5vw); container-type: inline-size; }
.wide main form, .wide main > p, .narrow { max-width: 40rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: .5rem; top: .5rem; padding: .5rem; background: var(--paper); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 0; padding: 0; list-style: none; }
nav a { display: inline-block; padding: .25rem 0; font-weight: 600; }
nav a[aria-current] { color: inherit; text-decoration: none; border-bottom: .1875rem solid currentColor; }
h2 { margin: 2rem 0 .5rem; font-size: 1.1875rem; line-height: 1.3; }
fieldset { margin: 1rem 0 0; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
.choice { display: flex; flex-wrap: wrap; gap: .25rem .625rem; align-items: center; min-height: 2.75rem; }
.choice label { margin: 0; font-weight: 400; }
input[type=radio] { width: 1.125rem; height: 1.125rem; margin: 0; padding: 0; accent-color: var(--accent); }
.choice .number { width: 8rem; }
.search { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: end; margin: 1rem 0; }
.wide main .search { max-width: 60rem; }
.search > div { flex: 1 1 12rem; }
.search > div:first-child { flex-basis: 20rem; }
.search label { margin-top: 0; }
.search input, .search select { height: 2.875rem; padding-block: 0; }
.search button, .wide main button, a.button { width: auto; min-width: 8rem; padding: .6rem 1.25rem; }
.search button { margin: 0; }
a.button { display: inline-block; text-align: center; font-weight: 600; text-decoration: none; color: inherit;
  border: 1px solid var(--line); border-radius: .5rem; }
a.primary { color: var(--on-accent); background: var(--accent); border-color: var(--accent); }
.actions { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: center; margin: 1.25rem 0 0; }
.actions button, .actions button.primary { margin: 0; }
.done { padding: .25rem .75rem; border-left: .25rem solid var(--good); }
.ended { font-weight: 600; color: var(--alarm); }
.secret { padding: .75rem; border: 1px solid var(--line); border-radius: .5rem; font: .9375rem/1.5 ui-monospace, monospace;
  white-space: pre-wrap; user-select: all; -webkit-user-select: all; }
.utc { display: block; color: var(--soft); font-size: .875rem; }
table { width: 100%; border-collapse: collapse; margin: .5rem 0 0; font-size: 1rem; }
caption { padding: .25rem 0; text-align: start; color: var(--soft); }
th, td { padding: .5rem .75rem .5rem 0; text-align: start; vertical-align: top; border-bottom: 1px solid var(--edge); }
thead th { border-bottom-color: var(--line); white-space: nowrap; }
tbody th { font-weight: 600; }
th, td { overflow-wrap: normal; }
th bdi, td bdi { overflow-wrap: anywhere; }
td time, .detail { display: block; }
.whole, .utc { white-space: nowrap; }
tbody tr:hover { background: var(--ground); }
.pages { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 1rem 0 0; }
@media (max-width: 52rem) {${LIST}}
@container (max-width: 48rem) {${LIST}}
`;

export const STYLE = BASE + ADMINISTRATION;
