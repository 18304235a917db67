/**
 * The pages of the approval, as plain HTML without scripts or external assets. They work without a mouse, in dark mode,
 * enlarged, and with a screen reader, for which the code is spelled out letter by letter.
 */
import { createHash } from "node:crypto";

export interface ConfirmPage {
  readonly userCode: string;
  readonly csrf: string;
  /** Whether the approver must type the approval code and the machine's owner. */
  readonly asksApprover: boolean;
  readonly problem?: string;
}

/** The form for the code that the terminal shows. */
export function enterCodePage(problem?: string): string {
  return page(
    "Connect a device",
    `<h1>Connect a device</h1>
    ${alert(problem)}
    <form method="get" action="device">
      <label for="user_code">Code shown in your terminal</label>
      <input id="user_code" name="user_code" required autofocus autocomplete="off" autocapitalize="characters"
        spellcheck="false" maxlength="20" placeholder="XXXX-XXXX">
      <button class="primary">Continue</button>
    </form>`,
  );
}

/** Shows the code to compare, and the two buttons. */
export function confirmPage(options: ConfirmPage): string {
  const { userCode, csrf, asksApprover, problem } = options;
  const spelled = [...userCode].map((sign) => (sign === "-" ? "dash" : sign)).join(" ");
  const approver = `
      <label for="account">Name or e-mail of the machine's owner</label>
      <input id="account" name="account" required maxlength="128" autocomplete="username">
      <label for="approval_code">Approval code of this authority</label>
      <input id="approval_code" name="approval_code" type="password" required autocomplete="current-password">`;
  return page(
    "Approve this device?",
    `<h1>Approve this device?</h1>
    ${alert(problem)}
    <p>Your terminal should show this code:</p>
    <p class="code"><span aria-hidden="true">${escaped(userCode)}</span><span class="spoken">${escaped(spelled)}</span></p>
    <p>Approve only if you ran <code>svc login</code> yourself and the codes are the same.</p>
    <form method="post" action="device">
      <input type="hidden" name="user_code" value="${escaped(userCode)}">
      <input type="hidden" name="csrf" value="${escaped(csrf)}">${asksApprover ? approver : ""}
      <button class="primary" name="decision" value="approve">Approve</button>
      <button name="decision" value="deny" formnovalidate>Deny</button>
    </form>`,
  );
}

/** The last page: what was decided. */
export function decidedPage(approved: boolean): string {
  return approved
    ? page("Device approved", "<h1>Device approved</h1><p>You can close this page and return to your terminal.</p>")
    : page(
        "Device denied",
        "<h1>Device denied</h1><p>The login was declined and nothing was given out. You can close this page.</p>",
      );
}

/** An error, in a sentence. */
export function problemPage(problem: string): string {
  return page("Not possible", `<h1>Not possible</h1>${alert(problem)}<p><a href="device">Enter a code</a></p>`);
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fff; --ground: #f3f4f6; --line: #8b929c;
  --accent: #0b5cad; --on-accent: #fff; --alarm: #a3211b; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceef0; --paper: #1c2024; --ground: #111316; --line: #7d8590;
  --accent: #8ec5ff; --on-accent: #0b1a2a; --alarm: #ffa198; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem;
  background: var(--ground); color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 27rem; padding: 2rem; background: var(--paper); border-radius: .75rem;
  box-shadow: 0 1px 3px rgb(0 0 0 / .2); }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; }
.code { margin: 1rem 0; padding: .75rem; text-align: center; font: 600 1.75rem/1.2 ui-monospace, monospace;
  letter-spacing: .08em; border: 1px solid var(--line); border-radius: .5rem; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.alert { padding: .5rem .75rem; border-left: .25rem solid var(--alarm); color: var(--alarm); }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { width: 100%; padding: .6rem .75rem; font: inherit; color: inherit; background: transparent;
  border: 1px solid var(--line); border-radius: .5rem; }
button { width: 100%; margin-top: .75rem; padding: .7rem 1rem; font: inherit; font-weight: 600; color: inherit;
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; cursor: pointer; }
button.primary { margin-top: 1.25rem; color: var(--on-accent); background: var(--accent); border-color: var(--accent); }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

/** Allows only this style and a form to this site (CSP level 3). */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)} · svc</title>
<style>${STYLE}</style>
</head>
<body><main>${content}</main></body>
</html>
`;
}

function alert(problem: string | undefined): string {
  return problem === undefined ? "" : `<p class="alert" role="alert">${escaped(problem)}</p>`;
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign);
}
