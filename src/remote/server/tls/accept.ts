/**
 * TLS on accepted TCP connections. Each one is upgraded by itself, with the certificate of that moment: Bun's `reload`
 * of a listener that has `tls` goes on with the certificate that it began with.
 */
import { encodeFrame } from "../../wire/frame.ts";
import type { ServerTls } from "./certificates.ts";

/** What a client's socket reports. */
export interface Handlers<Socket> {
  open(socket: Socket): void;
  data(socket: Socket, chunk: Buffer): void;
  drain(socket: Socket): void;
  end(socket: Socket): void;
  close(socket: Socket): void;
  error(socket: Socket, error: Error): void;
  /** The handshake is done. */
  secured(socket: Socket): void;
  /** TLS has failed, in the handshake or after it. */
  tlsFailed(socket: Socket, why: string): void;
}

/** What Bun's types do not declare of `upgradeTLS`: a server's side, as `node:tls` uses it. */
interface Upgradable {
  upgradeTLS(options: { isServer: true; tls: Bun.TLSOptions; socket: object }): [raw: unknown, tls: unknown];
}

/** The first byte of a TLS connection: the type of a record with a handshake. */
const HANDSHAKE_RECORD = 0x16;

/** Clients whose handshake is under way; with the last frame for those that have been turned away meanwhile. */
const inHandshake = new WeakMap<object, { last: Buffer | undefined }>();

/** Whether a client's handshake is under way. */
export function isInHandshake(socket: object): boolean {
  return inHandshake.has(socket);
}

/** Sends a last frame and ends the sending half; over TLS as soon as the handshake is done. */
export function sendLast(socket: Bun.Socket<unknown>, frame: Buffer): void {
  const handshake = inHandshake.get(socket);
  if (handshake) {
    handshake.last = frame;
    return;
  }
  socket.write(frame);
  socket.shutdown();
}

/**
 * The handlers of a listener without TLS whose connections speak it. `open` reports a client before its handshake, so
 * that it counts as unauthenticated from its first byte on; no `data` comes before the end of it.
 */
export function overTls<D>(
  handlers: Handlers<Bun.Socket<D>>,
  tls: ServerTls,
): Pick<Handlers<Bun.Socket<D>>, "open" | "data" | "drain"> {
  const { data, drain, end, close } = handlers;
  const upgraded = { data, drain, end, close, ...tlsEvents(handlers, tls) };
  const begun = new WeakSet<object>();
  return {
    open(socket) {
      const options = { isServer: true, tls: tls.options, socket: upgraded } as const;
      (socket as unknown as Upgradable).upgradeTLS(options);
    },
    /** The bytes of the TLS connection, before TLS gets them. */
    data(socket, chunk) {
      if (begun.has(socket)) return;
      begun.add(socket);
      if (chunk[0] !== HANDSHAKE_RECORD) socket.write(NOT_TLS);
    },
    drain() {},
  };
}

function tlsEvents<D>(handlers: Handlers<Bun.Socket<D>>, tls: ServerTls) {
  return {
    open(socket: Bun.Socket<D>) {
      inHandshake.set(socket, { last: undefined });
      handlers.open(socket);
    },
    handshake(socket: Bun.Socket<D>, isDone: boolean, error: Error | null) {
      const last = inHandshake.get(socket)?.last;
      inHandshake.delete(socket);
      const isRefused = isDone && tls.options.requestCert === true && !socket.authorized;
      if (!isDone || isRefused) handlers.tlsFailed(socket, reasonOf(error));
      // Bun closes it too, by `rejectUnauthorized`; who may connect does not hang on that alone.
      if (isRefused) socket.end();
      else if (last) sendLast(socket, last);
      else if (isDone) handlers.secured(socket);
    },
    error(socket: Bun.Socket<D>, error: Error) {
      if (isTls(error)) handlers.tlsFailed(socket, reasonOf(error));
      else handlers.error(socket, error);
    },
  };
}

const NOT_TLS = encodeFrame(
  JSON.stringify({
    ok: false,
    error:
      "OSError: this port speaks TLS, and the client does not: connect to tls://HOST:PORT, or, where the server has a " +
      "certificate of its own, to the address with the fingerprint that the server prints",
  }),
);

function isTls(error: Error): boolean {
  return (error as { code?: unknown }).code === "EPROTO";
}

/** Without the library's numbers: "error:100000c0:SSL routines:OPENSSL_internal:PEER_DID_NOT_RETURN_A_CERTIFICATE". */
function reasonOf(error: Error | null): string {
  return error?.message.replace(/^error:.*:/, "").trim() ?? "it ended in the handshake";
}
