/**
 * A process that swaps the files of an install with those of another one, and back, until its stdin ends: by rename, by
 * link, in place, and whole folders. At the end the install is whole; how often each was done goes to stdout as JSON.
 *
 *   bun swapper.ts <install> <copy of it> <evil install> <seed>     all on one file system
 */
import {
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { exchangePaths } from "../../../ffi/system/calls.ts";
import { libraryName } from "../../../src/trust/runtime/bundle-manifest.ts";
import { random } from "../../random.ts";
import { tag } from "./evil.ts";

const [install, good, evil, seed] = process.argv.slice(2) as [string, string, string, string];
const PAUSE_MS_MAX = 4;
const REST_MS_MAX = 10;
const libraries = [libraryName("kernel", tag), libraryName("runtime", tag)];
const signed = ["telys_manifest.json", "telys_manifest.sig"];
const aside = `${install}.aside`;
const next = random(Number(seed));
const upTo = (most: number) => next() * most;
const pause = () => Bun.sleepSync(upTo(PAUSE_MS_MAX));
const any = (names: string[]) => names[Math.floor(upTo(names.length))]!;

/** Renames a second name of a file over the install's. */
function put(from: string, name: string): void {
  linkSync(join(from, name), aside);
  renameSync(aside, join(install, name));
  rmSync(aside, { force: true }); // rename(2) of two names of one file keeps both
}

function swap(...names: string[]): void {
  for (const name of names) {
    put(evil, name);
    pause();
  }
  for (const name of names) put(good, name);
}

/** The folder away, something else in its place, and back. */
function instead(take: () => void, giveBack: () => void): void {
  renameSync(install, aside);
  pause();
  take();
  pause();
  giveBack();
  renameSync(aside, install);
}

const WAYS: Record<string, () => void> = {
  library: () => swap(any(libraries)),
  "both libraries": () => swap(...libraries),
  manifest: () => swap(signed[0]!),
  signature: () => swap(signed[1]!),
  "manifest and signature": () => swap(...signed),
  "all four": () => swap(...libraries, ...signed),
  "link to a file"() {
    const name = any([...libraries, ...signed]);
    symlinkSync(join(evil, name), aside);
    renameSync(aside, join(install, name));
    pause();
    put(good, name);
  },
  "cut, then written over"() {
    const name = any([...libraries, ...signed]);
    const path = join(install, name);
    copyFileSync(path, aside); // not the bytes that `good` names too
    renameSync(aside, path);
    truncateSync(path, Math.floor(upTo(statSync(path).size)));
    pause();
    writeFileSync(path, readFileSync(join(evil, name)), { flag: "r+" });
    pause();
    put(good, name);
  },
  "folders exchanged"() {
    exchangePaths(install, evil);
    pause();
    exchangePaths(install, evil);
  },
  "folder renamed"() {
    instead(
      () => renameSync(evil, install),
      () => renameSync(install, evil),
    );
  },
  "link to a folder"() {
    instead(
      () => symlinkSync(evil, install),
      () => unlinkSync(install),
    );
  },
};

let isOver = false;
const ended = new Response(Bun.stdin.stream()).text().then(() => {
  isOver = true;
});
const done: Record<string, number> = {};
while (!isOver) {
  const way = any(Object.keys(WAYS));
  WAYS[way]!();
  done[way] = (done[way] ?? 0) + 1;
  await Bun.sleep(upTo(REST_MS_MAX));
}
await ended;
console.log(JSON.stringify(done));
