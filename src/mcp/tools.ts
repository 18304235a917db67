/**
 * The 19 tools as a client sees them, in one table. Argument schemas come from `tools.gen.json`, which
 * `build/tool-schemas.ts` generates from the schemas that also parse the arguments: listing the tools builds no schema
 * and reads no file.
 *
 * A description costs every client tokens in every session. It has what the tool does, when to use it, what is not
 * obvious about the arguments (the schema describes each), and how it fails. Login and runtime failures are common to
 * all.
 */
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import type { VerbName } from "../memory/requests.ts";
import schemas from "./tools.gen.json";

/** A tool without its schema. */
export interface ToolEntry {
  verb: VerbName;
  title: string;
  description: string;
  /** Whether it reports progress on request. */
  progress: boolean;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: false };
}

const READ = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;
/** Writes something new; the same call again writes more, or fails. */
const ADD = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false } as const;
/** Writes and loses nothing; the same call again changes nothing. */
const BUILD = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;
/** Deletes or replaces stored rows. */
const REPLACE = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false } as const;

const NO_COLLECTION = "ValueError if the collection does not exist";

function tool(
  verb: VerbName,
  title: string,
  annotations: ToolEntry["annotations"],
  description: string,
  progress = false,
): ToolEntry {
  return { verb, title, description, annotations, progress };
}

/** Every tool, in the order of `tools/list`. */
export const TOOLS: readonly ToolEntry[] = [
  tool(
    "search",
    "Search a collection",
    READ,
    "Find stored texts by words and by meaning, best first. Ask in your own words; names and identifiers as they are. " +
      "Use it before you answer from memory. Returns ids and metadata; set with_text for the lines that match, call " +
      `svc_get for whole texts. ${NO_COLLECTION}, if 'where' has more than one key, or if its column is not filterable.`,
  ),
  tool(
    "add",
    "Add texts",
    ADD,
    "Store what later sessions will need, one fact a text; the collection is created if absent. Put " +
      '{"scope": …} in metadata to filter on it later. Saved when it returns. Omitted ids are generated and ' +
      "returned. KeyError if an id exists (nothing is written): use svc_upsert to replace.",
    true,
  ),
  tool(
    "create_collection",
    "Create a collection",
    BUILD,
    "Create a collection with its own partition key, filter columns or lexical search; otherwise svc_add creates " +
      "one. It is on disk with the first write to it. An existing one of the same schema is returned; ValueError if " +
      "the schema differs or the name is not safe.",
  ),
  tool(
    "list_collections",
    "List collections",
    READ,
    "Names of all saved collections, and what those that have a description are for. Use it to find out what memory " +
      "there is. OSError if it cannot be read.",
  ),
  tool(
    "stats",
    "Collection statistics",
    READ,
    "Counters and settings of a collection: rows, deleted rows, indexes, sizes. Use it to decide on svc_compact " +
      `or an index. ${NO_COLLECTION}.`,
  ),
  tool(
    "upsert",
    "Add or replace texts",
    REPLACE,
    "Store texts under the given ids, replacing rows that exist with their metadata; the collection is created if " +
      "absent. Use it for facts that change. The same id twice in one call: the last wins. Saved when it returns. ValueError if the " +
      "lengths of texts, ids and metadata differ.",
    true,
  ),
  tool(
    "update",
    "Replace texts of existing rows",
    REPLACE,
    "Replace text (and metadata, if given) of rows that exist. Use it to correct what is stored, svc_upsert where a " +
      "row may be missing. ValueError if the collection or any id does not exist: nothing is written then.",
  ),
  tool(
    "delete",
    "Delete rows",
    REPLACE,
    "Delete rows by id, where the user wants them gone; from disk with svc_compact. Unknown ids are ignored. Returns " +
      `how many rows were live. ${NO_COLLECTION}.`,
  ),
  tool(
    "ids",
    "List row ids",
    READ,
    "Ids of live rows in the order they were stored, optionally filtered. Page through large collections with " +
      `limit and after (the last id). ${NO_COLLECTION} or the filter column is not declared.`,
  ),
  tool(
    "count",
    "Count rows",
    READ,
    `Number of live rows, optionally filtered. ${NO_COLLECTION} or the filter column is not declared.`,
  ),
  tool(
    "get",
    "Get rows by id",
    READ,
    "Metadata and text of rows by exact id, in the order asked; an unknown id gives found: false. Use it after a " +
      `search. A text that goes on has next_offset, the next call's offset. ${NO_COLLECTION}.`,
  ),
  tool(
    "search_lexical",
    "Search by words",
    READ,
    "Find texts that contain the query's words, ranked by BM25, with scores. Use it for names, codes and exact " +
      "terms. RuntimeError if the collection was created without lexical: true, or svc_build_lexical has not been " +
      "run.",
  ),
  tool(
    "compact",
    "Compact a collection",
    BUILD,
    "Remove deleted and replaced rows from disk for good: the user cannot undo them any more. Answers do not change. " +
      `Use it where rows must be gone; svc compacts by itself. ${NO_COLLECTION}; OSError if the disk is full (the last saved state stays).`,
    true,
  ),
  tool(
    "build_ivf",
    "Build a vector index",
    BUILD,
    "Build an approximate index for each partition of at least min_rows rows, calibrated to the recall floor. Use " +
      "it when searches of a large collection are slow; smaller partitions stay exact. partitions says how many have " +
      `an index. ${NO_COLLECTION}.`,
    true,
  ),
  tool(
    "build_lexical",
    "Build a word index",
    BUILD,
    "Build the BM25 index that svc_search_lexical needs; svc_search needs none. " +
      "Later writes keep it fresh. RuntimeError if the collection was created without lexical: true.",
    true,
  ),
  tool(
    "tune",
    "Tune a collection",
    ADD,
    "Measure a collection, plan its fastest index settings and, unless dry_run is true, apply them. Returns the " +
      `plan with its reasons. ${NO_COLLECTION}.`,
    true,
  ),
  tool(
    "index_repo",
    "Index a repository",
    BUILD,
    "Index the text files of a source tree (honours .gitignore; skips binaries and credentials). Run again, it reads " +
      "only what changed, or goes on where a limit stopped it (truncated: true); mode, lines and max_file_bytes " +
      "stay. svc_repo_search does it by itself. ValueError if the path is not a directory or never indexed (/, " +
      "the home directory), without a workspace, or if the collection has another partition key.",
    true,
  ),
  tool(
    "repo_search",
    "Search the repository",
    BUILD,
    "Search the code and documents of the workspace, bringing its index up to date first. Use it to find where " +
      "something is defined or done: natural questions, names, paths. Each hit is a file with the lines to open it " +
      "at, the symbol there, and its best lines; more counts further files. ValueError if there is no workspace.",
    true,
  ),
  tool(
    "workspace_info",
    "Workspace information",
    READ,
    "Which workspace svc_repo_search covers, what named it and why (source, reason), its repo id, its collection, " +
      "and how many files are indexed. workspace is null where there is none. ValueError if the configured one is " +
      "gone or never indexed.",
  ),
];

/**
 * Which tools a server offers, as `svc mcp --tools` takes it. `core` is what an agent needs every day, in a third of
 * the tokens; `read` is what changes nothing that is stored (the index of a repository follows its files all the same).
 */
export const TOOL_SETS = ["all", "core", "read"] as const;
export type ToolSet = (typeof TOOL_SETS)[number];

const CORE: ReadonlySet<VerbName> = new Set([
  "search",
  "add",
  "list_collections",
  "upsert",
  "delete",
  "get",
  "repo_search",
]);

/** Whether a set has the tool. */
export function isOffered({ verb, annotations }: ToolEntry, set: ToolSet): boolean {
  if (set === "core") return CORE.has(verb);
  return set === "all" || annotations.readOnlyHint || verb === "repo_search";
}

/** The tools of a set, in the order of `tools/list`. */
export function toolsOf(set: ToolSet): readonly ToolEntry[] {
  return TOOLS.filter((tool) => isOffered(tool, set));
}

/** Prefix of every tool's name. */
const PREFIX = "svc_";

const byName = new Map(TOOLS.map((entry) => [PREFIX + entry.verb, entry]));

/** The tool of that name. Looked up in a Map, so that `constructor` is not a tool. */
export function findTool(name: string): ToolEntry | undefined {
  return byName.get(name);
}

/** The answer to `tools/list`. */
export function listTools(set: ToolSet = "all"): Tool[] {
  return toolsOf(set).map(({ verb, title, description, annotations }) => ({
    name: PREFIX + verb,
    title,
    description,
    inputSchema: schemas[verb] as Tool["inputSchema"],
    annotations,
  }));
}
