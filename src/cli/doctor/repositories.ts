/** The indexed repositories: whether they are there, whole and how fresh. Read from manifests, nothing is opened. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../errors.ts";
import type { Env } from "../../paths.ts";
import { memoryPath } from "../../paths.ts";
import { isGone } from "../../repo/files/work-tree.ts";
import { hasLogs, type Indexed, indexedIn } from "../../repo/fingerprints/indexed.ts";
import { repoIdOfNote } from "../../repo/fingerprints/note.ts";
import { shellWord } from "../../shell-word.ts";
import { readManifestFile } from "../../store/folder-state.ts";
import { parseManifest } from "../../store/schema.ts";
import { oneLine } from "../terminal/output.ts";
import { type Finding, Findings, isFolder, span, tilde } from "./finding.ts";

/** Looks at every collection that has fingerprints of repositories. */
export function checkRepositories(env: Env, now = Date.now()): Finding[] {
  const found = new Findings("repositories");
  for (const folder of collectionsOf(env)) {
    if (!hasLogs(folder)) continue;
    let notes: Map<string, unknown>;
    try {
      const manifest = parseManifest(readManifestFile(folder).toString("utf8"));
      const pairs = Object.entries(manifest.notes).map(([name, note]) => [repoIdOfNote(name), note] as const);
      notes = new Map(pairs.filter((pair): pair is [string, unknown] => pair[0] !== undefined));
    } catch {
      continue; // a collection that cannot be opened stands with the memory
    }
    for (const indexed of indexedIn(folder, { notes: () => notes })) checkOne(found, indexed, env, now);
  }
  return found.list;
}

function checkOne(found: Findings, { repoId, head, note, usedMs }: Indexed, env: Env, now: number): void {
  if (head === undefined) {
    const message = `the fingerprints of repository ${repoId} are missing or damaged: the next index run reads every file`;
    const place = note.root === undefined ? ", in the repository" : ` ${shellWord(oneLine(note.root))}`;
    found.warning("fingerprints", message, `svc mem index${place}`);
    return;
  }
  const { root, git, device } = head;
  const name = oneLine(tilde(root, env));
  if (git !== undefined && isGone(root, git, device)) {
    found.warning("gone", `${name} is indexed, but git no longer has this work tree`, "svc mem repos");
  } else if (!isFolder(root)) {
    const forget = `svc mem repos --forget ${repoId}`;
    found.warning("missing", `${name} is indexed, but its folder is missing`, `bring the folder back, or ${forget}`);
  } else if (note.partial !== undefined) {
    const { done, found: all } = note.partial;
    found.warning(
      "partial",
      `${name} is indexed in part: ${done} of ${all} files`,
      `svc mem index ${shellWord(oneLine(root))}`,
    );
  } else {
    const used = usedMs === 0 ? "at an unknown time" : `${span(now - usedMs)} ago`;
    found.ok("fresh", `${name}: ${note.tracked} files, last brought up to date ${used}; every search updates it`);
  }
}

function collectionsOf(env: Env): string[] {
  // The memory check reports what cannot be read.
  const dir = attempt(() => memoryPath(undefined, env)) ?? "";
  const names = attempt(() => readdirSync(dir)) ?? [];
  return names
    .filter((name) => !name.startsWith("."))
    .map((name) => join(dir, name))
    .filter(isFolder);
}
