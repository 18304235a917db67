/** A PostgreSQL server of a test: its own folder, a free port of loopback, a Unix socket in the folder. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Certified } from "../e2e/certificate.ts";
import { freePort } from "../free-port.ts";
import { closedAtEnd } from "../opened.ts";
import { childrenOf, isRunning, signal, suspend } from "../processes.ts";
import { copyTemplate, PASSWORD, program, USER } from "./installed.ts";
import { asServerOfThisProcess, give, openWayTo } from "./user.ts";

/** Names and values of `postgresql.conf`, without quotes. */
export type Settings = Record<string, string>;

export interface ServerOptions {
  /** The server's folder, which does not exist yet. It may be on a `SmallDisk`, whose `fill` then fills the server's disk. */
  dir: string;
  /** By default a free one. */
  port?: number;
  settings?: Settings;
  /** With a certificate, the server refuses connections over TCP without TLS. */
  tls?: Certified | undefined;
}

/**
 * - `fast` ends sessions, saves, and waits until a connected standby has everything
 * - `immediate` ends at once, and the next start recovers, as after a crash
 */
export type StopMode = "fast" | "immediate";

const STOP_SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT" } as const;
const START_MS = 60_000;

/** It is closed at the end of the test or, if it was started outside of a test, of the file. */
export class PostgresServer {
  readonly dir: string;
  readonly port: number;
  /** Read at the next start. */
  readonly settings: Settings;
  readonly tls: Certified | undefined;
  private process: Bun.Subprocess | undefined;
  private readonly frozen = new Set<number>();

  protected constructor({ dir, settings, tls }: ServerOptions, port: number) {
    this.dir = dir;
    this.port = port;
    this.tls = tls;
    // Shared memory in the folder, and none under a name of the machine: a killed server would leave it there.
    this.settings = { shared_buffers: "32MB", dynamic_shared_memory_type: "mmap", ...settings };
  }

  /** Starts a new server, and waits until it accepts connections. */
  static async start(options: ServerOptions): Promise<PostgresServer> {
    const server = new PostgresServer(options, options.port ?? freePort());
    server.makeFolder();
    await copyTemplate(server.data);
    await server.restart();
    return server;
  }

  /** Connects the superuser over TCP, by its password. It has no `sslmode`. */
  get url(): string {
    return this.urlAt(this.port);
  }

  /** The URL with another port: that of a proxy. */
  urlAt(port: number): string {
    return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@${this.tls ? "localhost" : "127.0.0.1"}:${port}/postgres`;
  }

  /** PostgreSQL's data folder. */
  get data(): string {
    return join(this.dir, "data");
  }

  /** Whether the server was started and has not ended. */
  get isRunning(): boolean {
    return this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  /** The id of the server's main process. */
  get pid(): number {
    return this.process!.pid;
  }

  /** What the server has logged. */
  get log(): string {
    return readFileSync(join(this.dir, "server.log"), "utf8");
  }

  /** Starts the server, after a fast stop if it runs, and waits until it accepts connections. */
  async restart(): Promise<void> {
    await this.stop();
    this.configure();
    const log = openSync(join(this.dir, "server.log"), "a");
    const command = [...asServerOfThisProcess, program("postgres"), "-D", this.data];
    this.process = Bun.spawn(command, { cwd: this.dir, env: {}, stdin: "ignore", stdout: log, stderr: log });
    closeSync(log);
    for (const deadline = performance.now() + START_MS; !this.isReady(); await Bun.sleep(5)) {
      if (this.isRunning && performance.now() < deadline) continue;
      const problem = this.isRunning ? "is not ready" : "has ended";
      await this.kill();
      throw new Error(`PostgreSQL was started and ${problem}\n${this.log.slice(-2000)}`);
    }
  }

  /** Stops the server, if it runs, and waits until it has ended. */
  async stop(mode: StopMode = "fast"): Promise<void> {
    if (!this.isRunning) return;
    this.thaw();
    signal(this.pid, STOP_SIGNALS[mode]);
    await this.process!.exited;
  }

  /** Kills all processes of the server with SIGKILL, and waits until they have ended. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    // A server that is stopped does not react to the end of its children, and starts no more of them.
    await suspend(this.pid);
    const all = [...childrenOf(this.pid), this.pid];
    for (const pid of all) signal(pid, "SIGKILL");
    await this.process!.exited;
    // While one of them has the shared memory, the server does not start again.
    while (all.some(isRunning)) await Bun.sleep(2);
    this.frozen.clear();
  }

  /**
   * Stops processes with SIGSTOP: their connections stay open and get no answer.
   * @param backend the process of one session, from `pg_backend_pid()`; by default all processes of the server
   */
  async freeze(backend?: number): Promise<void> {
    const first = backend ?? this.pid;
    this.frozen.add(first);
    await suspend(first);
    for (const pid of backend === undefined ? childrenOf(this.pid) : []) {
      this.frozen.add(pid);
      await suspend(pid);
    }
  }

  /** Lets all frozen processes go on. */
  thaw(): void {
    for (const pid of this.frozen) signal(pid, "SIGCONT");
    this.frozen.clear();
  }

  /** Ends the server at once and removes its folder. */
  async close(): Promise<void> {
    await this.kill();
    this.freeSegment();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Makes the server's folder, and has the server closed. */
  protected makeFolder(): void {
    mkdirSync(this.dir, { mode: 0o700 });
    openWayTo(this.dir);
    give(this.dir);
    closedAtEnd(this);
  }

  /** Writes a file of the data folder. */
  protected write(name: string, text: string): void {
    const path = join(this.data, name);
    writeFileSync(path, text, { mode: 0o600 });
    give(path);
  }

  private configure(): void {
    const place = { listen_addresses: "127.0.0.1", port: String(this.port), unix_socket_directories: this.dir };
    const tls = { ssl: "on", ssl_cert_file: "server.crt", ssl_key_file: "server.key" };
    const settings = Object.entries({ ...place, ...(this.tls ? tls : {}), ...this.settings });
    const lines = settings.map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
    this.write("postgresql.conf", lines.join(""));
    const host = this.tls ? "hostssl" : "host";
    const from = ["local all all", "local replication all"];
    for (const database of ["all", "replication"]) from.push(`${host} ${database} all 127.0.0.1/32`);
    this.write("pg_hba.conf", from.map((one) => `${one} scram-sha-256\n`).join(""));
    if (!this.tls) return;
    this.write("server.crt", this.tls.cert);
    this.write("server.key", this.tls.key);
  }

  /** Whether the server that was started last accepts connections; PostgreSQL writes that into a file for `pg_ctl`. */
  private isReady(): boolean {
    const [pid, , , , , , , status] = this.pidFile();
    return Number(pid) === this.pid && status?.trim() === "ready";
  }

  private pidFile(): string[] {
    const path = join(this.data, "postmaster.pid");
    return existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  }

  /** Removes the 56 bytes of System V shared memory by which PostgreSQL knows its processes, if a kill has left them. */
  private freeSegment(): void {
    const id = this.pidFile()[6]?.trim().split(/\s+/)[1];
    if (id && Bun.which("ipcrm")) Bun.spawnSync(["ipcrm", "-m", id], { stderr: "ignore" });
  }
}
