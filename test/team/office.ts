/** A team as docs/team.md has it: a server's home, and a home without a login for each person, over TLS. */
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { emptyHome, type Home, SVC, signedIn, svc } from "../e2e/home.ts";
import type { Served } from "../e2e/served.ts";
import { freePort } from "../free-port.ts";
import { openLocal, until } from "../remote/server/raw.ts";

/** What a client's configuration has of svc, and the home that the client runs in. */
export interface Entry {
  command: string;
  args: string[];
  env: Home;
}

/** The server's machine. */
export class Office {
  private served!: Served;

  private constructor(
    readonly home: Home,
    readonly memory: string,
    readonly port: number,
    private readonly spawn: (command: string[], env: Home) => Promise<Served>,
  ) {}

  /**
   * Logs the server's machine in.
   * @param spawn starts servers, see `servers`
   * @param disk where its memory and its audit log are
   */
  static async open(spawn: (command: string[], env: Home) => Promise<Served>, disk?: string): Promise<Office> {
    const home = await signedIn();
    const memory = join(disk === undefined ? home.HOME! : mkdtempSync(join(disk, "office-")), "memory");
    return new Office({ ...home, SVC_MEMORY_PATH: memory }, memory, freePort(), spawn);
  }

  get audit(): string {
    return `${this.memory}-audit.jsonl`;
  }

  get address(): string {
    return this.served.address;
  }

  /** What the servers so far have logged. */
  private earlier = "";

  get log(): string {
    return this.earlier + this.served.log.text;
  }

  async start(): Promise<void> {
    const words = ["serve", "--json", "--host", "127.0.0.1", "--port", String(this.port), "--tls", "self"];
    if (this.served) this.earlier += this.served.log.text;
    this.served = await this.spawn([SVC, ...words, "--save-interval", "1", "--audit-log", this.audit], this.home);
  }

  /** Ends it in order. @returns its exit code */
  async stop(): Promise<number> {
    this.served.server.kill("SIGTERM");
    return this.served.server.exited;
  }

  /** `kill -USR2`: another process image at the same address. */
  async restart(): Promise<void> {
    const starts = () => this.log.split("listening on ").length;
    const before = starts();
    this.served.server.kill("SIGUSR2");
    await until("the next server", () => starts() > before);
  }

  /** Runs svc on the server's machine, which must succeed. */
  async run(...args: string[]): Promise<string> {
    const { code, out, err } = await svc(this.home, args);
    if (code !== 0) throw new Error(`svc ${args.join(" ")}: ${err}`);
    return out;
  }

  /** Invites a person, before or after the start. */
  async invitation(name: string, ...flags: string[]): Promise<string> {
    const words = ["serve", "invite", name, "--json", "--address", `127.0.0.1:${this.port}`, ...flags];
    return JSON.parse(await this.run(...words)).invitation;
  }

  /** The ids that a program without the server finds on the disk. */
  async saved(collection: string): Promise<string[]> {
    const store = await openLocal(this.memory);
    try {
      return [...(await store.collection(collection).ids())];
    } finally {
      await store.close();
    }
  }

  /** The lines of the audit log. */
  audited(): { name: string; tool?: string; ids?: string[]; failed?: true }[] {
    const lines = readFileSync(this.audit, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line));
  }
}

/** Joins with Cursor on another machine, while the server runs. @returns what that client's configuration has */
export async function joined(invitation: string): Promise<Entry> {
  const env = emptyHome();
  mkdirSync(join(env.HOME!, ".cursor"));
  const { code, err } = await svc(env, ["join", "-", "--client", "cursor"], invitation);
  if (code !== 0) throw new Error(err);
  const { command, args } = JSON.parse(readFileSync(join(env.HOME!, ".cursor/mcp.json"), "utf8")).mcpServers.svc;
  return { command, args, env };
}
