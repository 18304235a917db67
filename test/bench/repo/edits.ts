/** What calls cost and write after edits. */
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "../measure.ts";
import { type Copy, git } from "./copy.ts";
import type { Timing } from "./peers.ts";
import { inTurn, QUESTION, type RepoServer, Samples, SETTLED_MS } from "./server.ts";

/** A question after ten files were edited. Medians. */
export interface Ten {
  ten: Timing;
  /** A put of ten windows of these files, into a collection of texts: their embedding, and a save. */
  put: Timing;
}

/** What one edit made a call write, beside what a call without a change passes to pipes. Medians, in bytes. */
export interface Written {
  written: number;
  /** By the call after that, which finds nothing new. */
  next: number;
  file: number;
}

const EDITS = 9;
const CHANGED = 10;
const WINDOW_LINES = 48;
const SOURCE = /\.(c|cc|cpp|cs|go|h|hpp|java|js|kt|mjs|php|py|rb|rs|scala|swift|ts|tsx)$/;

/** Edits a line of each of ten files in turns with a put of as much text. */
export async function changeTen(servers: readonly RepoServer[], copy: Copy): Promise<Ten[]> {
  const files = sourcesNear(copy);
  const [tens, puts] = [servers.map((own) => new Samples(own)), servers.map((own) => new Samples(own))];
  for (const server of servers) await server.time("svc_create_collection", { name: "windows" });
  for (let edit = 0; edit < EDITS; edit++) {
    for (const path of files) editLine(path, `changed ${edit}`, "in place");
    for (const own of inTurn(tens, edit)) await own.add("svc_repo_search", QUESTION);
    const ids = files.map((_, i) => `window${i}`);
    const texts = files.map((path) => readFileSync(path, "utf8").split("\n").slice(0, WINDOW_LINES).join("\n"));
    for (const own of inTurn(puts, edit)) await own.add("svc_upsert", { collection: "windows", ids, texts });
  }
  return servers.map((_, i) => ({ ten: tens[i]!.result(), put: puts[i]!.result() }));
}

/** Edits one file again and again. */
export async function editOne(
  servers: readonly RepoServer[],
  { edited }: Copy,
  how: "in place" | "by rename",
): Promise<Written[]> {
  await Bun.sleep(SETTLED_MS);
  const quiet: number[] = [];
  for (const server of servers) {
    await server.time("svc_index_repo", {});
    // Writes no file; but what git lists to a pipe counts as the server's once git has ended.
    quiet.push(await server.written("svc_index_repo", {}));
  }
  const written = servers.map(() => [[], []] as [number[], number[]]);
  for (let edit = 0; edit < EDITS; edit++) {
    editLine(edited, `edit ${edit} ${how}`, how);
    for (const at of [0, 1] as const) {
      for (const [i, server] of servers.entries()) {
        written[i]![at].push((await server.written("svc_index_repo", {})) - quiet[i]!);
      }
    }
  }
  const file = statSync(edited).size;
  return written.map(([first, second]) => ({ written: median(first), next: median(second), file }));
}

/** Files of source code whose sizes are nearest to that of the middle one. */
function sourcesNear({ root, edited }: Copy): string[] {
  const middle = statSync(edited).size;
  const paths = git(root, "ls-files", "-z")
    .split("\0")
    .filter((name) => SOURCE.test(name))
    .map((name) => join(root, name));
  const far = (path: string) => Math.abs((statSync(path, { throwIfNoEntry: false })?.size ?? Infinity) - middle);
  const sorted = paths.map((path) => ({ path, far: far(path) })).sort((a, b) => a.far - b.far);
  return sorted.slice(0, CHANGED).map(({ path }) => path);
}

/** Replaces a line in the middle. */
function editLine(path: string, text: string, how: "in place" | "by rename"): void {
  const lines = readFileSync(path, "utf8").split("\n");
  lines[lines.length >> 1] = `// ${text}`;
  const target = how === "in place" ? path : `${path}.new`;
  writeFileSync(target, lines.join("\n"));
  if (target !== path) renameSync(target, path);
}
