/** The header of an administrator's page, and its errors. */

import { notPossible } from "../../../pages/error.ts";
import { hidden } from "../../../pages/forms.ts";
import { type Frame, framed } from "../../../pages/frame.ts";
import { isolated } from "../../../pages/text.ts";

const SECTIONS = { devices: "Devices", keys: "Enrolment keys", audit: "Audit log" } as const;
export type Section = keyof typeof SECTIONS;

/** What every page of a signed-in administrator shows in addition to its content. */
export interface Signed {
  readonly site: string;
  /** The path below which the pages are, without a slash at its end: `/admin` after what the public address has. */
  readonly base: string;
  /** The administrator's name. */
  readonly name: string;
  /** The token of the form that signs out. */
  readonly signOut: string;
}

/** What every one of these pages is given. */
export interface Page {
  readonly signed: Signed;
  /** Milliseconds since 1970, with which times are compared. */
  readonly now: number;
  /** What was done before, to be said on this page. */
  readonly said?: string | undefined;
}

/** A page of a signed-in administrator. */
export function administration(
  { site, base, name, signOut }: Signed,
  section: Section | undefined,
  page: Pick<Frame, "title" | "content">,
): string {
  const links = Object.entries(SECTIONS).map(([path, text]) => {
    return `<li><a href="${base}/${path}"${path === section ? ' aria-current="page"' : ""}>${text}</a></li>`;
  });
  const header = `<nav aria-label="Administration"><ul>${links.join("")}</ul></nav>
    <form method="post" action="${base}/sign-out">${hidden({ csrf: signOut })}
      <span>Signed in as ${isolated(name)}</span> <button>Sign out</button></form>`;
  return framed({ site, header, ...page });
}

/** An error of a signed-in administrator's request, with the way to the section's list. */
export function problemPage(signed: Signed, section: Section, problem: string, back: string): string {
  return administration(
    signed,
    section,
    notPossible(problem, `<p><a href="${signed.base}/${section}">${back}</a></p>`),
  );
}
