/** Shared by all endpoints of the authority: settings, requests and responses. */
import { createHash, timingSafeEqual } from "node:crypto";
import { isObject } from "../../checks/kinds.ts";
import type { Log } from "../../log.ts";
import { SITE_HEADERS } from "../../pages/answer.ts";
import type { RouteTable } from "../../pages/routes.ts";
import type { PlatformTag } from "../../paths.ts";
import type { Decisions } from "./decisions.ts";
import type { Guesses } from "./guesses.ts";
import type { LicenseKeys } from "./keys.ts";
import type { AuditEvent, AuditRecord } from "./ledger/audit.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Sessions } from "./sessions.ts";

/** The source of bundles: a directory with `<version>/<tag>.bundle`, or a function. */
export type BundleSource =
  | string
  | ((version: string, tag: PlatformTag) => Uint8Array | undefined | Promise<Uint8Array | undefined>);

/** The account of the user of this machine. */
export const LOCAL_ACCOUNT = "local";

export interface Authority {
  /** Whether it is an organisation's, with administrators and records of changes; else it is the local one. */
  readonly organisation: boolean;
  readonly ledger: Ledger;
  /** The LICENSE keys: with the last one it signs. */
  readonly keys: LicenseKeys;
  readonly guesses: Guesses;
  readonly decisions: Decisions;
  /** Administrators who are signed in. */
  readonly sessions: Sessions;
  /** Codes of the local authority, withdrawn at the end: only the process that ends could redeem them. */
  readonly issued: string[] | undefined;
  /** `yes` approves every request at once, without the page: for the user's own machine. */
  readonly approve: "browser" | "yes";
  /** The code that approvers must type where other machines can reach the authority; undefined on loopback. */
  readonly approvalCode: string | undefined;
  readonly bundles: readonly BundleSource[];
  readonly codeSeconds: number;
  readonly intervalSeconds: number;
  readonly tier: string;
  readonly features: readonly string[];
  readonly licenseDays: number;
  readonly offlineGraceDays: number;
  /** Binds the tokens of the approval form to this process. */
  readonly formSecret: Uint8Array;
  /** The address for browsers, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** What happened, for the operator. What an administrator has to find again later is for `audit`. */
  readonly log: Log;
  /** Records a change, in the transaction that makes it; the local authority records none. */
  audit(event: AuditEvent, entry: Audited): void;
}

/** What is recorded of a change: who did it, never a secret, and to which device. */
export type Audited = Omit<AuditRecord, "at" | "event">;

/** One request, parsed. */
export interface Call {
  readonly request: Request;
  /** The address that was asked for, of the public origin, whatever the request says in Host; relative to its base. */
  readonly url: URL;
  /** What stands in the path for each `:name` of the route, not decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The client's address, for limits and for the page; undefined where a proxy does not pass it on. */
  readonly address: string | undefined;
  /** What the log says of this request, such as `device`: handlers add to it. Never a secret. */
  readonly fields: Record<string, string | number | boolean | null>;
}

export type Handler = (authority: Authority, call: Call) => Response | Promise<Response>;

export type Routes = RouteTable<Handler>;

export function answerJson(
  status: number,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Response {
  return Response.json(body, { status, headers: { ...SITE_HEADERS, ...headers } });
}

/** An OAuth error (RFC 6749 §5.2). */
export function answerError(status: number, error: string, headers: Record<string, string> = {}): Response {
  const response = answerJson(status, { error }, headers);
  errors.set(response, error);
  return response;
}

const errors = new WeakMap<Response, string>();

/** The code of an answer that `answerError` made, for the log: the status alone does not say why. */
export function errorCodeOf(response: Response): string | undefined {
  return errors.get(response);
}

/** When to ask again, in whole seconds (RFC 9110 §10.2.3). */
export function retryAfter(ms: number): Record<string, string> {
  return { "retry-after": String(Math.max(1, Math.ceil(ms / 1000))) };
}

export function answerBytes(body: Blob): Response {
  return new Response(body, { headers: { ...SITE_HEADERS, "content-type": "application/octet-stream" } });
}

/** A file to keep, which is made while it is read. */
export function answerFile(body: ReadableStream<Uint8Array>, type: string, name: string): Response {
  const own = { "content-type": type, "content-disposition": `attachment; filename="${name}"` };
  return new Response(body, { headers: { ...SITE_HEADERS, ...own } });
}

/** The secret after `Bearer` (RFC 6750 §2.1), if the request carries one of a plausible length. */
export function bearerOf(request: Request): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,8192})$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}

/** 401 to a secret that is missing or not valid (RFC 6750 §3). */
export function answerUnauthorized(error: string, secret: string | undefined): Response {
  const why = secret === undefined ? "" : ', error="invalid_token"';
  return answerError(401, error, { "www-authenticate": `Bearer realm="svc"${why}` });
}

/** The fields of a form, or undefined if the body is not one. Bun has limited the body's size. */
export async function formOf(request: Request): Promise<URLSearchParams | undefined> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  return type === "application/x-www-form-urlencoded" ? new URLSearchParams(await request.text()) : undefined;
}

/** The fields of a JSON object, or undefined if the body is not one. */
export async function jsonOf(request: Request): Promise<Record<string, unknown> | undefined> {
  const value: unknown = await request.json().catch(() => undefined);
  return isObject(value) ? value : undefined;
}

/** Compares what a caller sent with a secret, in a time that tells nothing of where they differ. */
export function sameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
