/** A network that fails: passes the bytes of connections on, until it cuts or holds them. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { closedAtEnd } from "../opened.ts";

export class Network {
  private readonly sockets = new Set<Socket>();
  private held: (() => void)[] = [];
  private isSilent = false;
  private trigger: { text: string; met: () => void } | undefined;
  private readonly server = createServer((client) => {
    const peer = connect(this.to, "127.0.0.1");
    this.join(client, peer);
    this.join(peer, client);
  });

  private constructor(private readonly to: number) {}

  static async start(to: number): Promise<Network> {
    const network = new Network(to);
    await new Promise<void>((resolve) => network.server.listen(0, "127.0.0.1", resolve));
    return closedAtEnd(network);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on("data", (bytes) => {
      if (this.trigger && bytes.includes(this.trigger.text)) this.meet();
      this.pass(() => to.write(bytes));
    });
    from.on("error", () => {});
    from.on("close", () => {
      this.sockets.delete(from);
      this.pass(() => to.destroy());
    });
  }

  private pass(action: () => void): void {
    if (this.isSilent) this.held.push(action);
    else action();
  }

  /** Ends all connections on both sides. What was held is lost. */
  cut(): void {
    this.held = [];
    for (const socket of this.sockets) socket.destroy();
  }

  /** Holds all bytes, and the ends of connections. */
  hold(): void {
    this.isSilent = true;
  }

  /** Holds from the bytes on that contain `text`, themselves included. @returns when they have come */
  holdFrom(text: string): Promise<void> {
    return new Promise((met) => {
      this.trigger = { text, met };
    });
  }

  private meet(): void {
    this.hold();
    this.trigger?.met();
    this.trigger = undefined;
  }

  /** Passes on what was held. */
  release(): void {
    this.isSilent = false;
    for (const action of this.held.splice(0)) action();
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
  }
}
