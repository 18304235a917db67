/**
 * Starts a configured MCP server as its client would, has it say its version and its tools, and ends it. No tool is
 * called: `initialize` and `tools/list` need no login and touch no memory.
 */
import type { Env } from "../../paths.ts";

/** What starts a server: a program, its arguments, and what is added to its environment. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What a server answered, or why it did not. */
export type Handshake = Answered | Unanswered;

export interface Answered {
  readonly ok: true;
  /** `serverInfo` of the answer to `initialize`. */
  readonly server: string;
  readonly version: string;
  /** How many tools it lists. */
  readonly tools: number;
  /** Milliseconds from its start to the list of its tools. */
  readonly ms: number;
  /** What is to be known of how it was reached. */
  readonly note?: string;
}

export interface Unanswered {
  readonly ok: false;
  /** A sentence without its subject: "ended with code 1 before it answered". */
  readonly problem: string;
  /** The end of what it wrote to stderr. */
  readonly stderr: string;
  /** Its exit code, where it ended before it answered. */
  readonly code?: number;
}

export interface HandshakeOptions {
  /** The environment of this process, of which a server gets what a client passes on. */
  readonly env: Env;
  /** The folder that it is started in. */
  readonly cwd: string;
  readonly signal?: AbortSignal | undefined;
  /** For all of it, its orderly end included. */
  readonly timeoutMs?: number;
}

/** An executable on a cold disk takes a second; a client gives up after 10 to 60. */
const TIMEOUT_MS = 10_000;
/** The end of stderr that is kept; a failed start is explained in its last lines. */
const STDERR_CHARACTERS_MAX = 2_000;
/** Bytes of stdout: the list of tools has some 20 KB. */
const STDOUT_BYTES_MAX = 4 * 1024 * 1024;

/** How long a pipe is read that another process keeps open after the end of the server. */
const LEFT_OPEN_MS = 200;

/** What clients pass on to the servers that they start (the SDK's default), and what says where temporary files go. */
const PASSED_ON = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR"];

/** Set for what is started: an entry that names a command which starts entries must not go on for ever. */
const STARTED = "SVC_HANDSHAKE";

const INITIALIZE = {
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "svc", version: "1" } },
};

/** Starts a server and shakes hands with it. Never throws; when it returns, the process that it started has ended. */
export async function handshake(server: ServerCommand, options: HandshakeOptions): Promise<Handshake> {
  const { cwd, signal, timeoutMs = TIMEOUT_MS } = options;
  if (options.env[STARTED])
    return { ok: false, problem: "was not started, as this svc was started to see whether it answers", stderr: "" };
  const env: Record<string, string> = { ...passedOn(options.env), ...server.env, [STARTED]: "1" };
  const started = performance.now();
  let child: Child;
  try {
    const command = Bun.which(server.command, { PATH: env.PATH ?? "", cwd });
    if (command === null)
      return { ok: false, problem: "is not there, or is not a program that may be run", stderr: "" };
    child = Bun.spawn([command, ...server.args], { cwd, env, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  } catch (error) {
    return { ok: false, problem: `could not be started (${codeOf(error)})`, stderr: "" };
  }
  let killed: string | undefined;
  const kill = (why: string) => {
    killed ??= why;
    child.kill("SIGKILL");
  };
  const timer = setTimeout(() => kill(`did not answer within ${timeoutMs / 1000} s`), timeoutMs);
  const interrupted = () => kill("was interrupted");
  signal?.addEventListener("abort", interrupted, { once: true });
  if (signal?.aborted) interrupted();
  const stderr = new Tail(child.stderr);
  let said: Omit<Answered, "ok" | "ms"> | undefined;
  let problem: string | undefined;
  let ms = 0;
  try {
    // What it has started may keep its pipes open when it is gone.
    const gone = child.exited.then(() => Bun.sleep(LEFT_OPEN_MS)).then(() => Promise.reject(new Unspoken(ENDED)));
    gone.catch(() => {});
    said = await Promise.race([converse(child), gone]);
    ms = performance.now() - started;
    await ended(child.stdin);
  } catch (error) {
    problem = error instanceof Unspoken ? error.message : `broke off (${codeOf(error)})`;
    // It may wait for something that does not come.
    if (child.exitCode === null && problem !== ENDED) child.kill("SIGKILL");
  }
  const code = await child.exited;
  clearTimeout(timer);
  signal?.removeEventListener("abort", interrupted);
  const isEnded = killed === undefined && problem === ENDED && child.signalCode === null;
  if (killed !== undefined) problem = said === undefined ? killed : `answered, but did not end when its stdin ended`;
  else if (problem === ENDED) problem = `ended with ${child.signalCode ?? `code ${code}`} before it answered`;
  else if (said !== undefined && code !== 0) problem = `answered, but ended with ${child.signalCode ?? `code ${code}`}`;
  if (said === undefined || problem !== undefined)
    return { ok: false, problem: problem ?? "did not answer", stderr: await stderr.text(), ...(isEnded && { code }) };
  return { ok: true, ...said, ms };
}

/** Closes a server's stdin, which it may have closed itself. */
async function ended(stdin: Child["stdin"]): Promise<void> {
  try {
    await stdin.end();
  } catch {
    // Its exit code says what there is to say.
  }
}

type Child = Bun.Subprocess<"pipe", "pipe", "pipe">;

/** What a server did instead of answering. */
class Unspoken extends Error {}

const ENDED = "ended";

async function converse(child: Child): Promise<Omit<Answered, "ok" | "ms">> {
  const messages = linesOf(child.stdout);
  const send = async (message: object) => {
    try {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      await child.stdin.flush();
    } catch {
      throw new Unspoken(ENDED); // what ends before it reads has closed its end of the pipe
    }
  };
  await send({ id: 1, ...INITIALIZE });
  const { serverInfo } = await answerTo(1, messages);
  await send({ method: "notifications/initialized" });
  await send({ id: 2, method: "tools/list" });
  const { tools } = await answerTo(2, messages);
  if (!Array.isArray(tools)) throw new Unspoken("did not list its tools");
  // The rest is read, so that it does not wait with its end for a reader.
  messages.next().catch(() => {});
  const { name, version } = (serverInfo ?? {}) as Record<string, unknown>;
  return { server: String(name ?? "unknown"), version: String(version ?? "unknown"), tools: tools.length };
}

async function answerTo(id: number, lines: AsyncGenerator<string>): Promise<Record<string, unknown>> {
  for (;;) {
    const { value: line, done } = await lines.next();
    if (done) throw new Unspoken(ENDED);
    let message: { id?: unknown; result?: unknown; error?: { message?: unknown } } | null;
    try {
      message = JSON.parse(line);
    } catch {
      throw new Unspoken("wrote a line to stdout that is not a message of MCP");
    }
    if (message?.id !== id) continue;
    if (typeof message.result === "object" && message.result !== null) return message.result as Record<string, unknown>;
    throw new Unspoken(`answered with an error: ${String(message.error?.message ?? "unknown").slice(0, 200)}`);
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > STDOUT_BYTES_MAX) throw new Unspoken(`wrote more than ${STDOUT_BYTES_MAX} bytes`);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines.filter((line) => line.trim() !== "");
  }
}

/** The end of what is written to a stream. */
class Tail {
  private kept = "";
  private readonly whole: Promise<void>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.whole = this.read(stream).catch(() => {});
  }

  async text(): Promise<string> {
    await Promise.race([this.whole, Bun.sleep(LEFT_OPEN_MS)]);
    return this.kept.trim();
  }

  private async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream)
      this.kept = (this.kept + decoder.decode(chunk, { stream: true })).slice(-STDERR_CHARACTERS_MAX);
  }
}

function passedOn(env: Env): Record<string, string> {
  const isPassed = ([name, value]: [string, string | undefined]) =>
    value !== undefined && (PASSED_ON.includes(name) || name.startsWith("XDG_"));
  return Object.fromEntries(Object.entries(env).filter(isPassed)) as Record<string, string>;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown error";
}
