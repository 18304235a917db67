/** Copies that cannot be brought up to date by additions: another state takes their place as a whole, or they are removed. */
import { join } from "node:path";
import { shown } from "../../checks/kinds.ts";
import { type FolderSite, withFolderLock } from "../../store/folder-lock.ts";
import { isSaved, readManifestFile } from "../../store/folder-state.ts";
import { discardFolder } from "../../store/folders.ts";
import { exchangeFolders } from "../../store/stages.ts";
import type { Engine, Head } from "../engine.ts";
import { withFetched } from "./download.ts";
import { storedLog } from "./manifest.ts";

/** How long a change of this node is waited for: its save finds out by itself. */
const WAIT_MS = 1000;

/** What the log of a copy is to the database: its log, one that was dropped there, or one that it does not know. */
export type Relation = "same" | "dropped" | "foreign";

/**
 * The relation of a folder's log to a collection of the database.
 * @param log of the collection there; undefined: there is none
 */
export async function relationOf(engine: Engine, name: string, folder: string, log?: string): Promise<Relation> {
  const own = storedLog(folder);
  if (own === log) return "same";
  // An older version did not store the log. With a collection of the name there, the files decide.
  if (own === undefined) return log === undefined ? "foreign" : "same";
  return (await engine.isDropped(name, own)) ? "dropped" : "foreign";
}

/** The manifest of a copy, as it is when its replacement is decided on. */
export function seenIn(folder: string): Buffer | undefined {
  return isSaved(folder) ? readManifestFile(folder) : undefined;
}

/**
 * Fetches a state into a new folder, which takes the place of the copy in one step.
 * @param seen another manifest by now: nothing is done
 * @returns bytes that were fetched
 */
export async function replaceCopy(
  engine: Engine,
  site: FolderSite,
  head: Head,
  seen: Buffer | undefined,
): Promise<number> {
  const { dir, name } = site;
  return withFetched(engine, dir, name, head, async (folder, bytes) => {
    const remedy = `remove its folder in ${shown(dir)}`;
    await whileSeen(site, seen, () => exchangeFolders(folder, dir, name, remedy));
    return bytes;
  });
}

/** Removes a copy. @param seen another manifest by now: nothing is done */
export async function removeCopy(site: FolderSite, seen: Buffer | undefined): Promise<void> {
  await whileSeen(site, seen, () => discardFolder(site.dir, site.name));
}

async function whileSeen(site: FolderSite, seen: Buffer | undefined, work: () => void): Promise<void> {
  await withFolderLock({ waitMs: WAIT_MS, ...site }, () => {
    const now = seenIn(join(site.dir, site.name));
    if (seen === undefined ? now === undefined : now?.equals(seen)) work();
  });
}
