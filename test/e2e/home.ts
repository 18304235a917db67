/** The compiled executable in scratch homes: no mock, the same file that a user downloads. */
import { afterAll, beforeAll } from "bun:test";
import { cpSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { type Ended, ended } from "../ended.ts";
import { closedAtEnd } from "../opened.ts";
import { throughServer } from "./through-server.ts";

/** The checkout. */
export const ROOT = join(import.meta.dir, "../..");
/** The executable that `npm run build` left. */
export const SVC = join(ROOT, "dist/svc");
if (!existsSync(SVC)) throw new Error("dist/svc is missing: run npm run build");

/** An environment of its own: a home that is not there yet, and nothing of this machine's svc. */
export function emptyHome(): Home {
  const dir = mkdtempSync(join(tmpdir(), "svc-e2e-"));
  return { PATH: process.env.PATH ?? "", HOME: dir, SVC_HOME: join(dir, "svc"), NO_COLOR: "1" };
}

export type { Ended };

/** The environment of a home. */
export type Home = Record<string, string>;

/**
 * Words before a command that make file permissions apply to it: none for a plain user; for root, setpriv without
 * privileges. Undefined where there is no setpriv.
 */
export const asPlainUser: readonly string[] | undefined =
  process.getuid?.() !== 0
    ? []
    : Bun.which("setpriv")
      ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
      : undefined;

/** Runs the executable, or `exe`, to its end, after the words of `prefix`, in `cwd` or the home directory. */
export async function svc(
  env: Home,
  args: string[],
  input: string | Uint8Array = "",
  { prefix = [], cwd = env.HOME, exe = SVC }: { prefix?: readonly string[]; cwd?: string; exe?: string } = {},
): Promise<Ended> {
  const child = Bun.spawn([...prefix, exe, ...args], {
    env,
    cwd,
    stdin: typeof input === "string" ? Buffer.from(input) : input,
    stdout: "pipe",
    stderr: "pipe",
  });
  return ended(child);
}

let first: Promise<Home> | undefined;

/** A home after `svc login --yes`: a copy of the process's first one, as making the authority's keys takes long. */
export async function signedIn(): Promise<Home> {
  first ??= loggedIn();
  return copyOfHome(await first);
}

async function loggedIn(): Promise<Home> {
  const env = emptyHome();
  const login = await svc(env, ["login", "--yes"]);
  if (login.code !== 0) throw new Error(`svc login ended with ${login.code}: ${login.err}`);
  return env;
}

/** A copy of a home that a test may damage. */
export function copyOfHome(original: Home): Home {
  const env = emptyHome();
  cpSync(original.SVC_HOME!, env.SVC_HOME!, { recursive: true, verbatimSymlinks: true });
  return env;
}

/** The reference SDK's client on `svc mcp`, as a user's MCP client would be. The test that opens it closes it at its end. */
export class Session {
  private constructor(
    readonly transport: StdioClientTransport,
    readonly client: Client,
  ) {}

  static open(env: Home, ...args: string[]): Promise<Session> {
    return Session.openIn(env.HOME!, env, ...args);
  }

  /** From a directory of the client's choice. */
  static openIn(cwd: string, env: Home, ...args: string[]): Promise<Session> {
    return Session.of(new Client({ name: "e2e", version: "1" }), cwd, env, ...args);
  }

  /** Of a client that has handlers of its own. */
  static async of(client: Client, cwd: string, env: Home, ...args: string[]): Promise<Session> {
    const transport = new StdioClientTransport({
      command: SVC,
      args: ["mcp", ...(await throughServer(SVC, args, env))],
      env,
      cwd,
      stderr: "ignore",
    });
    const session = new Session(transport, client);
    await session.client.connect(transport);
    return closedAtEnd(session);
  }

  /** The text block of an answer and whether it is a failure. */
  async raw(name: string, args: object = {}): Promise<{ text: string; isError: boolean }> {
    const answer = await this.client.callTool({ name, arguments: args as Record<string, unknown> });
    const content = answer.content as { type: string; text: string }[];
    if (content.length !== 1 || content[0]!.type !== "text") throw new Error("an answer has exactly one text block");
    return { text: content[0]!.text, isError: answer.isError === true };
  }

  // biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
  async call(name: string, args: object = {}): Promise<any> {
    const { text, isError } = await this.raw(name, args);
    if (isError) throw new Error(text);
    return JSON.parse(text);
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** A login and an MCP session that all tests of a file share; both are there once its tests run. */
export function sharedSession(): { env: Home; session: Session } {
  const shared = {} as { env: Home; session: Session };
  beforeAll(async () => {
    shared.env = await signedIn();
    shared.session = await Session.open(shared.env);
  });
  afterAll(() => shared.session.close());
  return shared;
}
