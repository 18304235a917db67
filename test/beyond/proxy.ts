/** A TCP proxy in front of a server, whose connections a test cuts, delays and silences. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { closedAtEnd } from "../opened.ts";
import { type Cut, Link, type Side, type Verdict } from "./link.ts";

/** What happens once, when one side sends something. `silence` is that of all connections of the proxy. */
export interface Trigger {
  /** By default the client. */
  from?: Side;
  /**
   * A text in what the side sends, or how many more bytes it sends, over all connections together. Over TLS only a
   * number makes sense. A text is found across packets if it has at most 200 bytes.
   */
  sends: RegExp | number;
  /**
   * Whether the bytes pass before the action: up to the number, or with a text the whole packet that it is in.
   * Otherwise all before the text passes, and with a number nothing of the packet.
   */
  passes: boolean;
  action: Cut | "silence";
}

interface Armed extends Trigger {
  from: Side;
  /** Bytes that are still to come, if it waits for a number. */
  left: number;
  fired: () => void;
}

/** It listens on a free port of loopback, and is closed at the end of the test or of the file. */
export class TcpProxy {
  /** How many connections it has accepted. */
  accepted = 0;
  private readonly links = new Set<Link>();
  private armed: Armed | undefined;
  private isSilent = false;
  private delayMs = 0;

  private constructor(
    private readonly listener: Server,
    /** The port of loopback to which new connections lead: that of the server, or of the one that takes its place. */
    public to: number,
  ) {}

  /** @param to the server's port of loopback */
  static async start(to: number): Promise<TcpProxy> {
    const listener = createServer({ allowHalfOpen: true });
    const proxy = new TcpProxy(listener, to);
    listener.on("connection", (client) => proxy.accept(client));
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    return closedAtEnd(proxy);
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** How many clients are connected. */
  get open(): number {
    return [...this.links].filter(({ hasClient }) => hasClient).length;
  }

  /** Ends all connections, and accepts new ones. */
  cut(how: Cut = "cut"): void {
    for (const link of this.links) link.cut(how);
  }

  /** Passes no byte, of no connection, until `pass`. New connections are accepted. */
  silence(): void {
    this.isSilent = true;
    for (const link of this.links) link.silence();
  }

  /** Ends the silence: all that was sent meanwhile passes. */
  pass(): void {
    this.isSilent = false;
    for (const link of this.links) link.pass();
  }

  /** Has every packet pass this much later, in both directions. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** Arms a trigger, in place of an earlier one that has not fired. @returns when it has fired */
  once(trigger: Trigger): Promise<void> {
    const { sends } = trigger;
    const left = typeof sends === "number" ? sends : 0;
    return new Promise((fired) => {
      this.armed = { from: "client", ...trigger, left, fired };
    });
  }

  async close(): Promise<void> {
    this.armed = undefined;
    for (const link of this.links) link.destroy();
    await new Promise<void>((resolve) => this.listener.close(() => resolve()));
  }

  private accept(client: Socket): void {
    this.accepted++;
    const link = new Link(client, connect({ port: this.to, host: "127.0.0.1", allowHalfOpen: true }), {
      delayMs: () => this.delayMs,
      inspect: (from, packet, before) => this.inspect(from, packet, before),
      closed: () => this.links.delete(link),
    });
    this.links.add(link);
    if (this.isSilent) link.silence();
  }

  private inspect(from: Side, packet: Buffer, before: Buffer): Verdict {
    const { armed } = this;
    const passing = armed?.from === from ? passingOf(armed, packet, before) : undefined;
    if (armed === undefined || passing === undefined) return { passing: packet };
    this.armed = undefined;
    const action = (link: Link) => {
      if (armed.action === "silence") this.silence();
      else link.cut(armed.action);
      armed.fired();
    };
    return { passing: packet.subarray(0, passing), action };
  }
}

/** How many bytes of a packet pass before the trigger's action; undefined: it does not fire. */
function passingOf(armed: Armed, packet: Buffer, before: Buffer): number | undefined {
  const { sends, passes } = armed;
  if (typeof sends === "number") {
    const { left } = armed;
    armed.left -= packet.length;
    if (armed.left > 0) return undefined;
    return passes ? left : 0;
  }
  const at = Buffer.concat([before, packet]).toString("latin1").search(sends);
  if (at < 0) return undefined;
  return passes ? packet.length : Math.max(0, at - before.length);
}
