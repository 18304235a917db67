/** A connected socket, or an error that says what to do about it. */
import { OSError, type SvcError, TimeoutError } from "../../errors.ts";
import type { Address } from "./address.ts";
import { deferred } from "./deferred.ts";
import type { Dial, HandshakeEnd, Opened, Socket } from "./dial.ts";
import { connectNode } from "./node-socket.ts";
import { codeOf, connectTls, handshakeFault, type TlsOptions, tlsError } from "./tls.ts";

/** What a socket reports; nothing after `close`. */
interface SocketEvents {
  /** The receiver owns the chunk. */
  data(chunk: Buffer): void;
  /** The system takes bytes again. */
  drain(): void;
  /** @param refusal the error where it is the server that does not want this client */
  close(why: string, refusal?: SvcError): void;
}

const dial: Dial = typeof Bun === "undefined" ? connectNode : (Bun.connect as unknown as Dial);

/** How long a connection is silent before the system probes whether its peer is alive. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Connects. `timeoutMs` is in milliseconds.
 * @param tls its files are read
 * @throws TimeoutError; OSError where nothing listens there, or the system refuses; PermissionError where the server's
 * certificate is not the one that the address names
 */
export async function openSocket(
  address: Address,
  timeoutMs: number,
  events: SocketEvents,
  tls?: TlsOptions,
): Promise<Socket> {
  const encryption = address.kind === "tcp" && address.tls ? await connectTls(address.tls.pin, tls ?? {}) : undefined;
  const { promise, resolve, reject } = deferred<Socket>();
  let isLate = false;
  let isOpen = false;
  let inHandshake: Socket | undefined;
  const timer = setTimeout(() => {
    isLate = true;
    reject(
      new TimeoutError(
        `no connection to ${address.text} within ${timeoutMs} ms; is \`svc serve\` running there, and reachable?`,
      ),
    );
    inHandshake?.terminate();
  }, timeoutMs);
  const refused = (error: Error) => {
    clearTimeout(timer);
    reject(error);
  };
  const failed = (error: unknown) => refused(new OSError(explain(address, error), "disconnected"));
  const closed = (why: string, refusal?: SvcError) => {
    if (isOpen) events.close(why, refusal);
    isOpen = false;
  };
  const ready = (opened: Socket) => {
    clearTimeout(timer);
    isOpen = true;
    resolve(opened);
  };
  const socket = {
    open(opened: Opened) {
      if (address.kind === "tcp") opened.setKeepAlive(true, KEEP_ALIVE_MS);
      // An attempt cannot be cancelled: one that succeeds too late is closed.
      if (isLate) opened.terminate();
      else if (encryption) inHandshake = opened;
      else ready(opened);
    },
    ...(encryption && { handshake: (...end: HandshakeEnd) => judge(address, end, ready, refused) }),
    data: (_: unknown, chunk: Buffer) => isOpen && events.data(chunk),
    drain: () => isOpen && events.drain(),
    error: (_: unknown, error: Error) =>
      codeOf(error) === "EPROTO" ? closed("TLS failed", tlsError(address, error)) : closed(causeOf(error)),
    close: (_: unknown, error?: Error) => closed(error ? causeOf(error) : "the other side closed it"),
    connectError: (_: unknown, error: Error) => failed(error),
  };
  const target =
    address.kind === "unix" ? { unix: address.path } : { hostname: address.host, port: address.port, tls: encryption };
  try {
    dial({ ...target, socket }).catch(failed);
  } catch (error) {
    failed(error);
  }
  return promise;
}

/** Nothing is sent before the end of the handshake shows that the server is the right one. */
function judge(
  address: Address,
  [opened, isDone, fault]: HandshakeEnd,
  ready: (socket: Socket) => void,
  refused: (error: Error) => void,
): void {
  const error = handshakeFault(address as Address & { kind: "tcp" }, opened, isDone, fault);
  if (!error) {
    ready(opened);
    return;
  }
  refused(error);
  opened.terminate();
}

const REASONS: Record<string, string> = {
  ENOENT: "there is no such socket; is `svc serve` running?",
  ECONNREFUSED: "nothing listens there; is `svc serve` running?",
  ENOTFOUND: "there is no host of that name",
  EACCES: "its permissions do not let this user in; run as the user that started `svc serve`",
  EPERM: "its permissions do not let this user in; run as the user that started `svc serve`",
};

function explain(address: Address, error: unknown): string {
  const code = causeOf(error);
  return `cannot connect to ${address.text} (${code}): ${REASONS[code] ?? "is `svc serve` running there?"}`;
}

/** Why a connection ended, in a word for a message. */
function causeOf(error: unknown): string {
  return codeOf(error) ?? "the connection broke";
}
