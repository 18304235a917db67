/** Which collections a memory has, by its folders alone: for completion and for hints, without login or native code. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The names of the collections in a memory directory, sorted; none where it cannot be read. */
export function collectionNames(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .map(({ name }) => name)
      .filter((name) => existsSync(join(directory, name, "collection.json")))
      .sort();
  } catch {
    return [];
  }
}
