/**
 * The 19 tools as a client sees them, in one table. Argument schemas come from `tools.gen.json`, which
 * `build/tool-schemas.ts` generates from the schemas that also parse the arguments: listing the tools builds no schema
 * and reads no file.
 *
 * A description costs every client tokens in every session. It has what the tool does, when to use it, what is not
 * obvious about the arguments (the schema describes each), and how it fails. Login and runtime failures are common to
 * all, and so is that a collection does not exist.
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
      'Use it before you answer from memory. collection "*" searches all. with_text: the lines that match; svc_get reads ' +
      "whole texts. ValueError if 'where' has more than one key, or a column that is not filterable.",
  ),
  tool(
    "add",
    "Add texts",
    ADD,
    "Store what later sessions will need, one fact a text; the collection is created if absent. Put " +
      '{"scope": …} in metadata to filter on it later. Saved when it returns. KeyError if an id exists (nothing is ' +
      "written): svc_upsert replaces.",
    true,
  ),
  tool(
    "create_collection",
    "Create a collection",
    BUILD,
    "Only for a partition key, filter columns or lexical search of its own: svc_add creates others. It is on disk " +
      "with the first write to it. ValueError if one of another schema exists.",
  ),
  tool(
    "list_collections",
    "List collections",
    READ,
    "The collections that there are: their rows, scopes, last write, and what they are for.",
  ),
  tool(
    "stats",
    "Collection statistics",
    READ,
    "Counters and settings of a collection: rows, deleted rows, indexes, sizes.",
  ),
  tool(
    "upsert",
    "Add or replace texts",
    REPLACE,
    "Store texts under the given ids, replacing rows that exist with their metadata; the collection is created if " +
      "absent. Use it for facts that change. The same id twice: the last wins. Saved when it returns.",
    true,
  ),
  tool(
    "update",
    "Replace texts of existing rows",
    REPLACE,
    "Correct what is stored: replaces text (and metadata, if given) of rows that exist. ValueError if an id does not " +
      "exist: nothing is written then.",
  ),
  tool(
    "delete",
    "Delete rows",
    REPLACE,
    "Delete rows by id, where the user wants them gone; from disk with svc_compact. Returns how many rows were live.",
  ),
  tool(
    "ids",
    "List row ids",
    READ,
    "Ids of live rows in the order they were stored. Page through large collections with limit and after (the last id).",
  ),
  tool("count", "Count rows", READ, "Number of live rows."),
  tool(
    "get",
    "Get rows by id",
    READ,
    "Metadata and text of rows by exact id, in the order asked; an unknown id gives found: false. A text that goes on " +
      "has next_offset, the next call's offset.",
  ),
  tool(
    "search_lexical",
    "Search by words",
    READ,
    "Find texts that contain the query's words, ranked by BM25, with scores. RuntimeError if the collection was created " +
      "without lexical: true, or svc_build_lexical has not been run.",
  ),
  tool(
    "compact",
    "Compact a collection",
    BUILD,
    "Remove deleted and replaced rows from disk for good: the user cannot undo them any more. Only where rows must be " +
      "gone: svc compacts by itself.",
    true,
  ),
  tool(
    "build_ivf",
    "Build a vector index",
    BUILD,
    "Build an approximate index for each partition of at least min_rows rows, calibrated to the recall floor. Rarely " +
      "needed: svc searches fast without it and keeps one up to date by itself.",
    true,
  ),
  tool(
    "build_lexical",
    "Build a word index",
    BUILD,
    "Build the BM25 index of svc_search_lexical, once; svc keeps it up to date by itself, and svc_search needs none.",
    true,
  ),
  tool(
    "tune",
    "Tune a collection",
    ADD,
    "Measure a collection, plan its fastest index settings and, unless dry_run is true, apply them. Rarely needed: svc " +
      "maintains itself. Returns the plan with its reasons.",
    true,
  ),
  tool(
    "index_repo",
    "Index a repository",
    BUILD,
    "Index the text files of a source tree (honours .gitignore; skips binaries and credentials). svc_repo_search does " +
      "it by itself. Again, it reads only what changed, or goes on where a limit stopped it (truncated: true). " +
      "ValueError without a workspace, or for a path that is not a directory or never indexed (/, the home directory).",
    true,
  ),
  tool(
    "repo_search",
    "Search the repository",
    BUILD,
    "Search the code and documents of the workspace, bringing its index up to date first. Use it to find where " +
      "something is defined or done: natural questions, names, paths. Each hit is a file with the lines to open it " +
      "at, the symbol there, and its best lines. ValueError without a workspace.",
    true,
  ),
  tool(
    "workspace_info",
    "Workspace information",
    READ,
    "Which workspace svc_repo_search covers and why, its collection, and how many files are indexed.",
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
  "update",
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

/** What `with_text` means where searches show pieces of texts unless a call says it. */
const TEXT_IN_PIECES = { type: "boolean", description: "Omitted: pieces of texts. true: more of them, false: none." };

/** The answer to `tools/list`. @param withText searches that do not say with_text show pieces of texts */
export function listTools(set: ToolSet = "all", withText = false): Tool[] {
  return toolsOf(set).map(({ verb, title, description, annotations }) => ({
    name: PREFIX + verb,
    title,
    description,
    inputSchema: withText ? inPieces(verb) : (schemas[verb] as Tool["inputSchema"]),
    annotations: published(annotations),
  }));
}

function inPieces(verb: VerbName): Tool["inputSchema"] {
  const schema = schemas[verb] as Tool["inputSchema"];
  if (verb !== "search" && verb !== "search_lexical") return schema;
  return { ...schema, properties: { ...schema.properties, with_text: TEXT_IN_PIECES } };
}

/** Without hints that the protocol gives no meaning to beside `readOnlyHint`, or that are its defaults. */
function published({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint }: ToolEntry["annotations"]) {
  if (readOnlyHint) return { readOnlyHint, openWorldHint };
  return { destructiveHint, ...(idempotentHint && { idempotentHint }), openWorldHint };
}
