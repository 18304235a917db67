/** This machine's copy of a memory whose log is in a database: whether it is of that memory, and how far behind. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { REPO_COLLECTION } from "../../checks/names.ts";
import { shellPath } from "../../durable.ts";
import type { Env } from "../../paths.ts";
import { readMark } from "../../replication/node/copy.ts";
import { savedState, wholeGeneration } from "../../replication/node/manifest.ts";
import type { ServerState, StoredHead } from "../../replication/postgres/examine.ts";
import { savedIn } from "../../store/directory.ts";
import { counted } from "../mem/render/text.ts";
import { oneLine } from "../terminal/output.ts";
import { type Findings, sentenceOf, tilde } from "./finding.ts";

/** What the copy is compared with. */
interface CopySite {
  /** Undefined: the database has none yet, or it could not be read. */
  readonly memory: ServerState["memory"];
  /** Whether the database answered. */
  readonly isReached: boolean;
  readonly env: Env;
  readonly home: string;
}

/** Looks at the mark of the directory and at the generation of each collection. */
export function checkCopy(found: Findings, dir: string, { memory, isReached, env, home }: CopySite): void {
  const shown = tilde(dir, env);
  let mark: ReturnType<typeof readMark>;
  try {
    mark = readMark(dir);
  } catch (error) {
    found.problem("copy", `${shown}: ${sentenceOf(error)}`, "name another directory with --path, or remove this one");
    return;
  }
  if (mark === undefined) {
    const what = `this machine has no copy yet (${shown})`;
    if (isReached) found.ok("copy", `${what}: the first command that uses the database makes it`);
    else found.warning("copy", `${what}: nothing can be searched here until the database can be used`);
    return;
  }
  if (memory !== undefined && mark.memory !== memory.id) {
    found.problem(
      "copy",
      `${shown} is the copy of another memory than the database has`,
      "name another directory with --path, or the database of this copy",
    );
    return;
  }
  const names = savedIn(dir).filter((name) => name !== REPO_COLLECTION);
  const held = `this machine's copy (${shown}, node ${mark.node}) has ${counted(names.length, "collection")}`;
  if (memory === undefined) {
    if (isReached) found.ok("copy", held);
    else found.warning("copy", `${held}: searches answer from it, and changes fail until the database can be used`);
    return;
  }
  found.ok("copy", held);
  compare(found, dir, home, { names, heads: memory.heads });
}

interface Compared {
  /** Collections of the copy. */
  readonly names: readonly string[];
  readonly heads: ReadonlyMap<string, StoredHead>;
}

function compare(found: Findings, dir: string, home: string, { names, heads }: Compared): void {
  let current = 0;
  for (const [name, head] of heads) {
    const collection = `collection '${oneLine(name)}'`;
    const folder = join(dir, name);
    const exists = existsSync(folder);
    const here = exists ? wholeGeneration(folder) : 0;
    const removed = `rm -r ${shellPath(folder, home)}`;
    if (here > head.generation)
      found.problem(
        "generation",
        `${collection} is at generation ${here} here and at ${head.generation} in the database, which was restored from ` +
          "an older backup, or where it was dropped and made again",
        removed,
      );
    else if (here === head.generation && sha256(savedState(folder)?.bytes) !== head.sha256)
      found.problem("generation", `${collection} is another one here than in the database`, removed);
    else if (here === head.generation) current++;
    else if (here === 0)
      found.ok("lag", `${collection} is ${exists ? "incomplete here" : "not here yet"}: the next command fetches it`);
    else {
      const behind = head.generation - here;
      found.ok(
        "lag",
        `${collection} is ${behind} ${behind === 1 ? "generation" : "generations"} behind (${here} of ` +
          `${head.generation}): the next command, or a process that stays, fetches them`,
      );
    }
  }
  if (current > 0) found.ok("current", `${counted(current, "collection")} at the database's generation`);
  for (const name of names) {
    if (heads.has(name)) continue;
    const remedy = `rm -r ${shellPath(join(dir, name), home)}`;
    found.problem("dropped", `the database does not have collection '${oneLine(name)}' any more`, remedy);
  }
}

function sha256(bytes: Uint8Array | undefined): string {
  return createHash("sha256")
    .update(bytes ?? "")
    .digest("hex");
}
