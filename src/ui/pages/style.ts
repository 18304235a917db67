/** What the style of `svc ui` adds to that of all pages (`src/pages/style.ts`). Contrasts are as there. */
export const STYLE = `
textarea { width: 100%; min-height: 16rem; padding: .6rem .75rem; font: .9375rem/1.5 ui-monospace, monospace; color: inherit;
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; resize: vertical; }
.text { white-space: pre-wrap; }
.rows { margin: .5rem 0 0; padding: 0; list-style: none; }
.rows > li { padding: .75rem 0; border-top: 1px solid var(--edge); }
.rows p { margin: .25rem 0; }
.rows .head { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; font-size: .9375rem; }
.rows .when { color: var(--soft); }
.rows time .utc { display: inline; margin-inline-start: .25rem; }
.rows .hint .pair { margin-inline-end: .5rem; }
.version time .utc { display: inline; margin-inline-start: .25rem; }
.version .hint time { display: inline; margin-inline-end: .5rem; }
textarea[aria-invalid] { border: 2px solid var(--alarm); }
.places { margin: .5rem 0 1rem; }
.notice { padding: .25rem .75rem; border-left: .25rem solid var(--accent); }
.filters { margin: -.5rem 0 1rem; }
.filters .search > div, .filters input { min-width: 0; }
.filters summary { padding: .25rem 0; color: var(--accent); cursor: pointer; }
.actions form { margin: 0; }
.actions form button { min-width: 0; }
.actions a.button { min-width: 0; }
.stored { margin: .5rem 0; padding: .75rem; border: 1px solid var(--edge); border-radius: .5rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: .9375rem/1.5 ui-monospace, monospace; }
.lines { white-space: pre-wrap; }
.markdown { padding: 0 .75rem; border-left: .25rem solid var(--edge); max-width: 46rem; }
.markdown > :first-child { margin-top: 0; }
.markdown pre { padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; white-space: pre-wrap; }
.markdown code { font: .9375em/1.5 ui-monospace, monospace; }
.markdown h3, .markdown h4, .markdown h5, .markdown h6 { margin: 1rem 0 .5rem; font-size: 1.0625rem; }
.markdown ul, .markdown ol { padding-inline-start: 1.5rem; }
.markdown blockquote { margin: .75rem 0; padding: 0 .75rem; border-left: .25rem solid var(--line); }
.address, .image { color: var(--soft); font-size: .9375em; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: 1rem 1.5rem; }
.sides section { min-width: 0; }
.sides h3 { margin: .5rem 0; font-size: 1.0625rem; }
.pair-of-rows { margin-top: 1.5rem; border-top: 1px solid var(--line); }
.pair-of-rows h2 { margin-top: 1rem; }
.wide main form:has(textarea) { max-width: 60rem; }
textarea.metadata { min-height: 5rem; }
ins { text-decoration: underline; text-decoration-thickness: .125rem; color: var(--good); }
del { text-decoration: line-through; color: var(--alarm); }
mark { background: none; color: inherit; font-weight: 700; text-decoration: underline; text-decoration-thickness: .125rem; }
.plot { margin: 1.25rem 0 0; }
.plot figcaption { margin: 0 0 .5rem; font-weight: 600; }
.plot svg { display: block; font-size: .9375rem; fill: currentColor; overflow: visible; }
.plot rect { fill: var(--accent); }
.plot .track { fill: var(--edge); }
.plot .axis { fill: var(--line); }
@media (forced-colors: active) {
  .plot svg { fill: CanvasText; }
  .plot rect { fill: Highlight; }
  .plot .track { fill: Canvas; }
  .plot .axis { fill: CanvasText; }
}
details { margin: 1rem 0 0; }
summary { padding: .25rem 0; font-weight: 600; cursor: pointer; }
code.command { display: block; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem;
  font: .9375rem/1.5 ui-monospace, monospace; white-space: pre-wrap; user-select: all; -webkit-user-select: all; }
section > h2 { margin-top: 2.5rem; }
.choice > label { flex: 1; }
select + .choice, .hint + .choice { margin-top: .5rem; }
.findings { padding: 0; list-style: none; }
.findings li { margin: .5rem 0; }
.findings .command { margin: .25rem 0; }
.memory { margin-top: 2.5rem; }
.wide main button.danger { color: var(--alarm); border: 2px solid currentColor; }
input[type=checkbox] { width: 1.125rem; height: 1.125rem; margin: 0; padding: 0; accent-color: var(--accent); }
input[type=file] { padding: .5rem; }
.drop { outline: 3px dashed var(--accent); outline-offset: 4px; }
.hits pre { margin: .25rem 0 0; padding: .5rem .75rem; overflow-x: auto; border: 1px solid var(--edge);
  border-radius: .5rem; font: .875rem/1.5 ui-monospace, monospace; white-space: pre-wrap; }
.hits li { margin: 1.25rem 0 0; }
ol.hits, ul.hits { padding: 0; list-style: none; }
.number { color: var(--soft); user-select: none; -webkit-user-select: none; }
`;
