/** A memory of the notes, and the day replayed on copies of it. */
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { call, connectWithPid, type Home } from "../home.ts";
import { follow } from "./agent.ts";
import { dayCalls, dayNotes } from "./data.ts";
import { judge, type Marks } from "./judge.ts";

/** The folder in which servers start: a repository that has the name of a project. */
const WORKSPACE = "harbor";

/** Stores all notes, one call a note, as an agent stores them. */
export async function storeNotes(home: Home): Promise<void> {
  await using server = await connectWithPid(home);
  for (const { collection, id, text, metadata = {} } of dayNotes()) {
    await call(server.client, "svc_add", { collection, texts: [text], ids: [id], metadata: [metadata] });
  }
}

/** Why the executable does not start with these flags; undefined where it does. */
export function refusalOf(home: Home, flags: readonly string[]): string | undefined {
  const { exitCode, stderr } = Bun.spawnSync([home.svc, "mcp", ...flags], { env: home.env, stdin: "ignore" });
  return exitCode === 0 ? undefined : stderr.toString().trim().split("\n")[0];
}

/** The marks of the day's calls, on a copy of the memory, by a server with these flags. */
export async function replay(
  home: Home,
  flags: readonly string[],
  name: string,
  countTokens: (text: string) => number,
): Promise<Marks[]> {
  const memory = join(home.dir, name);
  cpSync(home.env.SVC_MEMORY_PATH!, memory, { recursive: true });
  const workspace = join(home.dir, WORKSPACE);
  mkdirSync(join(workspace, ".git"), { recursive: true });
  const own = { ...home, cwd: workspace, env: { ...home.env, SVC_MEMORY_PATH: memory } };
  await using server = await connectWithPid(own, ...flags);
  const marks: Marks[] = [];
  for (const each of dayCalls()) {
    const outcome = await follow(server.client, each);
    marks.push(judge(each, outcome, countTokens));
  }
  return marks;
}
