/** A network between a client and a server: it forwards bytes, holds them, forgets its connections or resets them. */
import type { Socket } from "bun";

interface End {
  other: Socket<End> | undefined;
  /** Bytes for the other side that are not sent yet. */
  waiting: Buffer[];
  isServer: boolean;
}

/** Listens on a port of its own for one server. */
export class TcpProxy {
  /** Connections so far. */
  accepted = 0;
  /** Bytes that the server has sent while they were held. */
  held = 0;
  /** What comes is taken and never sent on, and no end either: a dead network, which accepts new connections. */
  isStalled = false;
  /** What the server sends waits. */
  private isHolding = false;
  private readonly ends = new Set<Socket<End>>();
  private readonly listener;

  /** @param port of the server */
  constructor(port: number) {
    const events = {
      data: (socket: Socket<End>, bytes: Buffer) => this.take(socket, bytes),
      drain: (socket: Socket<End>) => void (socket.data.other && this.pass(socket.data.other)),
      close: (socket: Socket<End>) => this.closed(socket),
      error: () => {},
    };
    this.listener = Bun.listen<End>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        ...events,
        open: async (socket) => {
          this.accepted++;
          socket.data = { other: undefined, waiting: [], isServer: false };
          this.ends.add(socket);
          const data: End = { other: socket, waiting: [], isServer: true };
          const server = await Bun.connect<End>({ hostname: "127.0.0.1", port, data, socket: events });
          this.ends.add(server);
          socket.data.other = server;
          this.pass(socket);
        },
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }

  /** What the server sends waits until it is released. */
  hold(): void {
    this.isHolding = true;
    this.held = 0;
  }

  release(): void {
    this.isHolding = false;
    for (const end of this.ends) this.pass(end);
  }

  /** Ends every connection with a reset, to both sides; what is held is lost. */
  reset(): void {
    for (const end of this.ends) {
      end.data.waiting = [];
      end.terminate();
    }
    this.isHolding = false;
  }

  [Symbol.dispose](): void {
    this.listener.stop(true);
    for (const end of this.ends) end.terminate();
  }

  private take(socket: Socket<End>, bytes: Buffer): void {
    if (this.isStalled) return;
    socket.data.waiting.push(Buffer.from(bytes));
    if (socket.data.isServer && this.isHolding) this.held += bytes.length;
    this.pass(socket);
  }

  /** Sends on what a side has sent. */
  private pass(from: Socket<End>): void {
    const { other, waiting, isServer } = from.data;
    if (other === undefined || (isServer && this.isHolding)) return;
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const taken = other.write(first);
      if (taken < first.length) {
        if (taken > 0) waiting[0] = first.subarray(taken);
        return;
      }
      waiting.shift();
    }
  }

  private closed(socket: Socket<End>): void {
    this.ends.delete(socket);
    if (!this.isStalled) socket.data.other?.end();
  }
}
