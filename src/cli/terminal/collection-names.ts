/** Which collections a memory has, by its folders alone: for completion and for hints, without login or native code. */

import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../errors.ts";

/** The names of the collections in a memory directory, sorted; none where it cannot be read. */
export function collectionNames(directory: string): string[] {
  const entries = attempt(() => readdirSync(directory, { withFileTypes: true })) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .filter((name) => hasManifest(join(directory, name)))
    .sort();
}

/** A link that leads nowhere is one too: the collection is damaged, and is named. */
function hasManifest(folder: string): boolean {
  return attempt(() => lstatSync(join(folder, "collection.json"))) !== undefined;
}
