/**
 * Runs the blocks of a page in their order, as a reader does: in a home of its own with `svc` on the path, in an empty
 * folder. [README.md](README.md) has the conventions.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { emptyHome, ROOT, SVC, signedIn } from "../e2e/home.ts";
import { differs, differsAsJson } from "./compare.ts";
import type { Block, Page } from "./markdown.ts";
import { startModelServer } from "./model-server.ts";
import { readSteps } from "./shell.ts";

/** Ends the output of a step. No text has it. */
const MARK = "\x1e";
/** A block that takes longer is a failure. */
const BLOCK_MS = 120_000;
/** A server that has not printed what the page says by then has not started. */
const START_MS = 60_000;

/** Languages of which a block is run; what follows in `text` or `json` is its answer. */
const RUN = new Set(["sh", "ts", "python"]);

/** What the comment before a block can say. */
const REMARKS = /^(not run: .{10,}|needs [\w-]+|kept running|exit code [1-9]\d*)$/;

/** What a page says before its first block, for all of it. */
export const WITHOUT_LOGIN = "this page begins without a login";

/** Where a page has a model server. */
const WITH_MODEL = /^a model server answers at 127\.0\.0\.1:(\d+)$/;

/** A block to be run, and the one that has its answer. */
export interface Example {
  readonly block: Block;
  readonly answer: Block | undefined;
  /** Why it is not run. */
  readonly notRun: string | undefined;
  /** A program that it needs, which a machine may lack. */
  readonly needs: string | undefined;
}

/** The blocks of a page that are to be run. @throws for one that no convention covers */
export function examplesOf(page: Page): Example[] {
  const examples: Example[] = [];
  page.blocks.forEach((block, i) => {
    const { language, remark, line } = block;
    if (remark !== undefined && !REMARKS.test(remark)) throw new Error(`line ${line}: what does '${remark}' mean?`);
    const notRun = /^not run: (.*)/.exec(remark ?? "")?.[1];
    if (RUN.has(language)) {
      const next = page.blocks[i + 1];
      // A text answers what is before it though a sentence parts the two; JSON is often something to copy.
      const isAnswer =
        next?.remark === undefined && (next?.language === "text" || (next?.language === "json" && next.isNext));
      examples.push({ block, answer: isAnswer ? next : undefined, notRun, needs: needsOf(block) });
    } else if (language === "text") {
      const before = page.blocks[i - 1];
      if (notRun === undefined && !(before && RUN.has(before.language)))
        throw new Error(`line ${line}: this text answers no block; a comment has to say why nothing prints it`);
    } else if (language === "json") JSON.parse(block.code);
    else if (language === "jsonc") Bun.JSONC.parse(block.code);
    else if (language === "yaml") Bun.YAML.parse(block.code);
    else if (language === "toml") Bun.TOML.parse(block.code);
    else if (notRun === undefined) throw new Error(`line ${line}: nothing tests a block of '${language}'`);
  });
  return examples;
}

function needsOf({ language, remark }: Block): string | undefined {
  return language === "python" ? "python3" : /^needs (.*)/.exec(remark ?? "")?.[1];
}

let loggedIn: Promise<Record<string, string>> | undefined;

/** The home of one page, and what runs in it. */
export class Session implements AsyncDisposable {
  readonly #running: Bun.Subprocess[] = [];
  readonly #folder: string;
  readonly #env: Record<string, string>;
  readonly #ports = new Map<string, number>();
  #model: ReturnType<typeof startModelServer> | undefined;

  private constructor(env: Record<string, string>) {
    this.#folder = join(env.HOME!, "work");
    mkdirSync(this.#folder);
    this.#env = env;
  }

  /**
   * With a copy of the login that all pages share, unless the page says otherwise; and with what it takes for granted.
   */
  static async open(page: Page): Promise<Session> {
    const { HOME } = emptyHome();
    if (!page.remarks.includes(WITHOUT_LOGIN)) {
      loggedIn ??= signedIn();
      cpSync((await loggedIn).SVC_HOME!, join(HOME!, ".svc"), { recursive: true, verbatimSymlinks: true });
    }
    const path = `${dirname(SVC)}:${join(ROOT, "node_modules/.bin")}:${process.env.PATH}`;
    const env = { PATH: path, HOME: HOME!, NO_COLOR: "1", TMPDIR: mkdtempSync(join(HOME!, "tmp-")) };
    const session = new Session(env);
    const model = page.remarks.map((remark) => WITH_MODEL.exec(remark)?.[1]).find(Boolean);
    if (model) {
      session.#model = startModelServer();
      session.#ports.set(model, session.#model.port!);
    }
    const { err, code } = await session.#spawn(["sh", "-euc", session.#here(page.first)]);
    if (code !== 0) throw new Error(`what the page takes for granted cannot be made: ${err}`);
    return session;
  }

  /**
   * Runs one example and compares what it prints.
   * @throws where it fails or prints something else
   */
  async run({ block, answer }: Example): Promise<void> {
    const { language, remark = "" } = block;
    const isKept = remark === "kept running";
    if (language === "ts") return this.#program(block, answer, [process.execPath, "run", this.#script(block)]);
    if (language === "python") {
      const script = 'eval "$(svc runtime env)" && exec python3 -';
      return this.#program(block, answer, ["sh", "-c", script], block.code);
    }
    if (isKept) return this.#keep(block, answer);
    const steps = readSteps(this.#here(block.code));
    const lines = steps.flatMap(({ source }) => [source, `printf '${MARK}'`]);
    const { out, code } = await this.#spawn(["sh", "-euc", ["exec 2>&1", ...lines].join("\n")]);
    const expected = Number(/^exit code (\d+)/.exec(remark)?.[1] ?? 0);
    if (code !== expected) throw new Error(`exit code ${code} instead of ${expected}; it printed\n${out}`);
    const parts = out.split(MARK);
    steps.forEach(({ source, claim }, i) => {
      const different = claim === undefined ? undefined : differs(claim, (parts[i] ?? "").trim().replace(/\s+/g, " "));
      if (different) throw new Error(`${source}\n${different}`);
    });
    this.#compare(answer, parts.join(""));
  }

  /** Starts a server that stays until the end of the page, and waits for what the page says that it prints. */
  async #keep(block: Block, answer: Block | undefined): Promise<void> {
    const line = this.#here(block.code);
    // A shell in between would be ended in the server's place.
    const script = `exec 2>&1\n${line} & server=$!\ntrap 'kill "$server"; wait "$server"; exit' TERM\nwait "$server"`;
    const child = Bun.spawn(["sh", "-uc", script], { ...this.#spawnOptions(), stdout: "pipe", stderr: "pipe" });
    this.#running.push(child);
    const decoder = new TextDecoder();
    let out = "";
    const reader = child.stdout.getReader();
    // Everything else that a server prints is its log.
    const claim = `…\n${this.#here(answer?.code ?? "")}\n…`;
    const late = setTimeout(() => child.kill("SIGTERM"), START_MS);
    for (;;) {
      const { done, value } = await reader.read();
      out += decoder.decode(value, { stream: !done });
      if (done) throw new Error(`it ended, or did not print what the page says; it printed\n${out}`);
      const complete = out.slice(0, out.lastIndexOf("\n") + 1);
      if (complete !== "" && (!answer || differs(claim, complete) === undefined)) break;
    }
    clearTimeout(late);
    // What it prints later is read, so that it is never held up.
    void (async () => {
      while (!(await reader.read()).done);
    })();
  }

  async #program(block: Block, answer: Block | undefined, words: string[], input?: string): Promise<void> {
    const { out, err, code } = await this.#spawn(words, input && this.#here(input));
    if (code !== 0) throw new Error(`exit code ${code}\n${err}`);
    const claims = [...block.code.matchAll(/(?:\/\/|#) → (.*)$/gm)].map(([, claim]) => claim!);
    const different = claims.length > 0 ? differs(claims.join("\n"), out) : undefined;
    if (different) throw new Error(different);
    this.#compare(answer, out);
  }

  #compare(answer: Block | undefined, output: string): void {
    if (!answer) return;
    const claim = this.#here(answer.code);
    const different = answer.language === "json" ? differsAsJson(claim, output) : differs(claim, output);
    if (different) throw new Error(different);
  }

  /** A program that imports "svc", as a file beside a package of that name. */
  #script(block: Block): string {
    const modules = join(this.#folder, "node_modules");
    if (!existsSync(modules)) {
      mkdirSync(modules);
      symlinkSync(ROOT, join(modules, "svc"));
    }
    const file = join(this.#folder, `line-${block.line}.ts`);
    writeFileSync(file, this.#here(block.code));
    return file;
  }

  /**
   * Ports that pages name are free ones of this machine. An authority of root's on a page is one of this user, in a
   * folder of the page, and its commands say so where the page leaves that out.
   */
  #here(text: string): string {
    const own = text
      .replaceAll("sudo -u svc ", "")
      .replaceAll("/var/lib/svc", join(this.#folder, "data"))
      .replaceAll(/\/backup\b/g, "backup")
      .replaceAll(/(authority(?: is)? )https:\/\/svc\.example\.org/g, "$1http://127.0.0.1:8470")
      .replaceAll(
        "--license-pubkey license_key.pub.pem",
        `--license-pubkey ${join(this.#folder, "data/license_key.pub.pem")}`,
      )
      .replace(/^svc authority (?!serve|backup)[^#\n]*?(?=\s*(#|$))/gm, `$& --data ${join(this.#folder, "data")}`);
    return own.replace(/\b(8470|8471|8472)\b/g, (port) => {
      let free = this.#ports.get(port);
      if (free === undefined) {
        const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
        free = probe.port;
        probe.stop(true);
        this.#ports.set(port, free);
      }
      return String(free);
    });
  }

  #spawnOptions() {
    return { env: this.#env, cwd: this.#folder, stdin: "ignore" } as const;
  }

  async #spawn(words: string[], input?: string): Promise<{ out: string; err: string; code: number }> {
    const child = Bun.spawn(words, {
      ...this.#spawnOptions(),
      stdin: input === undefined ? "ignore" : Buffer.from(input),
      stdout: "pipe",
      stderr: "pipe",
      detached: true,
    });
    // With all that it has started: a server that a page forgets to keep running would outlive its shell.
    const late = setTimeout(() => process.kill(-child.pid, "SIGKILL"), BLOCK_MS);
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const code = await child.exited;
    clearTimeout(late);
    return { out, err, code };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) child.kill("SIGTERM");
    await this.#model?.stop(true);
    await Promise.all(this.#running.map(({ exited }) => exited));
    rmSync(this.#env.HOME!, { recursive: true, force: true });
  }
}
