/**
 * The arguments of the 19 verbs: names, defaults, the function that reads each, and its JSON Schema with the
 * description that a client shows.
 * `arguments.ts` parses with them, `mcp/tools.gen.json` is generated from them.
 *
 * What is published leaves out bounds that no model comes near (10,000 rows, top_k 100,000): they cost every client
 * tokens. A call beyond them fails with the bound in its message.
 *
 * Each schema is built when its verb is first called: all 19 take several milliseconds, for which neither `initialize`
 * nor `tools/list` may wait. zod/mini builds them in a third of zod's time.
 */
import * as z from "zod/mini";
import type { Watch } from "../../ffi/ty_collection.ts";
import { readId, readIds } from "../checks/ids.ts";
import { readMetadata } from "../checks/metadata.ts";
import { DEFAULT_PARTITION_KEY, REPO_COLLECTION, readPartitionKey } from "../checks/names.ts";
import {
  B,
  COUNT,
  IVF_MIN_ROWS_DEFAULT,
  K1,
  POSITIVE,
  RECALL,
  RECALL_DEFAULT,
  readMaxBytes,
  SECONDS,
  TOP_K,
} from "../checks/numbers.ts";
import { RECENCY_WEIGHT_MAX, readRecency } from "../checks/recency.ts";
import { checked, flag, number, string } from "../checks/schema.ts";
import { readChoice, readString, readStrings } from "../checks/strings.ts";
import { readWrittenTexts } from "../checks/texts.ts";
import { readTime } from "../checks/times.ts";
import { readWhere } from "../checks/where.ts";
import { ValueError } from "../errors.ts";
import {
  ANSWER_BYTES_DEFAULT,
  FILTER_COLUMNS_MAX,
  REPO_ANSWER_BYTES_DEFAULT,
  ROWS_PER_CALL_MAX,
  SUPERSEDED_PER_CALL_MAX,
} from "../limits.ts";
import type { IndexWork } from "../repo/indexing/options.ts";
import { FORMS } from "../repo/show/forms.ts";
import type * as payload from "./payloads.ts";
import type { ClientRoots } from "./repos/workspaces.ts";

export type { IndexWork } from "../repo/indexing/options.ts";
export type * from "./payloads.ts";
export type { ClientRoots } from "./repos/workspaces.ts";

const CHUNK_MODES = ["windowed", "file"] as const;
const CALL = { max: ROWS_PER_CALL_MAX };
const strings = { type: "array", items: { type: "string" } };

const switched = (fallback: boolean, description?: string) => z._default(flag(description), fallback);
const collection = () => string("Its name.");
const query = () => string("What to look for, in plain words.");
/** Hits of a search, and files of a search in a repository, that names no number. */
const TOP_K_DEFAULT = 5;

const top_k = () => z._default(number(TOP_K, "Maximum number of hits."), TOP_K_DEFAULT);
const where = () => {
  const description = 'One column and its value: {"scope": "work"}.';
  return z.optional(checked(readWhere, { type: "object", maxProperties: 1, description }));
};
const recency = () =>
  z.optional(
    checked((value, name) => readRecency(value, name, "half_life_days"), {
      type: "object",
      properties: {
        field: { type: "string" },
        half_life_days: { type: "number" },
        weight: { type: "number", maximum: RECENCY_WEIGHT_MAX },
        now: { type: "string" },
      },
      required: ["field", "half_life_days", "weight"],
      description: "Prefer newer rows: adds weight × 2^(-age / half-life). field: updated, created or of metadata.",
    }),
  );
const with_times = () => switched(false, "Return when hits were created and updated.");
const with_neighbours = () => switched(false, "Return the turns beside hits that are turns of a conversation.");
const time = (description: string) => z.optional(checked(readTime, { type: "string", description }));
const with_text = () => switched(false, "Return each hit's text, or the passage that fits best.");
const after = () => z.optional(string("Continue an answer from its `next`."));
const max_bytes = (fallback = ANSWER_BYTES_DEFAULT) =>
  z._default(
    checked(readMaxBytes, { type: "integer", description: "Maximum bytes of an answer; 0: no limit." }),
    fallback,
  );
/** The arguments of a verb, and the one that all of them have. */
const request = <T extends z.core.$ZodLooseShape>(shape: T) => z.strictObject({ ...shape, max_bytes: max_bytes() });
const texts = () =>
  checked((value, name) => readWrittenTexts(value, name, { ...CALL, min: 1 }), {
    ...strings,
    description: "The documents.",
  });
const ids = (description?: string) => checked((value, name) => readIds(value, name, CALL), { ...strings, description });
const metadata = (description: string) => {
  const json = { type: "array", items: { type: "object" }, description };
  return z.optional(checked((value, name) => readMetadata(value, name, CALL), json));
};
const supersedes = () =>
  z.optional(
    checked((value, name) => readIds(value, name, { max: SUPERSEDED_PER_CALL_MAX }), {
      ...strings,
      description: "Ids of rows that the first text replaces.",
    }),
  );
const skip_duplicates = () => z.optional(flag("Add no text that is there already."));
const partition_by = (description: string) =>
  z._default(checked(readPartitionKey, { type: "string", description }), DEFAULT_PARTITION_KEY);

/** A path that is not empty: an empty one would be the working directory. @throws ValueError */
function readPath(value: unknown, name: string): string {
  if (value === "") throw new ValueError(`${name} is empty: name a directory, or leave it out`);
  return readString(value, name);
}

/** One schema a verb, built on first use and kept. */
export const SCHEMAS = {
  search: once(() =>
    request({
      collection: string("Its name; *: all."),
      query: query(),
      top_k: top_k(),
      where: where(),
      with_text: with_text(),
      with_times: with_times(),
      with_neighbours: with_neighbours(),
      with_score: switched(false, "Return scores."),
      after: after(),
      recency: recency(),
    }),
  ),
  add: once(() =>
    request({
      collection: collection(),
      texts: texts(),
      ids: z.optional(ids("One new id per text; generated when omitted.")),
      metadata: metadata("One object per text."),
      skip_duplicates: skip_duplicates(),
      supersedes: supersedes(),
    }),
  ),
  create_collection: once(() =>
    request({
      name: string("Name of the new collection."),
      partition_by: partition_by("Metadata column that groups rows; always filterable."),
      filter_columns: z._default(
        checked((value, name) => readStrings(value, name, { max: FILTER_COLUMNS_MAX }), {
          ...strings,
          description: "Further metadata columns that `where` may name.",
        }),
        [],
      ),
      lexical: switched(false, "Allow svc_search_lexical, once svc_build_lexical has run."),
    }),
  ),
  list_collections: once(() => request({ after: after() })),
  stats: once(() => request({ collection: collection() })),
  upsert: once(() =>
    request({
      collection: collection(),
      texts: texts(),
      ids: z.nullable(ids("One id per text; svc_add makes new ones.")),
      metadata: metadata("One object per text."),
      skip_duplicates: skip_duplicates(),
      supersedes: supersedes(),
      partition_by: partition_by("Partition key, where this call creates the collection."),
    }),
  ),
  update: once(() =>
    request({
      collection: collection(),
      texts: texts(),
      ids: ids("One existing id per text."),
      metadata: metadata("One object per text; omitted: metadata stays."),
    }),
  ),
  delete: once(() => request({ collection: collection(), ids: ids("Ids to delete; unknown ones are ignored.") })),
  ids: once(() =>
    request({
      collection: collection(),
      where: where(),
      limit: z.optional(number(POSITIVE, "Maximum number of ids; omitted: all.")),
      after: z.optional(checked(readId, { type: "string", description: "Continue after this id." })),
      since: time("Only rows updated then or later: ISO 8601, or milliseconds since 1970."),
      until: time("Only rows updated before this time."),
      newest: z.optional(number(POSITIVE, "Only the N last updated, latest first.")),
    }),
  ),
  count: once(() => request({ collection: collection(), where: where() })),
  get: once(() =>
    request({
      collection: collection(),
      ids: ids("Ids to look up; rows come in this order."),
      with_metadata: switched(true, "Return metadata."),
      with_text: switched(true, "Return texts."),
      offset: z._default(number(COUNT, "Byte at which texts begin."), 0),
      after: after(),
    }),
  ),
  search_lexical: once(() =>
    request({
      collection: collection(),
      query: query(),
      top_k: top_k(),
      where: where(),
      explain: switched(false, "Also return what each term contributed."),
      with_text: with_text(),
      with_times: with_times(),
      with_neighbours: with_neighbours(),
      after: after(),
    }),
  ),
  compact: once(() => request({ collection: collection() })),
  build_ivf: once(() =>
    request({
      collection: collection(),
      min_rows: z._default(number(COUNT, "Partitions with fewer rows stay exact."), IVF_MIN_ROWS_DEFAULT),
      target_recall: z._default(
        number(RECALL, "Recall floor, calibrated on held-out rows: it holds for queries like the rows."),
        RECALL_DEFAULT,
      ),
    }),
  ),
  build_lexical: once(() =>
    request({
      collection: collection(),
      k1: z.optional(number(K1, "BM25 term saturation.")),
      b: z.optional(number(B, "BM25 length normalisation.")),
    }),
  ),
  tune: once(() =>
    request({
      collection: collection(),
      dry_run: z.optional(flag("true: plan only; false: always apply; omitted: apply if it gains.")),
    }),
  ),
  index_repo: once(() =>
    request({
      path: z.optional(
        checked(readPath, {
          type: "string",
          minLength: 1,
          description: "Folder to index; omitted: the workspace.",
        }),
      ),
      collection: z._default(string("Collection to index into."), REPO_COLLECTION),
      // What is not given of these is as the repository was indexed before.
      mode: z.optional(
        checked((value, name) => readChoice(value, name, CHUNK_MODES), {
          type: "string",
          enum: CHUNK_MODES,
          description: "Overlapping windows of lines (at first), or one chunk per file.",
        }),
      ),
      window_lines: z.optional(number(POSITIVE, "Lines in a window; at first 48.")),
      window_overlap_lines: z.optional(number(COUNT, "Lines shared by neighbours; at first 8.")),
      max_file_bytes: z.optional(number(COUNT, "Skip larger files; 0: above 64 MiB.")),
      max_files: z._default(number(COUNT, "Stop after so many new or changed files; 0: no limit."), 0),
      max_seconds: z._default(number(SECONDS, "Stop after so long; 0: no limit."), 0),
      force: switched(false, "Index every file again, changed or not."),
      dry_run: switched(false, "Only list what would be indexed, what not, and why."),
    }),
  ),
  repo_search: once(() =>
    z.strictObject({
      query: query(),
      workspace: z.optional(checked(readPath, { type: "string", minLength: 1, description: "Folder to search." })),
      collection: z._default(string("Collection that holds its index."), REPO_COLLECTION),
      top_k: z._default(number(TOP_K, "Maximum number of files."), TOP_K_DEFAULT),
      path_hint: z.optional(string("Only these files: a path, a folder or a glob (src/**/*.ts, *.ts).")),
      form: z._default(
        checked((value, name) => readChoice(value, name, FORMS), {
          type: "string",
          enum: FORMS,
          description: "lines: best lines of each file; files: no text; grep: path:line:text; windows: best window.",
        }),
        "lines",
      ),
      per_file: z._default(number(POSITIVE, "Hits per file; above 1, one for each window."), 1),
      with_text: switched(false, "The same as form: windows."),
      with_times: with_times(),
      max_seconds: z._default(number(SECONDS, "Stop indexing after so long (partial: true); 0: no limit."), 0),
      after: after(),
      max_bytes: max_bytes(REPO_ANSWER_BYTES_DEFAULT),
    }),
  ),
  workspace_info: once(() => request({})),
} as const;

/** The verbs: the tools' names without `svc_`. */
export type VerbName = keyof typeof SCHEMAS;

/** The verbs, in the order of `tools/list`. Builds no schema. */
export const VERBS = Object.keys(SCHEMAS) as VerbName[];

/** Verbs about files of this machine: over a memory that is elsewhere they stay here. */
const LOCAL_VERBS: ReadonlySet<VerbName> = new Set(["index_repo", "repo_search", "workspace_info"]);

/** Whether a verb is about files of this machine. */
export function isLocalVerb(verb: VerbName): boolean {
  return LOCAL_VERBS.has(verb);
}

/** A verb's arguments after parsing: defaults applied, null where optional removed. */
export type ArgumentsOf<V extends VerbName> = z.output<ReturnType<(typeof SCHEMAS)[V]>>;

/** A call's cancellation and progress, over any transport. */
export interface CallContext {
  /** Aborted when the caller cancels; the verb then throws a CancelledError and leaves the last saved state. */
  signal?: AbortSignal;
  /** Called at any rate; the listener throttles. A `total` of 0 means unknown. */
  progress?: (done: number, total: number, message?: string) => void;
  /** A search shows at most so many bytes of each hit's text: the piece that fits best. */
  textBytes?: number;
  /** Hits of a search have the day of their rows. */
  days?: boolean;
  /** Weak hits have their texts too, which are short. */
  weakTexts?: boolean;
  /** A search says what the score of each hit was made of. */
  explain?: boolean;
  /** A search returns which words of the query were replaced, and by which. */
  substitutes?: boolean;
  /** A list of collections opens none of them. */
  manifestsOnly?: boolean;
  /** Called at any rate while a repository is indexed. */
  onWork?: (work: IndexWork) => void;
  /** Asks the client which folders it works in; absent where there is none to ask. */
  roots?: () => Promise<ClientRoots>;
  /** The scope of new rows that name none, and whose rows a search without `where` gives first: `svc mcp --project`. */
  project?: string | undefined;
  /** The arguments as they came: a memory that is elsewhere parses them there. */
  raw?: unknown;
}

/** A call's context as the store takes it. */
export function watch({ signal, progress }: CallContext): Watch {
  return { signal, onProgress: progress };
}

/** The 19 verbs. `Memory` implements them; the MCP server and the terminal call them. */
export type Verbs = {
  readonly [V in VerbName]: (a: ArgumentsOf<V>, c: CallContext) => Promise<payload.Payloads[V]>;
};

function once<T>(build: () => T): () => T {
  let built: T | undefined;
  return () => {
    built ??= build();
    return built;
  };
}
