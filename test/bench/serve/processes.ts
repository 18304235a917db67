/** The processes of a benchmark: the compiled server, and scripts of ours beside it. All end with this one. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Home, SVC } from "../home.ts";

/** What TCP clients of the benchmarks authenticate with. */
export const TOKEN = "bench-token";

const running = new Set<{ kill(signal: "SIGKILL"): void }>();
const homes = new Set<Home>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  // They have exited, unless the benchmark was interrupted.
  if (!process.env.SVC_BENCH_KEEP) for (const home of homes) home[Symbol.dispose]();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** `svc serve` in a process of its own. */
export class Server {
  private constructor(
    readonly address: string,
    private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit" | "ignore">,
  ) {}

  /** Starts it on a Unix socket or a free port; resolves when it listens. */
  static async start(home: Home, transport: "unix" | "tcp", ...flags: string[]): Promise<Server> {
    homes.add(home);
    const where =
      transport === "unix" ? ["--socket", join(home.dir, "s.sock")] : ["--host", "127.0.0.1", "--port", "0"];
    const env = { ...home.env, SVC_ACCESS_TOKEN: TOKEN };
    const child = Bun.spawn([SVC, "serve", "--json", ...where, ...flags], {
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: process.env.SVC_BENCH_LOG ? "inherit" : "ignore",
    });
    running.add(child);
    for await (const chunk of child.stdout) {
      return new Server(JSON.parse(new TextDecoder().decode(chunk)).address, child);
    }
    throw new Error("svc serve did not start: SVC_BENCH_LOG=1 shows what it says");
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Stops it cleanly. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.exited;
    running.delete(this.child);
  }

  /** Kills it. */
  async crash(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  /** Resident memory in KiB. */
  rssKiB(): number {
    return rssKiB(this.pid);
  }
}

/** Resident memory of a process in KiB. */
export function rssKiB(pid: number): number {
  if (existsSync("/proc/self/status")) return field(readFileSync(`/proc/${pid}/status`, "utf8"), "VmRSS");
  return Number(Bun.spawnSync(["ps", "-o", "rss=", "-p", String(pid)]).stdout.toString());
}

/** A script of this folder in a process of its own. */
export class Script<Message = unknown> {
  private readonly child: Bun.Subprocess;
  private readonly messages: Message[] = [];
  private wake: (() => void) | undefined;

  constructor(file: string, ...words: string[]) {
    this.child = Bun.spawn([process.execPath, join(import.meta.dir, file), ...words], {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      ipc: (message) => {
        this.messages.push(message as Message);
        this.wake?.();
      },
    });
    running.add(this.child);
    void this.child.exited.then(() => this.wake?.());
  }

  get pid(): number {
    return this.child.pid;
  }

  tell(message: unknown): void {
    this.child.send(message);
  }

  /** The next message of the script. @throws where it ended instead */
  async next(): Promise<Message> {
    while (this.messages.length === 0) {
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error("a script of the benchmark ended");
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.messages.shift()!;
  }

  kill(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
    running.delete(this.child);
  }
}

/** In a script: the messages of the benchmark, one after the other. */
export function orders<Message>(): () => Promise<Message> {
  const messages: Message[] = [];
  let wake: (() => void) | undefined;
  process.on("message", (message) => {
    messages.push(message as Message);
    wake?.();
  });
  return async () => {
    while (messages.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return messages.shift()!;
  };
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
}
