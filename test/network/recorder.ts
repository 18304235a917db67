/** What a command and all that it starts connect to, send to, listen on and ask of name servers. Linux only. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildProgram } from "../../src/build/program.ts";
import { OPTIONS } from "../native/validator.ts";

/** A call that the kernel handed over, in the order of the calls. */
export interface Contact {
  what: "connect" | "send" | "listen" | "ask" | "ring";
  /** The thread's name: `svc`, `HTTP_Client`, `git`. */
  by: string;
  /** `127.0.0.1:80`, `[::1]:80`, `unix:/path`, `family:16`; of `ask` the name. */
  where: string;
}

/** A command that ended, and its contacts. */
export interface Recorded {
  code: number;
  out: string;
  contacts: Contact[];
}

/** Runs a command to its end and records it. */
export type Recorder = (command: string[], env?: Record<string, string | undefined>) => Promise<Recorded>;

/**
 * The recorder; in a network of its own where this system gives one, so that what is planted does not leave the machine.
 * Undefined where this system records nothing, such as macOS.
 */
export async function recorder(): Promise<Recorder | undefined> {
  if (process.platform !== "linux") return undefined;
  const program = await buildProgram(OPTIONS, "test/network/recorder.c");
  for (const place of [["--apart"], []]) {
    const { code, contacts } = await record(program, place, [process.execPath, "-e", LISTEN]);
    if (code === 0 && contacts.some(({ what }) => what === "listen"))
      return (command, env) => record(program, place, command, env);
  }
  return undefined;
}

const LISTEN = 'Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } }).stop()';

async function record(
  program: string,
  place: string[],
  command: string[],
  env: Record<string, string | undefined> = process.env,
): Promise<Recorded> {
  const file = join(mkdtempSync(join(tmpdir(), "svc-recorded-")), "contacts");
  const words = [program, file, ...place, ...command];
  const child = Bun.spawn(words, { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  const contacts = lines.map((line) => {
    const [what, by, where] = line.split(" ") as [Contact["what"], string, string];
    return { what, by, where };
  });
  return { code, out: out + err, contacts };
}

/** Other people's programs, which look up users: through a socket of this machine. */
const OTHERS = /^(?:git|python|sh$)/;

/**
 * The contacts that leave the machine, or could: all but those with an address that was listened on before, or with a
 * socket below `folder`.
 */
export function beyond(contacts: readonly Contact[], folder: string): Contact[] {
  const own = new Set<string>();
  return contacts.filter(({ what, by, where }) => {
    const isLocal = where.startsWith("unix:")
      ? where.startsWith(`unix:${folder}/`) || OTHERS.test(by)
      : /^(?:127\.0\.0\.1|\[::1\]):\d+$/.test(where);
    if (what === "listen" && isLocal) own.add(where);
    return !isLocal || what === "ask" || !(where.startsWith("unix:") || own.has(where));
  });
}
