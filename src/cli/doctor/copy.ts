/** This machine's copy of a memory whose log is in a database: whether it is of that memory, and how far behind. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { REPO_COLLECTION } from "../../checks/names.ts";
import { shellPath } from "../../durable.ts";
import type { Env } from "../../paths.ts";
import { readMark } from "../../replication/node/copy.ts";
import { savedState, storedLog, wholeGeneration } from "../../replication/node/manifest.ts";
import type { ServerState, StoredMemory } from "../../replication/postgres/examine.ts";
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
  compare(found, dir, home, { names, ...memory });
}

interface Compared extends Pick<StoredMemory, "heads" | "dropped"> {
  /** Collections of the copy. */
  readonly names: readonly string[];
}

const KEEP = "copy the folder elsewhere first if you need what it has";

function compare(found: Findings, dir: string, home: string, { names, heads, dropped }: Compared): void {
  let current = 0;
  for (const [name, head] of heads) {
    const collection = `collection '${oneLine(name)}'`;
    const folder = join(dir, name);
    const exists = existsSync(folder);
    const here = exists ? wholeGeneration(folder) : 0;
    const log = storedLog(folder);
    const removed = `rm -r ${shellPath(folder, home)}`;
    if (log !== undefined && log !== head.log) {
      if (dropped.has(log))
        found.ok("lag", `${collection} was dropped and made again: the next command replaces this machine's copy`);
      else found.problem("generation", `${collection} is another one here than in the database; ${KEEP}`, removed);
    } else if (here > head.generation)
      found.problem(
        "generation",
        `${collection} is at generation ${here} here and at ${head.generation} in the database, which was restored from ` +
          `an older backup; ${KEEP}`,
        removed,
      );
    else if (here === head.generation && sha256(savedState(folder)?.bytes) !== head.sha256)
      found.problem("generation", `${collection} has other commits here than in the database; ${KEEP}`, removed);
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
    const folder = join(dir, name);
    const collection = `collection '${oneLine(name)}'`;
    if (dropped.has(storedLog(folder) ?? "")) {
      found.ok("dropped", `${collection} was dropped: the next command removes this machine's copy`);
      continue;
    }
    found.problem(
      "dropped",
      `the database does not have ${collection}, and has no record that it was dropped; ${KEEP}`,
      `rm -r ${shellPath(folder, home)}`,
    );
  }
}

function sha256(bytes: Uint8Array | undefined): string {
  return createHash("sha256")
    .update(bytes ?? "")
    .digest("hex");
}
