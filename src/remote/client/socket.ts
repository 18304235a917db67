/** A connected socket, or an error that says what to do about it. */
import { OSError, TimeoutError } from "../../errors.ts";
import type { Address } from "./address.ts";

/** The part of a socket that is used. */
export interface Socket {
  /** Bytes that the system took: fewer than given where its buffer is full, negative where the socket is closed. */
  write(bytes: Buffer): number;
  /** Closes it in good order. */
  end(): void;
  /** Closes it at once. */
  terminate(): void;
}

/** What a socket reports; nothing after `close`. */
interface SocketEvents {
  /** The receiver owns the chunk. */
  data(chunk: Buffer): void;
  /** The system takes bytes again. */
  drain(): void;
  close(why: string): void;
}

/**
 * Connects. `timeoutMs` is in milliseconds.
 * @throws TimeoutError; OSError where nothing listens there, or the system refuses
 */
export function openSocket(address: Address, timeoutMs: number, events: SocketEvents): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  let isLate = false;
  let isOpen = false;
  const timer = setTimeout(() => {
    isLate = true;
    reject(
      new TimeoutError(
        `no connection to ${address.text} within ${timeoutMs} ms; is \`svc serve\` running there, and reachable?`,
      ),
    );
  }, timeoutMs);
  const failed = (error: unknown) => {
    clearTimeout(timer);
    reject(new OSError(explain(address, error), "disconnected"));
  };
  const closed = (why: string) => {
    if (isOpen) events.close(why);
    isOpen = false;
  };
  const socket = {
    open(opened: Socket) {
      clearTimeout(timer);
      // An attempt cannot be cancelled: one that succeeds too late is closed.
      if (isLate) return opened.terminate();
      isOpen = true;
      resolve(opened);
    },
    data: (_: unknown, chunk: Buffer) => isOpen && events.data(chunk),
    drain: () => isOpen && events.drain(),
    error: (_: unknown, error: Error) => closed(codeOf(error)),
    close: (_: unknown, error?: Error) => closed(error ? codeOf(error) : "the other side closed it"),
    connectError: (_: unknown, error: Error) => failed(error),
  };
  const target = address.kind === "unix" ? { unix: address.path } : { hostname: address.host, port: address.port };
  try {
    Bun.connect({ ...target, socket } as Parameters<typeof Bun.connect>[0]).catch(failed);
  } catch (error) {
    failed(error);
  }
  return promise;
}

const REASONS: Record<string, string> = {
  ENOENT: "there is no such socket; is `svc serve` running?",
  ECONNREFUSED: "nothing listens there; is `svc serve` running?",
  ENOTFOUND: "there is no host of that name",
  EACCES: "its permissions do not let this user in; run as the user that started `svc serve`",
  EPERM: "its permissions do not let this user in; run as the user that started `svc serve`",
};

function explain(address: Address, error: unknown): string {
  const code = codeOf(error);
  return `cannot connect to ${address.text} (${code}): ${REASONS[code] ?? "is `svc serve` running there?"}`;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "the connection broke";
}
