/**
 * `Bun.connect` by the modules of Node, as far as `socket.ts` uses it: the client's npm package runs on Node too. Under
 * Bun it is not used, as a socket of Node does not say how many bytes the system took.
 */
import type { Socket as NetSocket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Dial } from "./dial.ts";

/** How many bytes are given to Node at a time. Those count as sent, whether or not the system takes them. */
const PART_BYTES = 64 * 1024;

/** What a socket with TLS has in addition. */
type Certified = Partial<Pick<TLSSocket, "authorized" | "authorizationError" | "getPeerX509Certificate">>;

/** Connects; every failure is an event. */
export const connectNode: Dial = async ({ unix, hostname, port, tls, socket: events }) => {
  const raw: NetSocket & Certified = tls
    ? // What the certificate is worth is judged at the end of the handshake.
      process.getBuiltinModule("node:tls").connect({ ...tls, host: hostname, port, rejectUnauthorized: false })
    : process
        .getBuiltinModule("node:net")
        .connect(unix === undefined ? { host: hostname, port: port! } : { path: unix });
  let isConnected = false;
  let isInHandshake = tls !== undefined;
  let isFull = false;
  const opened = {
    write(bytes: Buffer): number {
      let taken = 0;
      while (taken < bytes.length && !isFull && !raw.destroyed) {
        const part = bytes.subarray(taken, taken + PART_BYTES);
        isFull = !raw.write(part);
        taken += part.length;
      }
      return taken;
    },
    end: () => void raw.end(),
    terminate: () => void raw.destroy(),
    setKeepAlive: (enable: boolean, afterMs: number) => raw.setKeepAlive(enable, afterMs),
    get authorized() {
      return raw.authorized === true;
    },
    getPeerX509Certificate: () => raw.getPeerX509Certificate?.(),
  };
  // Bun does the same: a small request waits for nothing.
  raw.setNoDelay(true);
  raw.on("connect", () => {
    isConnected = true;
    events.open(opened);
  });
  raw.on("secureConnect", () => {
    isInHandshake = false;
    const code = raw.authorizationError as unknown as string | undefined;
    events.handshake?.(opened, true, raw.authorized ? null : Object.assign(new Error(code), { code }));
  });
  raw.on("data", (chunk: Buffer) => events.data(opened, chunk));
  raw.on("drain", () => {
    isFull = false;
    events.drain();
  });
  raw.on("error", (error) => {
    if (!isConnected) events.connectError(opened, error);
    else if (isInHandshake) events.handshake?.(opened, false, likeBun(error));
    else events.error(opened, likeBun(error));
  });
  raw.on("close", () => events.close(opened));
};

/** Node has the reason of OpenSSL in the code, as in ERR_SSL_WRONG_VERSION_NUMBER, and Bun in the message. */
function likeBun(error: NodeJS.ErrnoException): Error {
  return error.code?.startsWith("ERR_SSL_") ? Object.assign(new Error(error.code), { code: "EPROTO" }) : error;
}
