/**
 * `svc mcp` as a process that several clients share. Each request is sent with an id of its own. Its answer and its
 * progress are returned with the id and the token that the client chose.
 */
import { streamLines } from "../stream-lines.ts";

export interface Message {
  jsonrpc: "2.0";
  id?: string | number | null;
  method?: string;
  params?: { _meta?: Record<string, unknown>; [name: string]: unknown };
  // Tests reach into answers of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  result?: any;
  error?: { code: number; message: string; data?: unknown };
}

interface Pending {
  id: string | number;
  token: unknown;
  onNotification: (message: Message) => void;
  answer: PromiseWithResolvers<Message>;
}

/** One `svc mcp` over real pipes. */
export class ServerProcess {
  /** What the server wrote although the protocol does not allow it, one sentence each. */
  readonly faults: string[] = [];
  private readonly process;
  private readonly pending = new Map<number, Pending>();
  private readonly cancelled = new Set<number>();
  private nextId = 1;

  /** @param command the executable and its arguments */
  constructor(command: string[], env: Record<string, string>) {
    this.process = Bun.spawn(command, { env, cwd: env.HOME, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    void this.readAll();
  }

  /**
   * Sends a request; resolves to the answer, with the id of `message`.
   * @param onNotification called with each notification about this request
   */
  request(message: Message, onNotification: (message: Message) => void = () => {}): Promise<Message> {
    const id = this.nextId++;
    const token = message.params?._meta?.progressToken;
    const answer = Promise.withResolvers<Message>();
    this.pending.set(id, { id: message.id!, token, onNotification, answer });
    const params = token === undefined ? message.params : withToken(message.params!, id);
    this.write({ ...message, id, ...(params && { params }) });
    return answer.promise;
  }

  /** Sends a notification. One that cancels a request names it by the id that `request` got. */
  notify(message: Message): void {
    if (message.method !== "notifications/cancelled") {
      this.write(message);
      return;
    }
    const of = [...this.pending].find(([, { id }]) => id === message.params?.requestId);
    if (of === undefined) return;
    this.cancelled.add(of[0]);
    this.pending.delete(of[0]);
    this.write({ ...message, params: { ...message.params, requestId: of[0] } });
  }

  /** Closes stdin, as a client does that leaves, and waits for the exit. */
  async close(): Promise<number> {
    await this.process.stdin.end();
    return this.process.exited;
  }

  private write(message: object): void {
    this.process.stdin.write(`${JSON.stringify(message)}\n`);
    this.process.stdin.flush();
  }

  private async readAll(): Promise<void> {
    for await (const line of streamLines(this.process.stdout)) this.receive(line);
    for (const { answer } of this.pending.values()) answer.reject(new Error("the server ended before it answered"));
  }

  private receive(line: string): void {
    const message = parsed(line);
    if (message === undefined) this.faults.push(`not a message: ${line.slice(0, 200)}`);
    else if (message.method !== undefined && message.id !== undefined) this.faults.push(`a request: ${message.method}`);
    else if (message.method !== undefined) this.receiveNotification(message);
    else this.receiveAnswer(message);
  }

  private receiveNotification(message: Message): void {
    const id = message.params?.progressToken as number;
    const of = this.pending.get(id);
    if (of) of.onNotification({ ...message, params: { ...message.params, progressToken: of.token } });
    // The server may have sent it before it read the cancellation.
    else if (!this.cancelled.has(id)) this.faults.push(`${message.method} about no request that runs`);
  }

  private receiveAnswer(message: Message): void {
    const id = message.id as number;
    const of = this.pending.get(id);
    this.pending.delete(id);
    if (of) of.answer.resolve({ ...message, id: of.id });
    else if (!this.cancelled.has(id)) this.faults.push(`an answer to no request that runs, of id ${message.id}`);
  }
}

function withToken(params: NonNullable<Message["params"]>, progressToken: number): Message["params"] {
  return { ...params, _meta: { ...params._meta, progressToken } };
}

function parsed(line: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === "object" && message !== null && "jsonrpc" in message ? (message as Message) : undefined;
  } catch {
    return undefined;
  }
}
