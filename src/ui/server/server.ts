/** The server behind the pages: on 127.0.0.1 at a free port, for the browser that opened its one-time address. */
import { randomUUID } from "node:crypto";
import { OSError, SvcError } from "../../errors.ts";
import { TERMINAL, withOrigin } from "../../origin.ts";
import { SITE_HEADERS } from "../../pages/answer.ts";
import { compiled, routed } from "../../pages/routes.ts";
import type { Site } from "../memory/site.ts";
import { UPLOAD_BYTES_MAX } from "../memory/upload.ts";
import { errorPage, problemPage } from "../pages/problem.ts";
import { html, seeOther } from "../views/call.ts";
import { ROUTES } from "../views/routes.ts";
import { Lifetime } from "./lifetime.ts";
import { Session } from "./session.ts";
import { NO_SESSION, refusalOf } from "./visitor.ts";

/** A form with a file, and its other fields. */
const BODY_BYTES_MAX = UPLOAD_BYTES_MAX + 1024 * 1024;
const TOO_LARGE =
  "The file is larger than 256 MiB. Import it in a terminal: svc mem import COLLECTION FILE. Nothing was stored.";
/** Sentences that no page has shown, as its tab was closed. */
const SAID_MAX = 100;
/** Seconds that a request may take: a page over a large memory, or an import. */
const IDLE_S = 255;

export interface RunningUi {
  /** The address to open. It works once. */
  readonly address: string;
  /** Resolves when the last page was closed, or none was used for long. */
  readonly ended: Promise<"left" | "idle">;
  /** Answers what was asked for, and ends. */
  stop(): Promise<void>;
}

export interface UiOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  readonly lifetime?: Lifetime;
  /** Gets faults of ours: the page only says that there was one. */
  readonly onFault?: (error: unknown) => void;
}

/** Starts to listen. @throws OSError if the port is taken */
export function startUi(
  site: Site,
  { port: wanted = 0, lifetime = new Lifetime(), onFault }: UiOptions = {},
): RunningUi {
  const session = new Session();
  const routes = compiled([ROUTES]);
  /** What was done, by the page that says it next. */
  const said = new Map<string, string>();

  async function answered(request: Request, clientPort: number | undefined, port: number): Promise<Response> {
    // Bun gives the path alone if `Host` is missing, and an invalid URL if it is invalid: both are refused below.
    const own = `http://127.0.0.1:${port}/`;
    const url = URL.parse(request.url, own) ?? new URL(own);
    const refusal = refusalOf({ request, url, clientPort }, port, session);
    if (refusal !== undefined) return html(errorPage(refusal.problem, refusal.goesOn), refusal.status);
    if (url.pathname === "/enter") return entered(request, url);
    lifetime.touch();
    if (url.pathname === "/open" || url.pathname === "/left") return told(url);
    const found = routed(routes, request.method, url.pathname);
    if (found === undefined) return html(problemPage(site, "There is no page at this address."), 404);
    if (found.route === undefined) return html(problemPage(site, "This address has no such form."), 405);
    if (request.method === "POST" && site.readOnly)
      return html(problemPage(site, "svc ui was started with --read-only: nothing was changed."), 403);
    // Browsers say how long a form is.
    if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES_MAX) return tooLarge(site, request);
    const path = url.pathname + url.search;
    const shown = request.method === "GET" ? said.get(path) : undefined;
    said.delete(path);
    const params = Object.fromEntries(Object.entries(found.params).map(([name, text]) => [name, decoded(text)]));
    const done = (path: string, sentence: string) => {
      if (said.size >= SAID_MAX) said.clear();
      said.set(path, sentence);
      return seeOther(path);
    };
    const { handler } = found.route;
    // What was done on one page is undone by itself: the saves of one session of a terminal are undone together.
    const origin = { client: TERMINAL, tool: "ui", session: randomUUID().slice(0, 8) };
    return withOrigin(origin, () => handler(site, { request, url, params, said: shown, done }));
  }

  /** The secret leaves the address bar with the redirect. */
  function entered(request: Request, url: URL): Response {
    const cookie = session.enter(url.searchParams.get("key") ?? "", request);
    lifetime.touch();
    if (cookie !== undefined) return seeOther("/", cookie);
    return session.has(request) ? seeOther("/") : html(errorPage(NO_SESSION), 403);
  }

  /** A page says that it is open, or left. */
  function told(url: URL): Response {
    const page = (url.searchParams.get("page") ?? "").slice(0, 64);
    if (url.pathname === "/open") lifetime.opened(page);
    else lifetime.left(page);
    return new Response(null, { status: 204, headers: SITE_HEADERS });
  }

  const server = listening(wanted, async (request, server) => {
    try {
      return await answered(request, server.requestIP(request)?.port, server.port!);
    } catch (error) {
      const answer = known(site, error);
      if (answer !== undefined) return answer;
      onFault?.(error);
      return html(problemPage(site, "svc ui failed to answer. Its terminal has the reason."), 500);
    }
  });
  return {
    address: `http://127.0.0.1:${server.port}${session.entryPath}`,
    ended: lifetime.ended,
    async stop() {
      lifetime.stop();
      await server.stop();
    },
  };
}

/** @throws OSError if the port is taken */
function listening(port: number, fetch: (request: Request, server: Bun.Server<undefined>) => Promise<Response>) {
  try {
    return Bun.serve({
      hostname: "127.0.0.1",
      port,
      // A longer body is answered with a page, not by a connection that ends.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      idleTimeout: IDLE_S,
      fetch,
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    const why = code === "EADDRINUSE" ? "another program has it" : code;
    throw new OSError(`cannot listen on port ${port} of 127.0.0.1 (${why}): name another --port, or none`);
  }
}

/** Answers after the whole body was read and dropped: browsers do not read an answer before that. */
async function tooLarge(site: Site, request: Request): Promise<Response> {
  if (request.body !== null) for await (const _ of request.body);
  return html(problemPage(site, TOO_LARGE), 413);
}

/** Errors of the memory say what happened and what to do; all but those are faults of ours. */
function known(site: Site, error: unknown): Response | undefined {
  if (error instanceof URIError) return html(problemPage(site, "There is no page at this address."), 404);
  if (error instanceof SvcError) return html(problemPage(site, error.message), 400);
  return undefined;
}

/** @throws URIError for a `%` that begins no character */
function decoded(text: string): string {
  return decodeURIComponent(text);
}
