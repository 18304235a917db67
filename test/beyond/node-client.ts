/** A node's process as a test sees it: asked, killed, frozen, and started again. */
import { join } from "node:path";
import { builtLibraries } from "../native.ts";
import { closedAtEnd } from "../opened.ts";
import { signal, suspend } from "../processes.ts";
import type { Reply, Request, Site } from "./node-process.ts";

/** How long a call may take: each of its waits has a deadline. */
const CALL_MS = 90_000;

/** What became of a request: `killed` where the process ended before it answered. */
export type Outcome = Reply | "killed";

type Child = Bun.Subprocess<"pipe", "pipe", "inherit">;

export class NodeProcess {
  private child: Child | undefined;
  private lines: AsyncIterator<string> | undefined;

  private constructor(
    readonly site: Site,
    private readonly variables: Record<string, string>,
  ) {}

  /** @param variables in addition to those of this process */
  static async start(site: Site, variables: Record<string, string> = {}): Promise<NodeProcess> {
    await builtLibraries(); // here, because a process that has to build does not answer meanwhile
    const node = closedAtEnd(new NodeProcess(site, variables));
    await node.restart();
    return node;
  }

  async restart(): Promise<void> {
    const program = [process.execPath, join(import.meta.dir, "node-process.ts"), JSON.stringify(this.site)];
    const env = { ...process.env, ...this.variables };
    this.child = Bun.spawn(program, { env, stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    this.lines = linesOf(this.child.stdout);
    const ready = await this.next();
    if (ready === "killed" || "code" in ready) throw new Error(`a node did not start: ${JSON.stringify(ready)}`);
  }

  /** One request at a time. */
  async call(request: Request): Promise<Outcome> {
    try {
      this.child!.stdin.write(`${JSON.stringify(request)}\n`);
      await this.child!.stdin.flush();
    } catch {
      // It was killed; its output has ended.
    }
    return this.next();
  }

  /** The value that a request answers. @throws Error where it fails */
  async value<T>(request: Request): Promise<T> {
    const outcome = await this.call(request);
    if (outcome === "killed" || "code" in outcome) throw new Error(`${request.call}: ${JSON.stringify(outcome)}`);
    return outcome.value as T;
  }

  /** Follows until the node is at a generation. */
  async reach(generation: number): Promise<void> {
    for (const deadline = performance.now() + CALL_MS; ; ) {
      await this.call({ call: "follow" });
      const asked = await this.call({ call: "ask" });
      if (asked !== "killed" && "value" in asked) {
        const at = (asked.value as { generation: number }).generation;
        if (at === generation) return;
        if (at > generation) throw new Error(`the node is at ${at}, and the database at ${generation}`);
      }
      if (performance.now() > deadline)
        throw new Error(`the node does not reach ${generation}: ${JSON.stringify(asked)}`);
    }
  }

  kill(): void {
    signal(this.child!.pid, "SIGKILL");
  }

  async killed(): Promise<void> {
    this.kill();
    await this.child!.exited;
  }

  freeze(): Promise<void> {
    return suspend(this.child!.pid);
  }

  thaw(): void {
    signal(this.child!.pid, "SIGCONT");
  }

  async close(): Promise<void> {
    this.kill();
    await this.child?.exited;
  }

  private async next(): Promise<Outcome> {
    let timer: Timer | undefined;
    const overdue = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`a node has not answered for ${CALL_MS} ms`)), CALL_MS);
    });
    try {
      const { value, done } = await Promise.race([this.lines!.next(), overdue]);
      return done ? "killed" : (JSON.parse(value) as Reply);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Whole lines only: a killed process may leave a part of one. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
