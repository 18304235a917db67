/** What indexing and asking one repository costs, of one executable or of two that take turns. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder, signedInHome } from "../home.ts";
import { type Copy, copyTree } from "./copy.ts";
import { type PeerName, type Timing, timePeer } from "./peers.ts";
import { firstIndexes, inTurn, type RepoServer, Samples, SETTLED_MS } from "./server.ts";

/** One executable's. Milliseconds. */
export interface OwnTimes {
  svc: string;
  /** The first index of everything. */
  index: Timing;
  /** Bytes of the memory after it. */
  disk: number;
  /** Questions by their arguments beside the query; an executable that does not take them has none. */
  asked: Record<string, Timing>;
  /** The question after one file was edited. */
  edited: Timing;
}

export interface Times {
  tree: string;
  files: number;
  bytes: number;
  own: OwnTimes[];
  peers: Partial<Record<PeerName, Timing>>;
}

const FIRST_INDEXES = 5;
const ROUNDS = 9;
/** Asked in turn; what they are about hardly matters to what they cost. */
const QUERIES = [
  "where are the options of the command line read",
  "error message for a file that cannot be opened",
  "main",
  "how are results sorted before they are returned",
  "parse",
];
/** By the names in the table. */
const ASKED: Readonly<Record<string, object>> = {
  default: {},
  "with_text: true": { with_text: true },
  "form: files": { form: "files" },
  "form: grep": { form: "grep" },
  "form: windows": { form: "windows" },
  "top_k: 10": { top_k: 10 },
};

/** Measures a copy of the tree. */
export async function timeTree(
  executables: readonly string[],
  tree: string,
  log: (line: string) => void,
  notes: string[],
): Promise<Times> {
  if (process.platform !== "linux") throw new Error("repo measures other processes as only Linux lets it");
  await using ends = new AsyncDisposableStack();
  const copy = copyTree(tree, join(ends.use(scratchFolder()).path, "tree"));
  log(`${tree}: ${copy.files} files, ${(copy.bytes / 1e6).toFixed(1)} MB`);
  const homes = executables.map((svc) => ends.use(signedInHome(svc)));
  await Bun.sleep(SETTLED_MS);
  log("first indexes");
  const { servers, timings } = await firstIndexes(homes, copy.root, FIRST_INDEXES, ends);
  const disks = servers.map((server) => server.disk());
  log("questions");
  const asked = await askInTurn(servers);
  log("questions after an edit");
  const edited = await askEdited(servers, copy);
  const peers: Times["peers"] = {};
  for (const name of ["rg -c .", "git status"] as const) {
    const timing = await timePeer(name, copy.root);
    if (timing) peers[name] = timing;
    else notes.push(`${name.split(" ")[0]} is not installed here`);
  }
  const own = executables.map((svc, i) => ({
    svc,
    index: timings[i]!,
    disk: disks[i]!,
    asked: asked[i]!,
    edited: edited[i]!,
  }));
  return { tree, files: copy.files, bytes: copy.bytes, own, peers };
}

/** Nothing has changed on disk: what is asked in each way, by executable. */
async function askInTurn(servers: readonly RepoServer[]): Promise<Record<string, Timing>[]> {
  const found: Record<string, Timing>[] = servers.map(() => ({}));
  for (const [name, args] of Object.entries(ASKED)) {
    const takers: number[] = [];
    for (const [i, server] of servers.entries()) {
      if (await server.takes("svc_repo_search", { query: QUERIES[0], ...args })) takers.push(i);
    }
    // The first calls of a server are interpreted.
    for (const query of [...QUERIES, ...QUERIES, ...QUERIES]) {
      for (const i of takers) await servers[i]!.time("svc_repo_search", { query, ...args });
    }
    const samples = servers.map((server) => new Samples(server));
    for (let round = 0; round < ROUNDS; round++) {
      for (const query of QUERIES) {
        for (const i of inTurn(takers, round)) await samples[i]!.add("svc_repo_search", { query, ...args });
      }
    }
    for (const i of takers) found[i]![name] = samples[i]!.result();
  }
  return found;
}

async function askEdited(servers: readonly RepoServer[], { edited }: Copy): Promise<Timing[]> {
  const samples = servers.map((server) => new Samples(server));
  for (let edit = 0; edit < ROUNDS * QUERIES.length; edit++) {
    appendFileSync(edited, `\n// edited ${edit}\n`);
    const query = QUERIES[edit % QUERIES.length];
    for (const own of inTurn(samples, edit)) await own.add("svc_repo_search", { query });
  }
  return samples.map((own) => own.result());
}
