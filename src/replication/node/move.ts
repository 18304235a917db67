/** Moves collections of a memory directory into a database, and back: `svc mem copy`. */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../../ffi/ty_runtime.ts";
import { shown } from "../../checks/kinds.ts";
import { REPO_COLLECTION } from "../../checks/names.ts";
import { OSError, ValueError } from "../../errors.ts";
import { LOCK_WAIT_MS } from "../../limits.ts";
import { hasFolder } from "../../store/directory.ts";
import { withFolderLock } from "../../store/folder-lock.ts";
import { type Engine, EngineError, type Head } from "../engine.ts";
import { openPostgres } from "../postgres/engine.ts";
import { downloadNew } from "./download.ts";
import { STORED_NAMES, type State, savedState } from "./manifest.ts";
import { wholeFiles } from "./upload.ts";

/** What is copied, from where, and what watches it. */
export interface MoveSite {
  env: Environment;
  /** The memory directory, which is not a copy of the database's memory. */
  dir: string;
  signal: AbortSignal;
  onProgress: (collection: string, done: number, total: number) => void;
}

/** A collection that was copied. */
export interface Moved {
  name: string;
  generation: number;
  /** Of its files. */
  bytes: number;
}

/** Opens the database for as long as `work` takes. @throws OSError for what the database refuses */
export async function withDatabase<T>(address: string, work: (engine: Engine) => Promise<T>): Promise<T> {
  let engine: Engine | undefined;
  try {
    engine = await openPostgres(address, { node: randomUUID() });
    return await work(engine);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const reasons = { away: "disconnected", unknown: "outcome_unknown" } as const;
    throw new OSError(error.message, reasons[error.fault as keyof typeof reasons]);
  } finally {
    await engine?.close();
  }
}

/**
 * Copies a collection into the database, where it must be new. Nothing can change it meanwhile. After a failure the same
 * call goes on: files that are stored already are not sent again.
 */
export async function copyTo(engine: Engine, { env, dir, signal, onProgress }: MoveSite, name: string): Promise<Moved> {
  if (name === REPO_COLLECTION) {
    throw new ValueError(
      `collection ${shown(name)} is the index of a repository of this machine: a database cannot have it`,
    );
  }
  return withFolderLock({ env, dir, name, signal }, async () => {
    const state = savedState(join(dir, name));
    if (state === undefined) throw new ValueError(`collection ${shown(name)} was never saved`, "no_collection");
    const total = state.files.reduce((sum, { bytes }) => sum + bytes, 0);
    const copied = { name, generation: state.generation, bytes: total };
    if (isThere(name, state, await engine.head(name))) return copied;
    const files = wholeFiles(join(dir, name), state);
    let done = 0;
    for (const [stored, { bytes, chunks }] of files) {
      if (!(await isStored(engine, name, stored, bytes))) {
        for (const chunk of chunks) {
          signal.throwIfAborted();
          await engine.put(name, chunk);
          onProgress(name, done + chunk.at + chunk.bytes.length, total);
        }
      }
      done += bytes;
      onProgress(name, done, total);
    }
    const lease = await engine.lease(name, LOCK_WAIT_MS);
    const { generation, bytes: manifest } = state;
    if (isThere(name, state, lease.head)) {
      await lease.release();
      return copied;
    }
    const names = [...files.keys()].map((stored) => [stored.replace(/@.*$/, ""), stored]);
    const head = { generation, manifest, files: Object.fromEntries(names), commit: randomUUID(), log: randomUUID() };
    try {
      await lease.swap(head, []);
    } finally {
      await lease.release();
    }
    return copied;
  });
}

/** Whether the database has this state: an interrupted call made the copy. @throws ValueError where it has another one */
function isThere(name: string, state: State, head: Head | undefined): boolean {
  if (head === undefined) return false;
  if (Buffer.compare(head.manifest, state.bytes) === 0) return true;
  throw new ValueError(
    `the database has another collection ${shown(name)} already: nothing was copied. Rename this one, or drop that one`,
  );
}

/** Chunks are stored in order, so a file that has its last byte is whole. */
async function isStored(engine: Engine, name: string, stored: string, bytes: number): Promise<boolean> {
  for await (const chunk of engine.get(name, stored, bytes - 1, bytes))
    if (chunk.at + chunk.bytes.length === bytes) return true;
  return false;
}

/** Copies a collection from the database into the memory directory, where it must be new. */
export async function copyFrom(engine: Engine, { dir, onProgress }: MoveSite, name: string): Promise<Moved> {
  const head = await engine.head(name);
  if (head === undefined) throw new ValueError(`the database has no collection ${shown(name)}`, "no_collection");
  const exists = new ValueError(
    `the memory directory has a collection ${shown(name)} already: drop or rename it first`,
  );
  if (hasFolder(dir, name)) throw exists;
  onProgress(name, 0, 1);
  const { bytes, isNew } = await downloadNew(engine, dir, name, head, (folder) => rmSync(join(folder, STORED_NAMES)));
  if (!isNew) throw exists;
  return { name, generation: head.generation, bytes };
}
