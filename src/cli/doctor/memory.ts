/** The memory: whether each collection opens, who writes to it, and what killed processes have left. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { HolderState } from "../../../ffi/ty_collection.ts";
import { buildInfo } from "../../build-info.ts";
import { REPO_COLLECTION } from "../../checks/names.ts";
import { shellPath } from "../../durable.ts";
import { SvcError } from "../../errors.ts";
import { type Env, memoryPath, svcHome } from "../../paths.ts";
import type { Collection } from "../../store/collection.ts";
import { dueOf } from "../../store/compaction/due.ts";
import { statesIn } from "../../store/directory.ts";
import { refusedVersion } from "../../store/format-version.ts";
import { heldError, LEFT, UNSAVED } from "../../store/lock/holder.ts";
import { whyUnreadable } from "../../store/overview.ts";
import { Store } from "../../store/store.ts";
import { SentenceEncoder } from "../../texts/meaning/encoder.ts";
import { filledShare, SHARE_WITHOUT_NOTICE } from "../../texts/meaning/readiness.ts";
import type { License } from "../../trust/account/license/license.ts";
import { openNative } from "../../trust/runtime/libraries.ts";
import { loadVerified } from "../../trust/runtime/load.ts";
import { loadModel } from "../../trust/runtime/model.ts";
import { counted, megabytes, nameAsWord } from "../mem/render/text.ts";
import { oneLine } from "../terminal/output.ts";
import { type Finding, Findings, isFolder, sentenceOf, span, tilde } from "./finding.ts";
import { heldLock } from "./lock.ts";

/** A change takes milliseconds, a compaction or an index of a large collection minutes. */
const LONG_MS = 10 * 60_000;
/** Changes that wait for a save are in one process's memory only. */
const UNSAVED_MS = 60_000;
/** From here on a compaction is overdue (src/store/compaction/due.ts). */
const OVERDUE = 2;

/** What it takes to open collections: a good licence and a runtime that verifies. */
export interface MemoryOptions {
  readonly env: Env;
  /** Undefined: collections are looked at from outside only. */
  readonly license: License | undefined;
  /** Whether the directory is a copy of a memory whose log is in a database: what is removed of it is fetched again. */
  readonly isCopy?: boolean;
}

/** Looks at every collection; opens them where that is possible, and changes nothing. */
export async function checkMemory({ env, license, isCopy = false }: MemoryOptions): Promise<Finding[]> {
  const found = new Findings("memory");
  let dir: string;
  try {
    dir = memoryPath(undefined, env);
  } catch (error) {
    // An error in SVC_HOME is reported by the home check.
    if (env.SVC_MEMORY_PATH)
      found.problem("address", sentenceOf(error), "export SVC_MEMORY_PATH=/a/folder/of/your/own");
    return found.list;
  }
  const names = listed(found, dir, env);
  if (names === undefined) return found.list;
  checkLeftovers(found, dir, env);
  for (const [name, state] of statesIn(dir)) {
    if (state !== "leftover") continue;
    const what = `collection '${oneLine(name)}' was never saved: an interrupted first save left its folder`;
    found.warning("leftover", what, `svc mem drop ${nameAsWord(name)}`);
  }
  const collections = names.filter((name) => !name.startsWith(".") && isFolder(join(dir, name)));
  for (const name of collections) checkLock(found, name, join(dir, name));
  if (license === undefined) {
    const known = collections.length === 1 ? "1 collection was" : `${collections.length} collections were`;
    found.warning("unopened", `${known} not opened: this needs a login and a verified runtime`, "svc login");
  } else await openAll(found, dir, { env, license, isCopy });
  return found.list;
}

function listed(found: Findings, dir: string, env: Env): string[] | undefined {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      found.ok("empty", `the memory (${tilde(dir, env)}) is empty: the first text that you add makes it`);
    else {
      const what = code === "ENOTDIR" ? "is not a folder" : `cannot be read (${code})`;
      const path = shellPath(dir, svcHome(env));
      const remedy = code === "ENOTDIR" ? `mv ${path} ${shellPath(`${dir}.old`, svcHome(env))}` : `chmod u+rwx ${path}`;
      found.problem("folder", `the memory directory (${tilde(dir, env)}) ${what}`, remedy);
    }
    return undefined;
  }
}

/** Folders in which collections are made or removed. One that was not touched for so long is of a killed process. */
const STAGES = /^\.(svc-backup-|svc-staged-|discarded-)/;
const STAGE_MS = 3_600_000;

function checkLeftovers(found: Findings, dir: string, env: Env): void {
  const isLeft = (name: string) => {
    const stat = STAGES.test(name) ? lstatSync(join(dir, name), { throwIfNoEntry: false }) : undefined;
    return stat !== undefined && Date.now() - stat.mtimeMs > STAGE_MS && heldLock(join(dir, name)) === undefined;
  };
  const left = readdirSync(dir).filter(isLeft);
  if (left.length === 0) return;
  const what = left.length === 1 ? "1 folder is" : `${left.length} folders are`;
  const paths = left.map((name) => shellPath(join(dir, name), svcHome(env))).join(" ");
  found.warning(
    "leftovers",
    `${what} left over from a killed backup, repair or removal, and in use by no process`,
    `rm -r ${paths}`,
  );
}

function checkLock(found: Findings, name: string, folder: string): void {
  const held = heldLock(folder);
  if (held === undefined) return;
  const { holder, heldMs } = held;
  const { message } = heldError(oneLine(name), holder);
  const since = `for ${span(heldMs)}`;
  if (holder.state === HolderState.STOPPED || holder.state === HolderState.TRACED)
    found.problem("locked", `${message} (${since})`, `kill -CONT ${holder.pid}`);
  else if (holder.what === LEFT || (holder.what === UNSAVED && heldMs > UNSAVED_MS))
    found.warning(
      "unsaved",
      `${message} (${since})`,
      "start the server with --save-interval 1, or save from its client",
    );
  else if (heldMs > LONG_MS) found.warning("locked", `${message} (${since})`, `ps -p ${holder.pid}`);
  else found.ok("locked", `${message} (${since})`);
}

interface OpenOptions extends MemoryOptions {
  readonly license: License;
}

async function openAll(found: Findings, dir: string, { env, license, isCopy }: OpenOptions): Promise<void> {
  let store: Store;
  let encoder: SentenceEncoder;
  try {
    const home = svcHome(env);
    const mapped = await loadVerified({ home, env, license, readsOnly: true });
    try {
      const native = openNative(mapped, "svc doctor");
      encoder = new SentenceEncoder({ ...native, model: () => loadModel(home, mapped.signed) });
      store = new Store(dir, native.env, buildInfo().version);
    } finally {
      mapped.close();
    }
  } catch (error) {
    found.problem("unopened", `the memory cannot be opened: ${sentenceOf(error)}`);
    return;
  }
  let [all, good, rows, bytes] = [0, 0, 0, 0];
  try {
    for (const name of store.present()) {
      all++;
      const folder = shellPath(join(dir, name), svcHome(env));
      const again = `end the processes of this memory, then: rm -r ${folder}`;
      const mended = isCopy && name !== REPO_COLLECTION ? again : `svc mem check ${nameAsWord(name)} --repair`;
      const opened = openOne(found, store, name, { folder, mended });
      if (opened === undefined) continue;
      await checkMeaning(found, store.open(name), encoder, mended);
      good++;
      rows += opened.rows;
      bytes += opened.bytes;
    }
  } finally {
    await store.close();
  }
  const opens = good === 1 ? "1 collection opens" : `${good} collections open`;
  const what = `${opens}: ${counted(rows, "row")}, ${megabytes(bytes)}`;
  if (good > 0) found.ok("opens", `${what}; 'svc mem check' reads every byte`);
  else if (all === 0) found.ok("empty", `the memory (${tilde(dir, env)}) has no collection yet`);
}

/** How much of a collection can be found by meaning; nothing where that is nearly all, or not wanted. */
async function checkMeaning(
  found: Findings,
  collection: Collection,
  encoder: SentenceEncoder,
  mended: string,
): Promise<void> {
  const shown = oneLine(collection.name);
  const filled = await filledShare(collection, encoder);
  if (filled === undefined) return;
  if (filled.isLost)
    found.warning(
      "meaning",
      `collection '${shown}' is searched by words alone: its vectors of meaning cannot be read`,
      mended,
    );
  else if (filled.share < SHARE_WITHOUT_NOTICE)
    found.ok(
      "meaning",
      `collection '${shown}': ${Math.floor(100 * filled.share)} % of the texts can be found by meaning so far`,
      `svc mem build-meaning ${nameAsWord(collection.name)}`,
    );
}

/**
 * Opens one collection and looks at its counters; undefined where it cannot be opened.
 * @param folder of it, as a word of a shell; `mended`: what mends damage of it
 */
function openOne(
  found: Findings,
  store: Store,
  name: string,
  { folder, mended }: { folder: string; mended: string },
): { rows: number; bytes: number } | undefined {
  const shown = oneLine(name);
  try {
    const collection = store.open(name);
    const stats = collection.stats();
    if (stats.damages > 0) found.problem("damaged", `collection '${shown}' has damaged parts`, mended);
    else if (dueOf(stats) >= OVERDUE)
      found.warning(
        "compaction",
        `collection '${shown}' opens slowly: a compaction is overdue`,
        `svc mem compact ${nameAsWord(name)}`,
      );
    // As svc mem list has it: with the room that is kept free for a full disk, which is not part of disk_bytes.
    return { rows: collection.count(), bytes: store.overview([name])[0]?.bytes ?? 0 };
  } catch (error) {
    const sentence = sentenceOf(error);
    const isOther = error instanceof SvcError && error.reason === "other_version";
    const [word, why] = (isOther && whyUnreadable(refusedVersion(join(store.dir, name)))) || [];
    if (word !== undefined) {
      const exported = `run 'svc mem export ${nameAsWord(name)} FILE' with the release that wrote it`;
      const remedy = word === "older" ? exported : "install a newer release of svc";
      found.problem(word, `collection '${shown}' cannot be opened: ${why}`, remedy);
      return undefined;
    }
    const isClosed = /\bEACCES\b|Permission denied/.test(sentence);
    const remedy = isClosed ? `chmod -R u+rwX ${folder}` : mended;
    found.problem(isClosed ? "access" : "damaged", `collection '${shown}' cannot be opened: ${sentence}`, remedy);
    return undefined;
  }
}
