/**
 * The two eras of the protocol, told apart by each request alone.
 *
 * - legacy, up to 2025-11-25: `initialize` agrees on a version, and the client's name and capabilities hold from then on
 * - modern, from 2026-07-28: each request has all of that in `params._meta`
 *
 * A process is never of one era. Claude Code and Antigravity send `initialize` after `server/discover` has succeeded, and
 * other clients probe with a process that they go on to use.
 */
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { isObject } from "../checks/kinds.ts";
import { ORIGIN_FIELD_LENGTH_MAX, type Origin } from "../origin.ts";

/** The versions that `initialize` agrees to. */
const LEGACY_VERSIONS: readonly unknown[] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/**
 * The answer to a client that requests another one, or none. The newest one has nothing that svc needs, and an old client
 * is likelier to know this one.
 */
const LEGACY_FALLBACK = "2025-06-18";

/** The versions of the modern era, as `server/discover` and the error -32022 list them. */
export const MODERN_VERSIONS: readonly string[] = ["2026-07-28"];

/** Codes of errors: the specification of 2026-07-28, "Error Codes". */
const UNSUPPORTED_PROTOCOL_VERSION = -32022;

/** Prefix of the protocol's own names in `_meta`. */
const PREFIX = "io.modelcontextprotocol/";
const VERSION_KEY = `${PREFIX}protocolVersion`;
const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`;
const CLIENT_KEY = `${PREFIX}clientInfo`;
const SERVER_KEY = `${PREFIX}serverInfo`;

/** A request of either era, as far as the SDK has checked it. */
export interface AnyRequest {
  method: string;
  params?: { [name: string]: unknown; _meta?: Record<string, unknown> | undefined } | undefined;
}

/** The version that `initialize` is answered with. @param requested what the client asked for */
export function legacyVersion(requested: unknown): string {
  return LEGACY_VERSIONS.includes(requested) ? (requested as string) : LEGACY_FALLBACK;
}

/** Whether a request is of the modern era: one of its names in `_meta`, or its own method. */
export function isModern({ method, params }: AnyRequest): boolean {
  const meta = params?._meta;
  return method === "server/discover" || [VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY].some((key) => meta?.[key] != null);
}

/**
 * Checks what every modern request must have. Its client's name is not checked: servers must not require it.
 * @throws a protocol error: -32602 for a missing field, -32022 for a version that is not served
 */
export function checkModern({ params }: AnyRequest): void {
  const meta = params?._meta;
  const version = meta?.[VERSION_KEY];
  if (typeof version !== "string") {
    throw protocolError(ErrorCode.InvalidParams, `Invalid params: _meta needs "${VERSION_KEY}", a string`);
  }
  if (!MODERN_VERSIONS.includes(version)) {
    const data = { supported: MODERN_VERSIONS, requested: shortened(version) };
    throw protocolError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data);
  }
  if (!isObject(meta?.[CAPABILITIES_KEY])) {
    throw protocolError(ErrorCode.InvalidParams, `Invalid params: _meta needs "${CAPABILITIES_KEY}", an object`);
  }
}

/** Name and version of a modern request's client, for the history. */
export function modernClient({ params }: AnyRequest): Origin {
  return clientOf(params?._meta?.[CLIENT_KEY]);
}

/** Name and version of a client, for the history. @param info `clientInfo` of either era; some clients omit parts of it */
export function clientOf(info: unknown): Origin {
  const { name, version } = isObject(info) ? info : {};
  const text = (value: unknown) => (typeof value === "string" ? shortened(value) : undefined);
  return { client: text(name) ?? "an MCP client", version: text(version) };
}

/** A result as the modern era has it: complete, and with the server's name. */
export function completed<T extends object>(result: T, serverInfo: { name: string; version: string }) {
  return { resultType: "complete", ...result, _meta: { [SERVER_KEY]: serverInfo } };
}

/** An error that the SDK sends as a JSON-RPC error. Its McpError would repeat its name and the code in the message. */
export function protocolError(code: number, message: string, data?: object): Error {
  return Object.assign(new Error(message), { code, ...(data && { data }) });
}

/** As much of a client's text as the history keeps of its name and version, and as an error repeats. */
export function shortened(text: string): string {
  return text.slice(0, ORIGIN_FIELD_LENGTH_MAX).toWellFormed();
}
