/** `svc doctor`: what is wrong with this svc and its surroundings, and the command that mends each of it. */
import { memoryPath } from "../../paths.ts";
import { ENGINE } from "../access/engine.ts";
import { command, EXIT, MEMORY_PATH, UsageError } from "../terminal/command.ts";
import { hasColours, oneLine, print, printJson, style } from "../terminal/output.ts";
import { textColumns, wrapped } from "../terminal/width.ts";
import { AREAS, type Area, type Finding, type Level } from "./finding.ts";

export default command({
  details:
    "Checks the executable, SVC_HOME and its disk, the login, the runtime, the memory and the processes that write to\n" +
    "it, indexed repositories, the server that clients start, and the configuration of each MCP client. It changes\n" +
    "nothing. It also works before the first login. 'svc mem check' reads every byte of the memory as well. If SVC_REMOTE\n" +
    "is set, the doctor connects to that server; if --engine-file or SVC_ENGINE_URL names a database, to that, and\n" +
    "compares this machine's copy with it. It makes no other connection.\n\n" +
    "Exit code 0: no problem was found; warnings do not change it. Exit code 1: something is wrong.",
  examples: ["svc doctor", "svc doctor --json", "svc doctor --json | jq '.findings[] | select(.level == \"problem\")'"],
  args: {
    path: MEMORY_PATH,
    ...ENGINE,
    json: {
      type: "boolean",
      description: "print {ok, problems, warnings, findings: [{area, check, level, message, remedy}]}",
    },
  },
  worksWithoutHome: true,
  async run({ args, env, signal }) {
    // --path is stronger than SVC_REMOTE, as in other commands.
    const path = args.path === undefined ? {} : { SVC_MEMORY_PATH: memoryPath(args.path), SVC_REMOTE: undefined };
    const findings = await examine({ ...env, ...path }, signal, args["engine-file"]);
    const count = (level: Level) => findings.filter((one) => one.level === level).length;
    const [problems, warnings] = [count("problem"), count("warning")];
    if (args.json) printJson({ ok: problems === 0, problems, warnings, findings });
    else print(report(findings, textColumns()));
    return problems === 0 ? EXIT.done : EXIT.failed;
  },
});

/**
 * All findings, in the order of their areas. A check that fails is a finding, and the others are still made.
 * @param engineFile the file with the address of the database that has the memory's log, if it is not in `SVC_ENGINE_URL`
 * @throws UsageError for an address in place of that file
 */
export async function examine(
  env: Record<string, string | undefined>,
  signal: AbortSignal,
  engineFile?: string,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const look = async <T>(area: Area, check: () => Promise<T> | T): Promise<T | undefined> => {
    signal.throwIfAborted();
    try {
      return await check();
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const { sentenceOf } = await import("./finding.ts");
      const message = `this check failed: ${sentenceOf(error)}`;
      findings.push({ area, check: `${area}.failed`, level: "problem", message, remedy: null });
      return undefined;
    }
  };
  const add = (list: readonly Finding[] | undefined) => findings.push(...(list ?? []));
  add(await look("executable", async () => (await import("./executable.ts")).checkExecutable(env)));
  add(await look("home", async () => (await import("./home.ts")).checkHome(env)));
  const login = await look("login", async () => (await import("./login.ts")).checkLogin(env));
  add(login?.findings);
  const runtime = await look("runtime", async () => (await import("./runtime.ts")).checkRuntime(env, login?.signsIn));
  add(runtime?.findings);
  const license = runtime?.isGood ? login?.license : undefined;
  const hasDatabase = engineFile !== undefined || Boolean(env.SVC_ENGINE_URL);
  const checkDatabase = async () => (await import("./database.ts")).checkDatabase({ env, file: engineFile });
  const database = hasDatabase ? await look("database", checkDatabase) : undefined;
  add(database?.findings);
  const isCopy = database?.dir !== undefined;
  const memoryEnv = isCopy ? { ...env, SVC_MEMORY_PATH: database.dir } : env;
  add(await look("memory", async () => (await import("./memory.ts")).checkMemory({ env: memoryEnv, license, isCopy })));
  add(await look("memory", async () => (await import("./remote.ts")).checkRemote(env)));
  add(await look("repositories", async () => (await import("./repositories.ts")).checkRepositories(memoryEnv)));
  add(await look("server", async () => (await import("./server.ts")).checkServer(env, signal)));
  add(await look("clients", async () => (await import("./clients.ts")).checkClients(env, signal)));
  return findings;
}

const MARKS: Record<Level, string> = { ok: "ok", warning: "warning", problem: "problem" };
const LEVEL_COLUMNS = 9;

/** Findings as lines of at most so many columns, but for words that are longer. */
export function report(findings: readonly Finding[], width: number): string {
  const lines: string[] = [];
  for (const area of AREAS) {
    const found = findings.filter((one) => one.area === area);
    if (found.length === 0) continue;
    lines.push(style("bold", area));
    for (const { level, message, remedy } of found) {
      lines.push(...hung(marked(level), oneLine(message), width));
      if (remedy !== null) lines.push(...hung(" ".repeat(LEVEL_COLUMNS), `→ ${oneLine(remedy)}`, width));
    }
  }
  lines.push("", summary(findings));
  return lines.join("\n");
}

function marked(level: Level): string {
  const mark = MARKS[level].padEnd(LEVEL_COLUMNS);
  return hasColours() ? style(level === "ok" ? "green" : level === "warning" ? "magenta" : "bold", mark) : mark;
}

function summary(findings: readonly Finding[]): string {
  const count = (level: Level) => findings.filter((one) => one.level === level).length;
  const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const [problems, warnings] = [count("problem"), count("warning")];
  if (problems === 0 && warnings === 0) return `all is well: ${counted(findings.length, "finding")}`;
  return `${counted(problems, "problem")}, ${counted(warnings, "warning")}`;
}

/** A mark in the first columns and a text after it, wrapped. */
function hung(mark: string, text: string, width: number): string[] {
  const indent = " ".repeat(2 + LEVEL_COLUMNS);
  const [first = "", ...rest] = wrapped(text, width, indent);
  return [`  ${mark}${first}`, ...rest];
}
