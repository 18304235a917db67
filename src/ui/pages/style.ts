/** What the style of `svc ui` adds to that of all pages (`src/pages/style.ts`). Contrasts are as there. */
export const STYLE = `
textarea { width: 100%; min-height: 16rem; padding: .6rem .75rem; font: .9375rem/1.5 ui-monospace, monospace; color: inherit;
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; resize: vertical; }
.text { white-space: pre-wrap; }
mark { background: none; color: inherit; font-weight: 700; text-decoration: underline; text-decoration-thickness: .125rem; }
svg { max-width: 100%; height: auto; }
`;
