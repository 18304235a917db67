/** Options of `npm run bench -- repo`. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { SVC } from "../home.ts";
import { listOf, type ParsedArguments, wholeNumber } from "../options.ts";
import { PLACES, type Place } from "./calls.ts";
import { type EarlierTree, readEarlier } from "./earlier.ts";
import type { Generated } from "./generate.ts";

/** How to run. */
export interface RepoOptions {
  /** Executables that take turns; the last one is judged, and the only one that is asked for quality. */
  executables: string[];
  /** The folder whose copy is indexed for times; undefined: no times. */
  tree?: string | undefined;
  /** What calls are measured on: the same folder, or a tree that is made; undefined: no calls. */
  calls?: { tree: string | Generated; places: Place[] } | undefined;
  /** Folders that trees.py made, with `tree`, for quality. */
  trees: string[];
  /** JSON file of the figures. */
  json?: string | undefined;
  /** What an earlier run wrote to such a file, to be compared with. */
  against?: EarlierTree[] | undefined;
  /** Whether every figure is printed as a line. */
  isJson: boolean;
}

/** Its options. */
export const REPO_OPTIONS = [
  ...["--tree", "--trees", "--svc", "--json", "--against"],
  ...["--generate", "--ignored", "--untracked", "--seed", "--places"],
] as const;

const CHECKOUT = join(import.meta.dir, "../../..");

/** Without `--tree` and `--trees` times are those of this checkout. @throws Error with a sentence for the user */
export function repoOptions({ given, isJson }: Pick<ParsedArguments, "given" | "isJson">): RepoOptions {
  const trees = (listOf(given, "--trees") ?? []).map((dir) => resolve(dir));
  for (const dir of trees) {
    const missing = ["corpus.jsonl", "queries.jsonl", "qrels.tsv", "tree"].find((name) => !existsSync(join(dir, name)));
    if (missing) throw new Error(`${dir} has no ${missing}: trees.py make GIT_DIR ${dir} --tree makes such a folder`);
  }
  const executables = (listOf(given, "--svc") ?? [SVC]).map((path) => resolve(path));
  for (const path of executables) if (!isFile(path)) throw new Error(`${path} is not a file: --svc names executables`);
  if (executables.length > 2) throw new Error("--svc takes one executable or two, BEFORE,AFTER");
  const [named, generated] = [given.get("--tree"), generatedBy(given)];
  if (named && generated) throw new Error("--tree names a folder, --generate makes one: give one of them");
  const tree = named ?? (trees.length === 0 && !generated ? CHECKOUT : undefined);
  if (tree !== undefined && !existsSync(join(tree, ".git"))) throw new Error(`${tree} is not a git work tree`);
  const against = given.get("--against");
  return {
    executables,
    tree: tree && resolve(tree),
    calls: callsOf(given, generated ?? (tree && resolve(tree))),
    trees,
    json: given.get("--json"),
    against: against === undefined ? undefined : readEarlier(against),
    isJson,
  };
}

/** The tree that `--generate` asks for. */
function generatedBy(given: ParsedArguments["given"]): Generated | undefined {
  const files = wholeNumber(given, "--generate", 100);
  const [ignored, untracked] = [wholeNumber(given, "--ignored", 0), wholeNumber(given, "--untracked", 0)];
  const seed = wholeNumber(given, "--seed", 0);
  if (files !== undefined) return { files, ignored: ignored ?? 0, untracked: untracked ?? 0, seed: seed ?? 1 };
  const useless = ["--ignored", "--untracked", "--seed"].find((option) => given.has(option));
  if (useless) throw new Error(`${useless} is about the tree that --generate makes: give both`);
  return undefined;
}

function callsOf(given: ParsedArguments["given"], tree: string | Generated | undefined): RepoOptions["calls"] {
  const named = listOf(given, "--places") ?? ["git"];
  const unknown = named.find((name) => !PLACES.includes(name as Place));
  if (unknown) throw new Error(`--places takes ${PLACES.join(", ")}, not ${unknown}`);
  return tree ? { tree, places: named as Place[] } : undefined;
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
