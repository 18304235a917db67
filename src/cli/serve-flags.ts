/** The flags of `svc serve` that take more than a look: where to listen, how much, how long. */
import type { Limits } from "../serve/limits.ts";
import { UsageError } from "./command.ts";
import { numberFlag } from "./flags.ts";

/** The one transport that was asked for. @throws UsageError */
export function transportOf(
  socket: string | undefined,
  host: string | undefined,
  port: string | undefined,
  accessToken: string | undefined,
) {
  const isTcp = host !== undefined || port !== undefined;
  if (socket !== undefined && isTcp)
    throw new UsageError("--socket and --host with --port exclude each other: choose one");
  if (socket !== undefined) return { socketPath: socket };
  if (!isTcp) throw new UsageError("where to listen? give --socket PATH, or --host HOST and --port PORT");
  if (host === undefined || port === undefined) throw new UsageError("--host and --port belong together");
  if (!accessToken) throw new UsageError("TCP needs a token: set SVC_ACCESS_TOKEN, or give --access-token");
  const number = numberFlag("port", port)!;
  if (!Number.isInteger(number) || number < 0 || number > 65_535)
    throw new UsageError(`--port: '${port}' is not a port`);
  return { host, port: number, accessToken };
}

const MIB = 1024 * 1024;

export function limitsOf(flag: (name: string) => string | undefined): Partial<Limits> {
  const buffered = whole("max-buffered", flag("max-buffered"));
  const limits: Partial<Limits> = {
    connectionsMax: whole("max-connections", flag("max-connections")),
    unauthenticatedMax: whole("max-unauthenticated", flag("max-unauthenticated")),
    inFlightMax: whole("max-in-flight", flag("max-in-flight")),
    bufferedBytesMax: buffered === undefined ? undefined : buffered * MIB,
    authTimeoutS: seconds("auth-timeout", flag("auth-timeout")),
    frameTimeoutS: seconds("frame-timeout", flag("frame-timeout")),
    readerTimeoutS: seconds("reader-timeout", flag("reader-timeout")),
    idleTimeoutS: seconds("idle-timeout", flag("idle-timeout"), 0),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

function whole(name: string, value: string | undefined): number | undefined {
  const number = numberFlag(name, value);
  if (number === undefined || (Number.isSafeInteger(number) && number >= 1)) return number;
  throw new UsageError(`--${name}: '${value}' must be a whole number from 1`);
}

/** What a timer can count: 2^31 - 1 milliseconds, 24 days. */
const SECONDS_MAX = 2_147_483;

export function seconds(name: string, value: string | undefined, least = 0.001): number | undefined {
  const number = numberFlag(name, value);
  if (number === undefined || (number >= least && number <= SECONDS_MAX)) return number;
  throw new UsageError(`--${name}: '${value}' must be from ${least === 0 ? 0 : "above 0"} to ${SECONDS_MAX} seconds`);
}
