/**
 * The result of a call that did not look at the files, for lack of time or because nothing may be changed: what is
 * indexed, as the fingerprints have it.
 */

import { isIn } from "../files/relative.ts";
import { loadLog } from "../fingerprints/known-logs.ts";
import { shownPartial } from "../fingerprints/partial.ts";
import { settingsOf, shownSettings } from "../fingerprints/settings.ts";
import { type IndexOptions, type IndexResult, repoMembers } from "./options.ts";

export function unchangedResult(options: IndexOptions): IndexResult {
  const { folder, sink, onIndexed } = options;
  const { repoId, below } = options.workspace;
  const { files, note } = loadLog(folder, repoId, sink);
  const texts = [...files].filter(([, { kind }]) => kind === "text").map(([path]) => path);
  onIndexed?.(texts);
  return {
    status: "hit",
    ...repoMembers(options),
    files_tracked: texts.filter((path) => isIn(below ?? "", path)).length,
    files_changed: 0,
    files_removed: 0,
    chunks_added: 0,
    chunks_deleted: 0,
    files_skipped: { binary: 0, secret: 0, too_large: 0, unreadable: 0, outside: 0 },
    truncated: true,
    ...shownPartial(note?.partial),
    ...shownSettings(settingsOf({}, note)),
  };
}
