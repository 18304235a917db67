/** What connects: the part of `Bun.connect` that is used, which `node-socket.ts` has for Node. */
import type { Encryption, Peer } from "./tls.ts";

/** The part of a socket that is used. */
export interface Socket {
  /** Bytes that the system took: fewer than given where its buffer is full, negative where the socket is closed. */
  write(bytes: Buffer): number;
  /** Closes it in good order. */
  end(): void;
  /** Closes it at once. */
  terminate(): void;
}

/** The end of a handshake. @see handshakeFault in tls.ts */
export type HandshakeEnd = [opened: Opened, isDone: boolean, fault: Error | null];

/** A socket that is connected, with TLS at the beginning of the handshake. */
export type Opened = Socket & Peer & { setKeepAlive(enable: boolean, afterMs: number): unknown };

/** The part of `Bun.connect` that is used. */
export type Dial = (target: {
  unix?: string;
  hostname?: string;
  port?: number;
  tls?: Encryption | undefined;
  socket: {
    open(opened: Opened): void;
    handshake?(...end: HandshakeEnd): void;
    data(opened: unknown, chunk: Buffer): void;
    drain(): void;
    error(opened: unknown, error: Error): void;
    close(opened: unknown, error?: Error): void;
    connectError(opened: unknown, error: Error): void;
  };
}) => Promise<unknown>;
