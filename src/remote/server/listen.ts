/** Where a server listens: a Unix socket, or a TCP address with a token. */

import { resolve } from "node:path";
import { duplicate, socketName } from "../../../ffi/system/process.ts";
import { OSError, PermissionError, ValueError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { isLoopback } from "../../trust/account/trusted/endpoints.ts";
import { isNamedTokenText } from "../tokens/token-text.ts";
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
  /** A socket that listens there already. */
  inherited?: Inherited | undefined;
}

/** A listening socket that another process has opened: a service manager, or the server before this one. */
export interface Inherited {
  readonly fd: number;
  /** The file of a Unix socket is this server's to remove. */
  readonly ownsFile: boolean;
}

/** The one transport of a server. */
export type Transport = { socketPath: string; inherited?: Inherited | undefined } | Tcp;

interface Tcp {
  host: string;
  port: number;
  token: string | undefined;
  tls?: ServerTls | undefined;
  inherited?: Inherited | undefined;
}

/** A client's socket with its connection; undefined for a refused client. Bun's types do not declare the descriptor. */
export type Client = Bun.Socket<{ connection: Connection | undefined }> & { readonly fd?: number };

/** What a client's socket reports. */
export type Handlers = SocketHandlers<Client>;

/** A server that listens. */
export interface Listening {
  /** In the form that `connect` takes. */
  address: string;
  /** A descriptor of the socket that stays open, for a process that goes on listening. @throws OSError */
  keep(): number;
  stopAccepting(): void;
  /** Releases the address. @param isKept another process goes on: the file of a Unix socket stays */
  close(isKept: boolean): Promise<void>;
}

/** How long a TCP connection is silent before the system probes whether its peer is alive. */
const KEEP_ALIVE_MS = 60_000;

/** @throws ValueError for no transport, or both, and for a named token as the one token; PermissionError without any */
export function checkTransport(
  { socketPath, host, port, accessToken, tls, inherited }: TransportOptions,
  hasNamedTokens: boolean,
): Transport {
  const isTcp = host !== undefined || port !== undefined;
  if (socketPath !== undefined && isTcp) {
    throw new ValueError("a server listens on a socket or on host and port, not on both");
  }
  if (socketPath !== undefined && tls) throw new ValueError("TLS is for TCP: a Unix socket has none");
  if (socketPath !== undefined) return { socketPath, inherited };
  if (host === undefined || port === undefined) throw new ValueError("a server needs a socket, or host and port");
  if (accessToken && isNamedTokenText(accessToken))
    throw new ValueError("the access token has all rights: it cannot be a named token, which has rights of its own");
  if (!accessToken && !hasNamedTokens)
    throw new PermissionError("a server on TCP needs an access token: anonymous TCP is refused");
  return { host, port, token: accessToken || undefined, tls, inherited };
}

/** Starts listening. @throws OSError where the address is taken; what `checkSocketPath` throws */
export function listen(transport: Transport, handlers: Handlers, log: Log): Promise<Listening> {
  return "socketPath" in transport ? listenUnix(transport, handlers, log) : listenTcp(transport, handlers, log);
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

async function listenUnix(
  { socketPath, inherited }: { socketPath: string; inherited?: Inherited | undefined },
  handlers: Handlers,
  log: Log,
): Promise<Listening> {
  if (inherited) {
    if (socketName(inherited.fd)?.kind !== "unix") throw wrongKind(inherited.fd, `the Unix socket '${socketPath}'`);
    const listener = take(inherited.fd, socketPath, handlers);
    const path = resolve(socketPath);
    return unixListening(listener, path, inherited.ownsFile ? socketIdentity(path) : undefined);
  }
  const file = checkSocketPath(socketPath);
  if (file.isShared) {
    const message = `others can put files into the folder of '${socketPath}': a folder of your own is safer`;
    log({ level: "warn", event: "shared_folder", message });
  }
  const start = (path: string) => Bun.listen({ unix: path, allowHalfOpen: true, socket: handlers });
  const listener = await takeSocketPath(file, (path) => attempt(socketPath, () => start(path)));
  return unixListening(listener, file.path, socketIdentity(file.path));
}

/** @param identity of its file, where that is removed in the end */
function unixListening(listener: Listener, path: string, identity: string | undefined): Listening {
  return {
    address: `unix://${path}`,
    ...common(listener),
    async close(isKept) {
      listener.stop(true);
      if (!isKept) await leaveSocketPath(path, identity);
    },
  };
}

/** Bun's types do not declare the descriptor. */
type Listener = { stop(closesAll?: boolean): void; readonly fd?: number };

function common(listener: Listener): Pick<Listening, "keep" | "stopAccepting"> {
  return {
    keep() {
      const fd = duplicate(listener.fd ?? -1);
      if (fd < 0) throw new OSError("the listening socket cannot be kept open");
      return fd;
    },
    stopAccepting: () => listener.stop(false),
  };
}

/** Listens on a socket that is bound already. Bun's types do not declare that. */
function take(fd: number, where: string, socket: object): Listener {
  const options = { fd, allowHalfOpen: true, socket } as unknown as Parameters<typeof Bun.listen>[0];
  return attempt(where, () => Bun.listen(options)) as Listener;
}

function wrongKind(fd: number, wanted: string): OSError {
  return new OSError(
    `the socket that this process was started with (descriptor ${fd}) is not ${wanted}, which its flags name: make the ` +
      "flags and the unit of the socket agree",
  );
}

async function listenTcp({ host, port, tls, inherited }: Tcp, handlers: Handlers, log: Log): Promise<Listening> {
  const accepted = tls ? overTls(handlers, tls) : handlers;
  const open = (socket: Client) => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    accepted.open(socket);
  };
  // Exclusive: otherwise another server could silently take half of the connections.
  const options = { hostname: host, port, exclusive: true, allowHalfOpen: true, socket: { ...accepted, open } };
  const where = `${host}:${port}`;
  const [listener, bound] = inherited
    ? takeTcp(inherited.fd, where, port, options.socket)
    : listenAt(() => attempt(where, () => Bun.listen(options)));
  if (!tls && !isLoopback(host)) {
    const message =
      `${host} can be reached from other machines, and nothing is encrypted: give --tls self, or --tls-cert and ` +
      "--tls-key; or use a tunnel, or a network you trust";
    log({ level: "warn", event: "beyond_loopback", message, fields: { host } });
  }
  const place = `${host.includes(":") ? `[${host}]` : host}:${bound}`;
  return {
    address: tls ? `tls://${place}${tls.pin ? `#${tls.pin}` : ""}` : `tcp://${place}`,
    ...common(listener),
    close: async () => listener.stop(true),
  };
}

type Bound = [listener: Listener, port: number];

function listenAt(start: () => Bun.TCPSocketListener): Bound {
  const listener = start();
  return [listener as Listener, listener.port];
}

function takeTcp(fd: number, where: string, port: number, handlers: object): Bound {
  const name = socketName(fd);
  if (name?.kind !== "tcp" || (port !== 0 && name.port !== port)) throw wrongKind(fd, `a TCP socket at ${where}`);
  return [take(fd, where, handlers), name.port];
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
