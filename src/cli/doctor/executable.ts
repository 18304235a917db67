/** This executable: what it is, where it lies, and which others of its name there are. */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { buildInfo } from "../../build-info.ts";
import { type Env, programFolders } from "../../paths.ts";
import { COPY_HINT, isSame, ownExecutableOrNone, resolved, temporaryPlace } from "../mcp/entry.ts";
import { type Finding, Findings, sentenceOf, tilde } from "./finding.ts";

/** Looks at the executable and at PATH. */
export async function checkExecutable(env: Env): Promise<Finding[]> {
  const found = new Findings("executable");
  const executable = ownExecutableOrNone();
  let version: string | undefined;
  try {
    const info = buildInfo();
    version = info.version;
    const where = executable === undefined ? "run from its source" : `at ${tilde(executable, env)}`;
    found.ok("version", `svc ${version} for ${info.platform} (runtime release ${info.release}), ${where}`);
  } catch (error) {
    found.problem("version", sentenceOf(error), "npm run build");
  }
  if (executable === undefined) return found.list;
  const why = temporaryPlace(executable, env);
  if (why !== undefined) found.warning("place", why, COPY_HINT);
  const others = onPath(env).filter((path) => !isSame(path, executable));
  const isFirst = isSame(resolved(Bun.which("svc", { PATH: env.PATH ?? "" }) ?? executable), executable);
  for (const [index, path] of others.entries()) {
    const other = await versionOf(path, env);
    const what = other === undefined ? "another program called svc, which does not print a version" : `svc ${other}`;
    const first = index === 0 && !isFirst ? ", which the shell runs instead of this one" : "";
    const message = `PATH also has ${what}, at ${tilde(path, env)}${first}`;
    if (other !== undefined && other === version && first === "") found.ok("other", message);
    else found.warning("other", message, `remove ${tilde(path, env)}, or put this svc first on PATH`);
  }
  return found.list;
}

/** The programs `svc` in the folders of PATH, links resolved, each once; folders that are named relatively do not count. */
function onPath(env: Env): string[] {
  const programs = programFolders(env)
    .map((folder) => join(folder, "svc"))
    .filter((path) => mayRun(path));
  return [...new Set(programs.map(resolved))];
}

function mayRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A version answers in milliseconds; a program that does something else is ended. */
const VERSION_MS_MAX = 5_000;

/** What a program says when it is asked as svc is for its version; undefined where it answers otherwise. */
export async function versionOf(program: string, env: Env): Promise<string | undefined> {
  try {
    const child = Bun.spawn([program, "version", "--json"], {
      env: { PATH: env.PATH ?? "", HOME: env.HOME ?? "/" },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: VERSION_MS_MAX,
      killSignal: "SIGKILL",
    });
    const answer: unknown = JSON.parse(await new Response(child.stdout).text());
    const { version } = answer as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}
