/** The mark of a memory directory that is a node's copy: which memory it is of, and which node's. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { makeDurableDirectory, readCapped, writeDurable } from "../../durable.ts";
import { OSError, ValueError } from "../../errors.ts";
import { savedIn } from "../../store/directory.ts";
import { COPY_MARK } from "../../store/folders.ts";
import { EngineError } from "../engine.ts";

const MARK_BYTES_MAX = 4096;

/** What the mark says. */
export interface CopyMark {
  /** The id of the memory, from its database. */
  memory: string;
  /** The id of this node, a UUID. */
  node: string;
}

/**
 * The mark of a directory; undefined: it has none, and nothing else.
 * @throws ValueError for a memory directory of its own; OSError where the mark is damaged
 */
export function readMark(dir: string): CopyMark | undefined {
  const bytes = readCapped(join(dir, COPY_MARK), MARK_BYTES_MAX);
  if (bytes === undefined) {
    const own = existsSync(dir) && readdirSync(dir).length > 0 ? savedIn(dir) : [];
    if (own.length === 0) return undefined;
    throw new ValueError(
      `the memory directory has collections of its own ('${own[0]}'): name an empty one with --path for the copy of the ` +
        "database's memory, or leave --path and SVC_MEMORY_PATH out",
    );
  }
  try {
    const { memory, node } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<CopyMark>;
    if (typeof memory === "string" && typeof node === "string") return { memory, node };
  } catch {
    // Reported below.
  }
  throw new OSError(
    `${COPY_MARK} in the memory directory is damaged: the directory is a copy, so remove it and start again`,
    "damaged",
  );
}

/** Marks a directory as the copy of a memory, or refuses one that is the copy of another. @throws EngineError */
export function markCopy(dir: string, { memory, node }: CopyMark): void {
  const mark = readMark(dir);
  if (mark?.memory === memory) return;
  if (mark !== undefined) {
    throw new EngineError(
      "refused",
      "the memory directory is a copy of another memory than the database has: name another directory with --path",
    );
  }
  makeDurableDirectory(dir);
  writeDurable(join(dir, COPY_MARK), `${JSON.stringify({ memory, node })}\n`);
}
