/** Where a server listens: a Unix socket, or a TCP address with a token. */

import { OSError, PermissionError, ValueError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { isLoopback } from "../../trust/account/trusted/endpoints.ts";
import type { Connection, Wire } from "./connection.ts";
import { checkSocketPath, leaveSocketPath, socketIdentity, takeSocketPath } from "./socket-file.ts";
import { overTls, type Handlers as SocketHandlers } from "./tls/accept.ts";
import type { ServerTls } from "./tls/certificates.ts";

/** Where to listen: a socket, or host and port with a token. */
export interface TransportOptions {
  /** Path of the Unix socket: mode 0600, trusted, no token. */
  socketPath?: string | undefined;
  host?: string | undefined;
  /** 0 takes a free port. */
  port?: number | undefined;
  /** Bearer token of TCP connections; it may be absent where there are named tokens. */
  accessToken?: string | undefined;
  /** TLS on TCP; undefined: what is sent is not encrypted. */
  tls?: ServerTls | undefined;
}

/** The one transport of a server. */
export type Transport = { socketPath: string } | Tcp;

interface Tcp {
  host: string;
  port: number;
  token: string | undefined;
  tls?: ServerTls | undefined;
}

/** A client's socket with its connection; undefined for a refused client. */
export type Client = Bun.Socket<{ connection: Connection | undefined }>;

/** What a client's socket reports. */
export type Handlers = SocketHandlers<Client>;

/** A server that listens. */
export interface Listening {
  /** In the form that `connect` takes. */
  address: string;
  stopAccepting(): void;
  /** Releases the address. */
  close(): Promise<void>;
}

/** How long a TCP connection is silent before the system probes whether its peer is alive. */
const KEEP_ALIVE_MS = 60_000;

/** @throws ValueError for no transport, or both; PermissionError for TCP without a token */
export function checkTransport(
  { socketPath, host, port, accessToken, tls }: TransportOptions,
  hasNamedTokens: boolean,
): Transport {
  const isTcp = host !== undefined || port !== undefined;
  if (socketPath !== undefined && isTcp) {
    throw new ValueError("a server listens on a socket or on host and port, not on both");
  }
  if (socketPath !== undefined && tls) throw new ValueError("TLS is for TCP: a Unix socket has none");
  if (socketPath !== undefined) return { socketPath };
  if (host === undefined || port === undefined) throw new ValueError("a server needs a socket, or host and port");
  if (!accessToken && !hasNamedTokens)
    throw new PermissionError("a server on TCP needs an access token: anonymous TCP is refused");
  return { host, port, token: accessToken || undefined, tls };
}

/** Starts listening. @throws OSError where the address is taken; what `checkSocketPath` throws */
export function listen(transport: Transport, handlers: Handlers, log: Log): Promise<Listening> {
  return "socketPath" in transport
    ? listenUnix(transport.socketPath, handlers, log)
    : listenTcp(transport, handlers, log);
}

/** A socket as a connection sees it. */
export function wireOf(socket: Client): Wire {
  let isFinished = false;
  return {
    write: (bytes) => socket.write(bytes),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    finish() {
      if (isFinished) return;
      isFinished = true;
      socket.shutdown();
    },
    terminate: () => socket.terminate(),
  };
}

async function listenUnix(socketPath: string, handlers: Handlers, log: Log): Promise<Listening> {
  const file = checkSocketPath(socketPath);
  if (file.isShared) {
    const message = `others can put files into the folder of '${socketPath}': a folder of your own is safer`;
    log({ level: "warn", event: "shared_folder", message });
  }
  const start = (path: string) => Bun.listen({ unix: path, allowHalfOpen: true, socket: handlers });
  const listener = await takeSocketPath(file, (path) => attempt(socketPath, () => start(path)));
  const identity = socketIdentity(file.path);
  return {
    address: `unix://${file.path}`,
    stopAccepting: () => listener.stop(false),
    async close() {
      listener.stop(true);
      await leaveSocketPath(file.path, identity);
    },
  };
}

async function listenTcp({ host, port, tls }: Tcp, handlers: Handlers, log: Log): Promise<Listening> {
  const accepted = tls ? overTls(handlers, tls) : handlers;
  const open = (socket: Client) => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    accepted.open(socket);
  };
  // Exclusive: otherwise another server could silently take half of the connections.
  const options = { hostname: host, port, exclusive: true, allowHalfOpen: true, socket: { ...accepted, open } };
  const listener = attempt(`${host}:${port}`, () => Bun.listen(options));
  if (!tls && !isLoopback(host)) {
    const message =
      `${host} can be reached from other machines, and nothing is encrypted: give --tls self, or --tls-cert and ` +
      "--tls-key; or use a tunnel, or a network you trust";
    log({ level: "warn", event: "beyond_loopback", message, fields: { host } });
  }
  const place = `${host.includes(":") ? `[${host}]` : host}:${listener.port}`;
  return {
    address: tls ? `tls://${place}${tls.pin ? `#${tls.pin}` : ""}` : `tcp://${place}`,
    stopAccepting: () => listener.stop(false),
    close: async () => listener.stop(true),
  };
}

function attempt<T>(where: string, start: () => T): T {
  try {
    return start();
  } catch (error) {
    const code = (error as { code?: string }).code ?? "refused";
    const hint =
      code === "EADDRINUSE" ? "another server is there" : "is it an address of this machine, and may you use it?";
    throw new OSError(`cannot listen on ${where} (${code}): ${hint}`);
  }
}
