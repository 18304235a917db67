/** Files and history of a clone at one commit. Nothing is checked out: a bare clone does as well. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Longer files are tables or what a program wrote. */
const FILE_MAX = 4_000_000;
/** Files of one call to git, whose whole answer is held. */
const BATCH = 200;

export interface Clone {
  directory: string;
  commit: string;
}

/** The clone of a repository under `folder`. @throws Error that says how to make it */
export function openClone(folder: string, repository: string, commit: string): Clone {
  const place = join(folder, repository.replace("/", "+"));
  const directory = [place, join(place, ".git")].find((path) => existsSync(join(path, "HEAD")));
  const get = `git clone https://github.com/${repository} ${place}`;
  if (!directory) throw new Error(`there is no clone of ${repository}: ${get} && git -C ${place} checkout ${commit}`);
  const clone = { directory, commit };
  if (git(clone, ["rev-parse", "--verify", "--quiet", `${commit}^{commit}`]) === undefined) {
    throw new Error(
      `the clone of ${repository} lacks ${commit}: git -C ${place} fetch origin ${commit} && git -C ${place} checkout ${commit}`,
    );
  }
  return clone;
}

function git(clone: Clone, args: string[], stdin?: Uint8Array): Buffer | undefined {
  // What a partial clone lacks is left out, not fetched: the answer must not depend on what a server says today.
  const env = { ...process.env, GIT_NO_LAZY_FETCH: "1" };
  const { stdout, success } = Bun.spawnSync(["git", `--git-dir=${clone.directory}`, ...args], {
    stdin: stdin ?? "ignore",
    stderr: "ignore",
    env,
  });
  return success ? stdout : undefined;
}

export interface Blob {
  id: string;
  path: string;
}

export function listFiles(clone: Clone, wanted: (path: string) => boolean): Blob[] {
  const listed = git(clone, ["ls-tree", "-r", "-z", clone.commit]);
  if (!listed) throw new Error(`git cannot list ${clone.commit} in ${clone.directory}`);
  const blobs: Blob[] = [];
  for (const line of listed.toString().split("\0")) {
    const [meta, path] = line.split("\t");
    const [mode, , id] = meta!.split(" ");
    if (mode?.startsWith("100") && path && wanted(path)) blobs.push({ id: id!, path });
  }
  return blobs;
}

/** What is in the files, in their order; `missing` gets those that the clone does not hold. */
export function* readFiles(clone: Clone, blobs: Blob[], missing: string[]): Generator<{ path: string; bytes: Buffer }> {
  for (let from = 0; from < blobs.length; from += BATCH) {
    const batch = blobs.slice(from, from + BATCH);
    const asked = new TextEncoder().encode(batch.map(({ id }) => `${id}\n`).join(""));
    const answer = git(clone, ["cat-file", "--batch"], asked);
    if (!answer) throw new Error(`git cannot read files of ${clone.directory}`);
    let at = 0;
    for (const { path } of batch) {
      const end = answer.indexOf(10, at);
      const [, kind, size] = answer.toString("latin1", at, end).split(" ");
      at = end + 1;
      if (kind !== "blob") {
        missing.push(path);
        continue;
      }
      const bytes = answer.subarray(at, at + Number(size));
      at += Number(size) + 1;
      if (bytes.length <= FILE_MAX) yield { path, bytes };
    }
  }
}

/** Messages of the last `count` commits, newest first. */
export function messages(clone: Clone, count: number): string[] {
  const log = git(clone, ["log", "-n", String(count), "--no-merges", "--format=%s%n%b%x1e", clone.commit]);
  if (!log) throw new Error(`git cannot read the history of ${clone.directory}`);
  return log.toString().split("\x1e");
}
