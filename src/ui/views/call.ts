/** A request as handlers see it, and the pages they answer with. */
import { answerHtml } from "../../pages/answer.ts";
import { policyOf } from "../../pages/frame.ts";
import type { RouteTable } from "../../pages/routes.ts";
import type { LocalParts, Site } from "../memory/site.ts";
import { problemPage } from "../pages/problem.ts";
import { SCRIPT } from "../pages/script.ts";
import { STYLE } from "../pages/style.ts";

export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** What stands in the path for each `:name`, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** What was done before, for the top of this page; it is shown once. */
  readonly said: string | undefined;
  /** The answer to a form: another page, which says at its top what was done. A reload sends nothing twice. */
  readonly done: (path: string, sentence: string) => Response;
}

/** A handler has its request's form checked before: it comes from a page of this site. */
export type Handler = (site: Site, call: Call) => Response | Promise<Response>;
export type Routes = RouteTable<Handler>;

/** Scripts may tell the server that a page is open or left; nothing else is connected to, and no image is loaded. */
const POLICY = policyOf(STYLE, SCRIPT, ["connect-src 'self'"]);

/** A page. */
export function html(body: string, status = 200, headers: Record<string, string> = {}): Response {
  return answerHtml(status, body, POLICY, headers);
}

/** Another page. */
export function seeOther(path: string, headers: Record<string, string> = {}): Response {
  return html("", 303, { location: path, ...headers });
}

/** For what needs the files of a memory that `svc serve` has. */
export const ELSEWHERE = "A server has this memory: run svc ui on that machine to see and change this.";

/** For a page with a form. */
export const READ_ONLY = "svc ui was started with --read-only: nothing can be changed.";

/** A handler of what only a memory on this machine has. */
export function locally(handler: (site: Site, call: Call, local: LocalParts) => Promise<Response>): Handler {
  return (site, call) => {
    if (site.local !== undefined) return handler(site, call, site.local);
    return html(problemPage(site, ELSEWHERE), 404);
  };
}
