/** The pages of the approval: the code, the request that it belongs to with two buttons, the decision. */
import { errorPage } from "../../../pages/error.ts";
import { framed } from "../../../pages/frame.ts";
import { alert, distance, escaped } from "../../../pages/text.ts";

export interface EnterPage {
  readonly site: string;
  /** Filled in; empty for a person to type it. */
  readonly userCode?: string;
  readonly problem?: string;
}

/** What is wrong with which field of the confirmation. */
export interface Problem {
  readonly field: "account" | "approval_code";
  readonly text: string;
}

export interface ConfirmPage {
  readonly site: string;
  readonly userCode: string;
  readonly csrf: string;
  /** Whether the approver must type the approval code and the machine's owner. */
  readonly asksApprover: boolean;
  readonly request: RequestShown;
  /** What was entered before. */
  readonly account?: string;
  readonly problem?: Problem;
}

/** What is known of a request, for a person to recognise it. */
export interface RequestShown {
  readonly from: string;
  /** Empty where it is not known. */
  readonly platform: string;
  readonly asked: Date;
  readonly secondsAgo: number;
}

/** The form for the code that the terminal shows. */
export function enterCodePage({ site, userCode = "", problem }: EnterPage): string {
  const wrong = problem === undefined ? "" : ' aria-invalid="true" aria-describedby="problem"';
  return framed({
    title: problem === undefined ? "Connect a device" : "Error: code not accepted",
    site,
    content: `<h1>Connect a device</h1>
    ${problem === undefined ? "" : alert(problem)}
    <form method="get" action="device">
      <label for="user_code">Code shown in your terminal</label>
      <input id="user_code" name="user_code" value="${escaped(userCode)}" required autofocus autocomplete="off"
        autocapitalize="characters" spellcheck="false" maxlength="20" placeholder="XXXX-XXXX"${wrong}>
      <button class="primary">Continue</button>
    </form>`,
  });
}

/** Shows the code to compare, where the request is from, and the two buttons. Neither has the focus: a key decides nothing. */
export function confirmPage(options: ConfirmPage): string {
  const { site, userCode, csrf, asksApprover, request, account = "", problem } = options;
  const spelled = [...userCode].map((sign) => (sign === "-" ? "dash" : sign)).join(" ");
  const state = (field: Problem["field"], hint = "") => {
    if (problem?.field !== field) return hint && ` aria-describedby="${hint}"`;
    return ` aria-invalid="true" aria-describedby="${`problem ${hint}`.trim()}" autofocus`;
  };
  const approver = `
      <label for="account">Name or e-mail of the machine's owner</label>
      <input id="account" name="account" value="${escaped(account)}" required maxlength="128" spellcheck="false"
        autocomplete="username"${state("account")}>
      <label for="approval_code">Approval code of this authority</label>
      <input id="approval_code" name="approval_code" type="password" required
        autocomplete="current-password"${state("approval_code", "whose")}>
      <p class="hint" id="whose">The administrator of this authority has it. Administrators may enter their own
      code.</p>`;
  return framed({
    title: problem === undefined ? "Approve this device?" : "Error: not approved yet",
    site,
    content: `<h1>Approve this device?</h1>
    ${problem === undefined ? "" : alert(problem.text)}
    <p>Your terminal should show this code:</p>
    <p class="code"><span aria-hidden="true">${escaped(userCode)}</span><span class="spoken">${escaped(spelled)}</span></p>
    <dl>
      <dt>Asked from</dt><dd>${escaped(request.from)}</dd>
      <dt>Platform</dt><dd>${escaped(request.platform || "not known")}</dd>
      <dt>Asked at</dt><dd>${asked(request)}</dd>
    </dl>
    <p>Approve only if you ran <code>svc login</code> yourself and the codes are the same. Deny if someone sent you the
    code or a link to this page.</p>
    <form method="post" action="device">
      <input type="hidden" name="user_code" value="${escaped(userCode)}">
      <input type="hidden" name="csrf" value="${escaped(csrf)}">${asksApprover ? approver : ""}
      <button class="primary" name="decision" value="approve">Approve</button>
      <button name="decision" value="deny" formnovalidate>Deny</button>
    </form>`,
  });
}

export interface DecidedPage {
  readonly site: string;
  readonly approved: boolean;
  /** The machine's owner, where the approver named one. */
  readonly account: string | undefined;
}

/** The last page: what was decided. */
export function decidedPage({ site, approved, account }: DecidedPage): string {
  if (!approved) {
    const content = `<h1>Device denied</h1>
    <p role="status">The login was declined and nothing was given out. You can close this page.</p>`;
    return framed({ title: "Device denied", site, content });
  }
  const owner = account === undefined ? "" : `The machine belongs to ${escaped(account)}. `;
  const content = `<h1 class="good">Device approved</h1>
    <p role="status">${owner}The login goes on in the terminal. You can close this page.</p>`;
  return framed({ title: "Device approved", site, content });
}

/** An error, in a sentence. */
export function problemPage(site: string, problem: string): string {
  return errorPage(site, problem, '<p><a href="device">Enter a code</a></p>');
}

/** The time as UTC, as the server does not know the reader's zone, and how long ago that is, which needs none. */
function asked({ asked, secondsAgo }: RequestShown): string {
  const utc = asked.toISOString();
  return `<time datetime="${utc}">${utc.slice(11, 16)} UTC</time>, ${distance(0, secondsAgo * 1000)}`;
}
