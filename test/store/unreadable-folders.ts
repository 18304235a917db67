/** Folders that no program can read as a collection, made by hand of a sound one. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32c, sealed } from "../format/seal.ts";

const BASE = "base-0000000000000001.slab";

/** What an interrupted first save leaves, with the base of a collection that was saved once. */
export function interruptedFirstSave(dir: string, name: string, like: string): void {
  mkdirSync(join(dir, name));
  writeFileSync(join(dir, name, ".first-save"), "");
  copyFileSync(join(dir, like, BASE), join(dir, name, BASE));
}

/** Puts a link in the place of `collection.json`, which leads nowhere, or to itself, or to the file that was there. */
export function linkManifest(folder: string, to: "nowhere" | "itself" | "the file"): void {
  const path = join(folder, "collection.json");
  const bytes = readFileSync(path);
  rmSync(path);
  if (to === "the file") writeFileSync(join(folder, "..", ".manifest"), bytes);
  symlinkSync({ nowhere: "/nowhere/at/all", itself: "collection.json", "the file": "../.manifest" }[to], path);
}

/** A manifest and slabs as another version of the format would have them, as far as their versions go. */
export function asVersion(folder: string, version: number): void {
  const path = join(folder, "collection.json");
  const manifest = readFileSync(path, "utf8");
  // The manifests of the versions before 7 had neither a version nor a checksum.
  const text =
    version < 7
      ? manifest.replace(/ {2}"format_version": \d+,\n/, "").replace(/,\n {2}"crc32c": \d+\n}\n *$/, "\n}\n")
      : sealed(manifest.replace(/"format_version": \d+/, `"format_version": ${version}`));
  JSON.parse(text);
  writeFileSync(path, text);
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".slab"))) {
    const slab = readFileSync(join(folder, name));
    slab.writeUInt32LE(version, 8);
    slab.writeUInt32LE(crc32c(slab.subarray(0, 60)), 60);
    writeFileSync(join(folder, name), slab);
  }
}
