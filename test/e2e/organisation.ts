/** An organisation's authority: `svc authority serve` of the compiled executable on a data folder of its own. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { approve, Browser } from "../trust/authority/visitor.ts";
import { type Ended, SVC, svc } from "./home.ts";

/** What a start may choose. */
export interface ServeOptions {
  /** Further words after `svc authority serve`. */
  words?: readonly string[];
  env?: Record<string, string>;
  exe?: string;
}

/** A data folder, the process that serves it, and the commands of an administrator. */
export class Organisation {
  #child: Bun.Subprocess<"ignore", "pipe", "pipe"> | undefined;
  #log = "";
  #logEnded: Promise<void> | undefined;
  /** The address for devices and people. */
  url = "";

  private constructor(
    readonly env: Record<string, string>,
    readonly data: string,
    readonly port: number,
    readonly exe: string,
  ) {}

  /** A new organisation, whose authority listens on a free port of loopback from then on. */
  static async found(options: ServeOptions & { data?: string; port?: number } = {}): Promise<Organisation> {
    const dir = mkdtempSync(join(tmpdir(), "svc-org-"));
    const env = { PATH: process.env.PATH ?? "", HOME: dir, SVC_HOME: join(dir, "svc"), NO_COLOR: "1" };
    const port = options.port ?? freePort();
    const made = new Organisation(env, options.data ?? join(dir, "data"), port, options.exe ?? SVC);
    await made.serve(options);
    return made;
  }

  /** Starts the server, again after an end. @throws what it says where it ends before it listens */
  async serve({ words = [], env = {}, exe = this.exe }: ServeOptions = {}): Promise<void> {
    const command = [exe, "authority", "serve", "--data", this.data, "--port", String(this.port), "--json"];
    this.#child = Bun.spawn([...command, "--log-format", "json", ...words], {
      env: { ...this.env, ...env },
      cwd: this.env.HOME,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#logEnded = this.#readLog(this.#child.stderr);
    const reader = this.#child.stdout.getReader();
    let line = "";
    while (!line.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) {
        await this.#logEnded;
        throw new Error(`the authority ended with ${await this.#child.exited}: ${this.#log}`);
      }
      line += new TextDecoder().decode(value);
    }
    reader.releaseLock();
    this.url = JSON.parse(line).url;
  }

  /** Ends the server. @returns its exit code */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    const child = this.#child!;
    child.kill(signal);
    const code = await child.exited;
    await this.#logEnded;
    return code;
  }

  /** Everything that the server has written to stderr so far, over all its starts. */
  get log(): string {
    return this.#log;
  }

  get pid(): number {
    return this.#child!.pid;
  }

  /** The approval code, for the page. */
  get approvalCode(): string {
    return readFileSync(join(this.data, "approval_code"), "utf8").trim();
  }

  /** The public LICENSE key, where the server leaves it. */
  get licenseKeyFile(): string {
    return join(this.data, "license_key.pub.pem");
  }

  /** Runs `svc authority <words> --data …` beside the server. */
  run(words: string[], input = ""): Promise<Ended> {
    return svc(this.env, ["authority", ...words, "--data", this.data], input, { exe: this.exe });
  }

  /** The same, which has to succeed. @returns what `--json` printed */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is JSON, and a test reads what it expects of it
  async json(...words: string[]): Promise<any> {
    const { code, out, err } = await this.run([...words, "--json"]);
    if (code !== 0) throw new Error(`svc authority ${words.join(" ")} ended with ${code}: ${err}`);
    return JSON.parse(out);
  }

  /** A new enrolment key. */
  async enrollKey(...words: string[]): Promise<string> {
    return (await this.json("enroll", ...words)).key;
  }

  /** The words with which a machine logs in here for the first time, with a copy of the public key. */
  loginWords(home: Record<string, string>, url = this.url): string[] {
    const key = join(home.HOME!, "organisation.pem");
    if (!existsSync(key)) writeFileSync(key, readFileSync(this.licenseKeyFile));
    return ["login", "--authority", url, "--license-pubkey", key];
  }

  async #readLog(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stream) this.#log += decoder.decode(bytes, { stream: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}

/** A login whose code a person approves on the page. @returns how it ended */
export async function loginByPage(
  org: Organisation,
  env: Record<string, string>,
  words: string[],
  { account = "person@example.test", exe = SVC, ca }: { account?: string; exe?: string; ca?: string } = {},
): Promise<Ended> {
  const child = Bun.spawn([exe, ...words, "--no-browser"], { env, cwd: env.HOME, stdout: "pipe", stderr: "pipe" });
  const out = new Response(child.stdout).text();
  const decoder = new TextDecoder();
  let err = "";
  let isAsked = false;
  for await (const bytes of child.stderr) {
    err += decoder.decode(bytes, { stream: true });
    const page = /address: (\S+user_code=\S+)\n/.exec(err)?.[1];
    if (page === undefined || isAsked) continue;
    isAsked = true;
    await approve(page, account, org.approvalCode, new Browser(ca));
  }
  return { code: await child.exited, out: await out, err };
}
