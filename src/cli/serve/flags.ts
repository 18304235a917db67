/** The flags of `svc serve` that take more than a look: where to listen, how much, how long. */
import { isUrl } from "../../checks/folders.ts";
import type { Limits } from "../../remote/server/limits.ts";
import { isNamedTokenText } from "../../remote/tokens/token-text.ts";
import { type Args, number, string, UsageError, type Values } from "../terminal/command.ts";

/** What bounds the clients. */
export const LIMIT_FLAGS = {
  "max-connections": number("N", "connections at once (2048)"),
  "max-unauthenticated": number(
    "N",
    "connections not authenticated after 2 seconds; above this number the oldest are closed (128)",
  ),
  "max-in-flight": number("N", "requests of one connection at once (8)"),
  "max-buffered": number("MIB", "memory for frames of all connections (1024)"),
  "auth-timeout": number("SECONDS", "time to authenticate (30)"),
  "frame-timeout": number("SECONDS", "time in which an unfinished frame must grow by 1 MiB (30)"),
  "reader-timeout": number("SECONDS", "time that a client may leave replies unread (30)"),
  "idle-timeout": number(
    "SECONDS",
    "time that a connection may be silent; 0: for ever (3600 on TCP, 0 on a Unix socket)",
  ),
} as const satisfies Args;

const NAMED_AS_ACCESS_TOKEN =
  "--access-token or SVC_ACCESS_TOKEN is a token of 'svc serve token add', which has rights of its own, and here it " +
  "would get all rights: leave it out (unset SVC_ACCESS_TOKEN), because the server knows its named tokens from the " +
  "memory directory";

/** The transport in the flags. @throws UsageError */
export function transportOf(
  socket: string | undefined,
  host: string | undefined,
  port: number | undefined,
  accessToken: string | undefined,
  hasNamedTokens: () => boolean,
) {
  const isTcp = host !== undefined || port !== undefined;
  if (socket !== undefined && isTcp)
    throw new UsageError("--socket and --host with --port exclude each other: choose one");
  if (socket !== undefined) return { socketPath: checkSocket(socket) };
  if (!isTcp) throw new UsageError("where to listen? give --socket PATH, or --host HOST and --port PORT");
  if (host === undefined || port === undefined) throw new UsageError("--host and --port belong together");
  if (accessToken && isNamedTokenText(accessToken)) throw new UsageError(NAMED_AS_ACCESS_TOKEN);
  if (!accessToken && !hasNamedTokens())
    throw new UsageError(
      "TCP needs a token: make one with 'svc serve token add NAME', set SVC_ACCESS_TOKEN, or give --access-token",
    );
  return { host, port: checkPort(port), accessToken };
}

/** What encrypts TCP. */
export const TLS_FLAGS = {
  tls: {
    type: "enum",
    options: ["self"],
    description: "TLS with a certificate that this machine makes; clients pin it",
  },
  "tls-cert": string("FILE", "TLS with this certificate in PEM, followed by those that sign it; read again on changes"),
  "tls-key": string("FILE", "its private key in PEM"),
  "client-ca": string("FILE", "clients need a certificate signed by one of these, in PEM, as well as the token"),
} as const satisfies Args;

/** The TLS in the flags, its files unread; undefined without any. @throws UsageError */
export function tlsOf(args: Values<typeof TLS_FLAGS>, isSocket: boolean) {
  const { tls, "tls-cert": cert, "tls-key": key, "client-ca": clientCa } = args;
  if (isSocket && [tls, cert, key, clientCa].some((flag) => flag !== undefined))
    throw new UsageError("TLS is for --host and --port: a Unix socket is protected by its permissions");
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("--tls-cert and --tls-key belong together: give both");
  if (tls !== undefined && cert !== undefined)
    throw new UsageError("--tls self makes a certificate, and --tls-cert names one: give one of them");
  if (cert !== undefined) return { pair: { cert, key: key! }, clientCa };
  if (tls !== undefined) return { clientCa };
  if (clientCa === undefined) return undefined;
  throw new UsageError("--client-ca needs TLS: give --tls self, or --tls-cert and --tls-key");
}

/** The path of --socket; `svc serve` prints the address, which clients take. @throws UsageError for an address */
export function checkSocket(socket: string): string {
  if (!isUrl(socket)) return socket;
  const remedy = socket.startsWith("unix:///") ? `write '${socket.slice("unix://".length)}'` : "give a path";
  throw new UsageError(`--socket: '${socket}' is an address, not a path: ${remedy}`);
}

/** The value of --port, if it is one. @throws UsageError */
export function checkPort<P extends number | undefined>(port: P): P {
  if (port === undefined || (Number.isInteger(port) && port >= 0 && port <= 65_535)) return port;
  throw new UsageError(`--port: '${port}' is not a port`);
}

const MIB = 1024 * 1024;

/** The limits that were given. @throws UsageError */
export function limitsOf(args: Values<typeof LIMIT_FLAGS>): Partial<Limits> {
  const whole = (name: keyof typeof LIMIT_FLAGS) => {
    const value = args[name];
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return value;
    throw new UsageError(`--${name}: '${value}' must be a whole number from 1`);
  };
  const buffered = whole("max-buffered");
  const limits: Partial<Limits> = {
    connectionsMax: whole("max-connections"),
    unauthenticatedMax: whole("max-unauthenticated"),
    inFlightMax: whole("max-in-flight"),
    bufferedBytesMax: buffered === undefined ? undefined : buffered * MIB,
    authTimeoutS: seconds("auth-timeout", args["auth-timeout"]),
    frameTimeoutS: seconds("frame-timeout", args["frame-timeout"]),
    readerTimeoutS: seconds("reader-timeout", args["reader-timeout"]),
    idleTimeoutS: seconds("idle-timeout", args["idle-timeout"], 0),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

/** What a timer can count: 2^31 - 1 milliseconds, 24 days. */
const SECONDS_MAX = 2_147_483;

/** A flag's value as a time. @throws UsageError if it is below `least`, or more than a timer can count */
export function seconds(name: string, value: number | undefined, least = 0.001): number | undefined {
  if (value === undefined || (value >= least && value <= SECONDS_MAX)) return value;
  throw new UsageError(`--${name}: '${value}' must be from ${least === 0 ? 0 : "above 0"} to ${SECONDS_MAX} seconds`);
}
