/** One connection through a proxy: a client's socket and the one to the server. */
import type { Socket } from "node:net";

/** The side from which bytes come. */
export type Side = "client" | "server";

/** `cut`: both sides see the end. `cut client`: the client does, and the server waits for a client that is gone. */
export type Cut = "cut" | "cut client";

/** How many of a packet's bytes pass, and what is done with the connection after them. */
export interface Verdict {
  passing: Buffer;
  action?: (link: Link) => void;
}

/** What a connection takes from its proxy. */
export interface Rules {
  delayMs(): number;
  /** @param before what the side sent before the packet, 200 bytes at most */
  inspect(from: Side, packet: Buffer, before: Buffer): Verdict;
  /** Both sockets are closed. */
  closed(): void;
}

const BEFORE = 200;

export class Link {
  hasClient = true;
  private isSilent = false;
  private isCut = false;
  private readonly pipes: Pipe[];

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly rules: Rules,
  ) {
    this.pipes = [this.pipe("client", client, server), this.pipe("server", server, client)];
    // A server that is lost closes its socket alone: that of a client that reads nothing stays open until it is destroyed.
    let hasServer = true;
    client.on("close", () => {
      this.hasClient = false;
      if (!hasServer) rules.closed();
    });
    server.on("close", () => {
      hasServer = false;
      if (!this.hasClient) rules.closed();
    });
  }

  silence(): void {
    this.isSilent = true;
    this.client.pause();
    this.server.pause();
  }

  pass(): void {
    if (!this.isSilent || this.isCut) return;
    this.isSilent = false;
    for (const pipe of this.pipes) pipe.flush();
    this.client.resume();
    this.server.resume();
  }

  /** What has passed still gets to its side, and what waits does not. */
  cut(how: Cut): void {
    this.isCut = true;
    for (const pipe of this.pipes) pipe.clear();
    this.client.end(() => this.client.destroy());
    if (how === "cut client") {
      this.server.pause();
      return;
    }
    // The server ends its half when it has read everything: closed at once, it could miss the last bytes.
    this.server.end();
    this.server.resume();
  }

  destroy(): void {
    this.isCut = true;
    this.client.destroy();
    this.server.destroy();
  }

  private pipe(from: Side, source: Socket, target: Socket): Pipe {
    const pipe = new Pipe(() => !this.isSilent && !this.isCut);
    const later = (step: () => void) => {
      if (!this.isCut) pipe.push(step, this.rules.delayMs());
    };
    let before: Buffer = Buffer.alloc(0);
    source.on("data", (packet: Buffer) => {
      if (this.isCut) return;
      const { passing, action } = this.rules.inspect(from, packet, before);
      before = Buffer.concat([before, packet]).subarray(-BEFORE);
      later(() => {
        if (!target.write(passing)) source.pause();
        action?.(this);
      });
    });
    target.on("drain", () => {
      if (!this.isSilent) source.resume();
    });
    source.on("end", () => later(() => target.end()));
    source.on("close", () => later(() => target.end()));
    source.on("error", () => {});
    return pipe;
  }
}

/** Steps of one direction, done in order. */
class Pipe {
  private readonly steps: (() => void)[] = [];

  constructor(private readonly isOpen: () => boolean) {}

  push(step: () => void, delayMs: number): void {
    this.steps.push(step);
    if (delayMs === 0) this.next();
    else setTimeout(() => this.next(), delayMs);
  }

  flush(): void {
    while (this.steps.length > 0 && this.isOpen()) this.next();
  }

  clear(): void {
    this.steps.length = 0;
  }

  private next(): void {
    if (this.isOpen()) this.steps.shift()?.();
  }
}
