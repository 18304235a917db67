/** A client over real pipes, as small as a test needs. It checks nothing: tests do. */
import { join } from "node:path";
import { IS_REMOTE, startServed } from "./remote.ts";
import { streamLines } from "./stream-lines.ts";

/** One JSON-RPC message, loosely. */
export interface Message {
  id?: number | string | null;
  method?: string;
  // Tests reach into answers of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  result?: any;
  error?: { code: number; message: string; data?: unknown };
  params?: Record<string, unknown>;
}

/** The fixture's server. */
const FIXTURE = [process.execPath, join(import.meta.dir, "fixture-server.ts")];

/** What the fixture's server needs to know: with SVC_TEST_REMOTE, where the server is whose verbs it has. */
export const FIXTURE_ENV: Record<string, string> = IS_REMOTE ? { FIXTURE_ADDRESS: (await startServed()).address } : {};

/** The server of `fixture-server.ts`, or another one, in a process of its own. */
export class Client {
  readonly process;
  /** Everything that came, in order. */
  readonly messages: Message[] = [];
  /** Answers a request of the server's; without it none is answered. */
  answer: ((request: Message) => object | undefined) | undefined;
  private waiting: (() => void)[] = [];
  private isOver = false;
  private nextId = 1;

  constructor(env: Record<string, string> = {}, command = FIXTURE) {
    this.process = Bun.spawn(command, {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
      env: { ...process.env, ...FIXTURE_ENV, ...env },
    });
    void this.readAll();
  }

  /** Writes bytes as they are. */
  async write(bytes: string | Uint8Array): Promise<void> {
    this.process.stdin.write(bytes);
    await this.process.stdin.flush();
  }

  /** Writes one message and a newline. */
  async send(message: unknown): Promise<void> {
    await this.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends a request and gives its answer. */
  async request(method: string, params?: unknown): Promise<Message> {
    const id = this.nextId++;
    await this.send({ jsonrpc: "2.0", id, method, params });
    return this.next((message) => message.id === id);
  }

  /** Calls a tool; gives its one text block and whether it failed. */
  async call(name: string, args?: unknown, meta?: unknown): Promise<{ text: string; isError: boolean }> {
    const { result } = await this.request("tools/call", { name, arguments: args, _meta: meta });
    return { text: result.content[0].text, isError: result.isError };
  }

  /** The first message, come or to come, that fits. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found) return found;
      if (this.isOver) throw new Error(`the server ended; it had said ${JSON.stringify(this.messages).slice(0, 2000)}`);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** Closes stdin and waits for the exit. */
  async close(): Promise<number> {
    await this.process.stdin.end();
    const code = await this.process.exited;
    while (!this.isOver) await Bun.sleep(1);
    return code;
  }

  private async readAll(): Promise<void> {
    for await (const line of streamLines(this.process.stdout)) {
      await this.take(JSON.parse(line) as Message);
      this.wake();
    }
    this.isOver = true;
    this.wake();
  }

  private async take(message: Message): Promise<void> {
    this.messages.push(message);
    const answer = message.method !== undefined && message.id !== undefined ? this.answer?.(message) : undefined;
    if (answer) await this.send({ jsonrpc: "2.0", id: message.id, ...answer });
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}
