/** The pages of an administrator who is not signed in. */

import { hidden } from "../../../pages/forms.ts";
import { framed } from "../../../pages/frame.ts";
import { alert, escaped, status } from "../../../pages/text.ts";

export interface SignInPage {
  readonly site: string;
  readonly base: string;
  readonly csrf: string;
  /** Where to go on, a path below `base` with its parameters. */
  readonly next: string;
  /** Whether a form leads there that was sent without a session. */
  readonly isKept?: boolean;
  readonly said?: string;
  /** What is to be known before the code is typed: of a session that has ended, and of the form that was sent in it. */
  readonly problem?: string;
  /** Whether the problem is the code. */
  readonly isWrong?: boolean;
}

/** The form for an administrator's code. */
export function signInPage(page: SignInPage): string {
  const { site, base, csrf, next, isKept, said, problem, isWrong = false } = page;
  const wrong = isWrong ? ' aria-invalid="true" aria-describedby="problem whose"' : ' aria-describedby="whose"';
  return framed({
    title: problem === undefined ? "Sign in" : isWrong ? "Error: not signed in" : "Sign in again",
    site,
    content: `<h1>Administration</h1>
    ${said === undefined ? "" : status(said)}
    ${problem === undefined ? "" : alert(problem)}
    <form method="post" action="${base}/sign-in">
      ${hidden({ csrf, next, ...(isKept && { kept: "yes" }) })}
      <label for="code">Your administrator's code</label>
      <input id="code" name="code" type="password" required autofocus maxlength="200"
        autocomplete="current-password"${wrong}>
      <p class="hint" id="whose">It begins with <code>sva_</code>. <code>svc authority admin add</code> on the server has
      printed it.</p>
      <button class="primary">Sign in</button>
    </form>`,
  });
}

/** What a link of another site shows: nothing was looked up for it. */
export function followedLinkPage(site: string, path: string): string {
  return framed({
    title: "Administration",
    site,
    content: `<h1>Administration</h1>
    <p>A link on another site has led here.</p>
    <p><a href="${escaped(path)}">Go on to the administrator's pages</a></p>`,
  });
}
