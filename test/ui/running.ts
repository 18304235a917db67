/** `svc ui` of the compiled executable on a real memory. */
import { type Home, SVC } from "../e2e/home.ts";
import { closedAtEnd } from "../opened.ts";

export class RunningUi {
  private constructor(
    private readonly child: Bun.ReadableSubprocess,
    /** The one-time address. */
    readonly address: string,
  ) {}

  /** Starts it. The test that opens it closes it at its end. */
  static async start(env: Home, flags: readonly string[] = [], exe = SVC): Promise<RunningUi> {
    const child = Bun.spawn([exe, "ui", "--json", ...flags], { env, cwd: env.HOME!, stdout: "pipe", stderr: "pipe" });
    let out = "";
    for await (const part of child.stdout) {
      out += new TextDecoder().decode(part);
      if (out.includes("\n")) break;
    }
    if (out === "") throw new Error(`svc ui ended: ${await new Response(child.stderr).text()}`);
    return closedAtEnd(new RunningUi(child, JSON.parse(out).address));
  }

  get origin(): string {
    return new URL(this.address).origin;
  }

  get port(): number {
    return Number(new URL(this.address).port);
  }

  /** Opens the session as a browser does. @param earlier a cookie that the browser has already @returns its cookie */
  async enter(earlier?: string): Promise<string> {
    const headers: Record<string, string> = earlier === undefined ? {} : { cookie: earlier };
    const response = await fetch(this.address, { headers, redirect: "manual" });
    const cookie = response.headers.get("set-cookie")?.split(";")[0];
    if (cookie === undefined) throw new Error(`the address answered ${response.status}`);
    return cookie;
  }

  /** Its exit code and what it said, once it has ended. */
  async ended(): Promise<{ code: number; err: string }> {
    return { err: await new Response(this.child.stderr).text(), code: await this.child.exited };
  }

  async close(): Promise<void> {
    this.child.kill();
    await this.child.exited;
  }
}
