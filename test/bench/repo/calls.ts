/**
 * What a call costs that finds everything new, no change or few changes, beside git and ripgrep over the same files in
 * the same run. Two executables take turns.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Home, scratchFolder, signedInHome } from "../home.ts";
import { type Copy, copyTree, git, treeAt } from "./copy.ts";
import { changeTen, editOne, type Ten, type Written } from "./edits.ts";
import { type Generated, generateTree } from "./generate.ts";
import { medianOf, type Timing, timeOnce, timePeer } from "./peers.ts";
import { firstIndexes, inTurn, QUESTION, type RepoServer, Samples, SETTLED_MS } from "./server.ts";
import { changedBetween, stateBelow } from "./written.ts";

/** Where the server is: in a work tree with git, in one without a git to run, in a linked work tree. */
export const PLACES = ["git", "no-git", "linked"] as const;
export type Place = (typeof PLACES)[number];

/** The first index of everything into an empty memory. */
interface First {
  index: Timing;
  /** The most memory of the process, and the memory on disk; bytes. */
  peak: number;
  disk: number;
}

/** Calls that find no change. */
interface Same {
  /** Of `svc_index_repo`, and of `svc_repo_search`. */
  check: Timing;
  question: Timing;
  /** Files and folders of the home that they wrote. */
  touched: number;
}

/** One executable's. */
export interface OwnCalls extends First, Same, Ten {
  svc: string;
  inPlace: Written;
  byRename: Written;
}

export interface Calls {
  tree: string;
  place: Place;
  files: number;
  bytes: number;
  own: OwnCalls[];
  status: Timing;
  /** `rg -j1 -c .`; undefined where it is not installed. */
  rg: Timing | undefined;
}

export interface CallsOptions {
  executables: readonly string[];
  /** A work tree to copy, or what to make. */
  tree: string | Generated;
  place: Place;
}

const ROUNDS = 15;
/** Bytes of a tree above which its first index is made once for each executable. */
const LARGE = 50e6;
const FIRST_INDEXES = 3;

/** Measures. @throws Error where a call or git fails */
export async function measureCalls(options: CallsOptions, log: (line: string) => void): Promise<Calls> {
  if (process.platform !== "linux") throw new Error("repo measures other processes as only Linux lets it");
  const { executables, tree, place } = options;
  await using ends = new AsyncDisposableStack();
  const scratch = ends.use(scratchFolder()).path;
  const name = typeof tree === "string" ? tree : `made of seed ${tree.seed}`;
  log(`${name}, ${place}: the tree`);
  const copy = treeIn(scratch, options);
  const homes = executables.map((svc) => ends.use(homeAt(svc, scratch, place)));
  await Bun.sleep(SETTLED_MS);
  log(`first indexes of ${copy.files} files, ${(copy.bytes / 1e6).toFixed(1)} MB`);
  const rg = await timePeer("rg -j1 -c .", copy.root, FIRST_INDEXES);
  const rounds = copy.bytes > LARGE ? 1 : FIRST_INDEXES;
  const { servers, timings } = await firstIndexes(homes, copy.root, rounds, ends);
  const first = servers.map((server, i) => ({ index: timings[i]!, peak: server.peak(), disk: server.disk() }));
  log("calls without a change");
  const { same, status } = await unchanged(servers, homes, copy);
  log("calls after edits");
  const ten = await changeTen(servers, copy);
  const inPlace = await editOne(servers, copy, "in place");
  const byRename = await editOne(servers, copy, "by rename");
  const own = executables.map((svc, i) => {
    return { svc, ...first[i]!, ...same[i]!, ...ten[i]!, inPlace: inPlace[i]!, byRename: byRename[i]! };
  });
  return { tree: name, place, files: copy.files, bytes: copy.bytes, own, status, rg };
}

/** A committed work tree, and where asked for one that is linked to it. */
function treeIn(scratch: string, { tree, place }: CallsOptions): Copy {
  const root = join(scratch, "tree");
  mkdirSync(root);
  if (typeof tree === "string") copyTree(tree, root);
  else generateTree(root, tree);
  git(root, "-c", "user.name=b", "-c", "user.email=b@example.invalid", "commit", "-qm", "all");
  if (place !== "linked") return treeAt(root);
  const linked = join(scratch, "linked");
  git(root, "worktree", "add", "-q", "--detach", linked);
  return treeAt(linked);
}

/** A home whose servers find programs, or none. */
function homeAt(svc: string, scratch: string, place: Place): Home {
  const home = signedInHome(svc);
  return place === "no-git" ? { ...home, env: { ...home.env, PATH: join(scratch, "no-programs") } } : home;
}

/** Checks, questions and git in turns, after some that are not counted. */
async function unchanged(
  servers: readonly RepoServer[],
  homes: readonly Home[],
  { root }: Copy,
): Promise<{ same: Same[]; status: Timing }> {
  for (let warm = 0; warm < ROUNDS; warm++) {
    for (const server of servers) await server.time("svc_repo_search", QUESTION);
    for (const server of servers) await server.time("svc_index_repo", {});
  }
  await timeOnce("git status", root);
  const before = homes.map(({ dir }) => stateBelow(dir));
  const statuses: Timing[] = [];
  const round = async (samples: readonly Samples[], name: string, args: object) => {
    for (let i = 0; i < ROUNDS; i++) {
      for (const own of inTurn(samples, i)) await own.add(name, args);
      const status = await timeOnce("git status", root);
      if (status) statuses.push(status);
    }
    return samples.map((own) => own.result());
  };
  const sampled = () => servers.map((server) => new Samples(server));
  const checks = await round(sampled(), "svc_index_repo", {});
  const questions = await round(sampled(), "svc_repo_search", QUESTION);
  const touched = homes.map(({ dir }, i) => changedBetween(before[i]!, stateBelow(dir)));
  const same = servers.map((_, i) => ({ check: checks[i]!, question: questions[i]!, touched: touched[i]! }));
  return { same, status: medianOf(statuses) };
}
