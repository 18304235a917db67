/** The other end of `process.ts`. */
import { join } from "node:path";
import type { Subprocess } from "bun";

export class Caller {
  private readonly lines: AsyncIterator<string>;

  private constructor(private readonly child: Subprocess<"pipe", "pipe", "inherit">) {
    this.lines = linesOf(child.stdout);
  }

  /** A process on a memory, which has said that it is ready. */
  static async start(memory: string, env: Record<string, string>): Promise<Caller> {
    // The environment's PATH may lack all programs: this process needs none but itself.
    const command = [process.execPath, join(import.meta.dir, "process.ts"), memory];
    const caller = new Caller(Bun.spawn(command, { env, stdin: "pipe", stdout: "pipe", stderr: "inherit" }));
    await caller.lines.next();
    return caller;
  }

  // biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and the caller reads what it expects of it
  async call(what: string, args: object = {}): Promise<any> {
    this.child.stdin.write(`${JSON.stringify({ what, args })}\n`);
    this.child.stdin.flush();
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`the process ended at ${what} ${JSON.stringify(args)}: ${this.child.signalCode}`);
    const said = JSON.parse(value);
    if ("error" in said) throw new Error(`${what} ${JSON.stringify(args)}: ${said.error}`);
    return said.value;
  }

  /** Begins a call that is killed after some milliseconds, whether it has ended or not. */
  async killIn(ms: number, what: string, args: object): Promise<void> {
    const ended = this.call(what, args).catch(() => {});
    await Promise.race([ended, Bun.sleep(ms)]);
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  async close(): Promise<void> {
    this.child.stdin.end();
    await this.child.exited;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      yield rest.slice(0, end);
      rest = rest.slice(end + 1);
    }
  }
}
