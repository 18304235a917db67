/** The benchmark's end of a contender's process. When the process exits, only its own commands fail. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundledForNode } from "../bundle.ts";
import type { Cost } from "../cost.ts";
import { TOP } from "./contender.ts";
import { PEERS, type Peer } from "./peers/peers.ts";
import type { Command, Described, Job, Timing, Way } from "./protocol.ts";

/** Our own name among the contenders. */
export const OURS = "svc";

/** Milliseconds until a process counts as hung, by its command; a large graph takes half an hour. */
const PATIENCE: Record<Command["do"], number> = {
  describe: 60_000,
  ingest: 3_600_000,
  buildIndex: 3_600_000,
  answers: 600_000,
  time: 120_000,
  close: 10_000,
};

type Reply = { value: unknown } | { error: string };

/** A running contender. */
export class Running {
  described!: Described;
  /** Resolves to how the process ended. */
  private readonly ended: Promise<string>;
  private waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void } | undefined;

  private constructor(
    readonly name: string,
    private readonly child: Bun.Subprocess,
    private readonly stderr: Promise<string>,
  ) {
    this.ended = child.exited.then(async (code) => {
      const said = (await this.stderr).trim().split("\n").slice(-3).join(" ");
      return `its process ended with ${child.signalCode ?? `status ${code}`}${said ? `: ${said}` : ""}`;
    });
    this.ended.then((error) => this.settle({ error }));
  }

  /** Starts the process and waits until it has read the data. @throws Error that says why it could not start */
  static async start(job: Job, command: string[], env: Record<string, string>): Promise<Running> {
    let running: Running | undefined;
    const early: Reply[] = [];
    const child = Bun.spawn([...command, writeJob(job)], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
      ipc: (reply: Reply) => (running ? running.settle(reply) : early.push(reply)),
      serialization: "json",
    });
    running = new Running(job.name, child, new Response(child.stderr).text());
    const ready = running.reply();
    for (const reply of early) running.settle(reply);
    await ready;
    running.described = (await running.send({ do: "describe" })) as Described;
    return running;
  }

  ingest = () => this.send({ do: "ingest" }) as Promise<Cost>;
  buildIndex = () => this.send({ do: "buildIndex" }) as Promise<Cost>;
  time = (way: Way, budget: number) => this.send({ do: "time", way, budget }) as Promise<Timing>;

  /** Row numbers, one array a query. */
  async answers(way: Way, count: number): Promise<number[][]> {
    const flat = (await this.send({ do: "answers", way, count })) as number[];
    return Array.from({ length: count }, (_, i) => flat.slice(i * TOP, (i + 1) * TOP).filter((row) => row >= 0));
  }

  /** Ends the process cleanly where it can. */
  async close(): Promise<void> {
    await this.send({ do: "close" }).catch(() => {});
    await Promise.race([this.child.exited, Bun.sleep(10_000)]);
    this.kill();
  }

  /** Kills the process. */
  kill(): void {
    this.child.kill("SIGKILL");
  }

  private async send(command: Command): Promise<unknown> {
    const reply = this.reply();
    const seconds = PATIENCE[command.do] / 1000;
    const hung = () => this.settle({ error: `it did not answer '${command.do}' within ${seconds} s` });
    const timer = setTimeout(hung, seconds * 1000);
    try {
      this.child.send(command);
    } catch {
      this.settle({ error: await this.ended });
    }
    try {
      return await reply;
    } finally {
      clearTimeout(timer);
    }
  }

  private reply(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  private settle(reply: Reply): void {
    const { waiting } = this;
    this.waiting = undefined;
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.value);
  }
}

/** Writes the job file of a contender's process; returns its path. */
export function writeJob(job: Job): string {
  mkdirSync(job.dir, { recursive: true });
  const path = join(job.dir, "job.json");
  writeFileSync(path, JSON.stringify(job));
  return path;
}

/** How processes are started: peers that run under Node.js get one bundled script, which is made once. */
export class Commands {
  private bundle: string | undefined;

  constructor(private readonly scratch: string) {}

  /** @param runtimeName instead of the peer's own */
  async of(name: string, runtimeName?: "bun"): Promise<{ command: string[]; env: Record<string, string> }> {
    if (name === OURS) return { command: [process.execPath, join(import.meta.dir, "child-ours.ts")], env: {} };
    const peer: Peer = PEERS[name]!;
    this.bundle ??= await bundledForNode(join(import.meta.dir, "child-peer.ts"), this.scratch);
    const runtime =
      (runtimeName ?? peer.runtime) === "node" ? (Bun.which("node") ?? process.execPath) : process.execPath;
    return { command: [runtime, this.bundle], env: { ...peer.env } };
  }
}
