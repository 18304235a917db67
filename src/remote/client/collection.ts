/** A collection behind a socket. */

import type {
  AtLeast,
  CollectionApi,
  CollectionStats,
  HitOptions,
  HitsResult,
  Id,
  ReadOptions,
  ReadRow,
  RowOptions,
  SearchOptions,
  SearchResult,
  Vector,
  Vectors,
  Where,
} from "../../api/api.ts";
import { checkDistinct, readIds } from "../../checks/ids.ts";
import { isObject, optional } from "../../checks/kinds.ts";
import { COUNT, clampTopK, POSITIVE, readNumber } from "../../checks/numbers.ts";
import { readString } from "../../checks/strings.ts";
import { checkFinite, readVector } from "../../checks/vectors.ts";
import { readWhere } from "../../checks/where.ts";
import { RuntimeError, SvcError, ValueError } from "../../errors.ts";
import { ROWS_PER_CALL_MAX } from "../../limits.ts";
import type { Channel } from "./channel.ts";
import { type Argument, base64Bytes, encodeArguments, encodeRequest, vectorPieces } from "./encode.ts";
import { needsDim, type Rows, stringColumn, textRows, toParts, vectorRows } from "./parts.ts";
import { expectResult } from "./reply.ts";

/** Bytes of rows that one request carries; a call with more travels in several. */
const PART_BYTES_MAX = 64 * 1024 * 1024;

/**
 * A collection of the server that a `RemoteTelys` is connected to. Its errors are those of a local collection, and
 * OSError where the connection is lost, which says whether a change may have been applied.
 *
 * A call with more than {@link PART_BYTES_MAX} bytes of rows travels in several requests. Each is all or nothing, the
 * call is not: the error of a later one says how many rows are in, and other calls may run between two of them. So they
 * may before the first matrix without ids of a collection that was opened: its dimension is requested first. Do not
 * change arguments before the call is over.
 */
export class RemoteCollection implements CollectionApi {
  /** @param dim numbers in a vector, where known; otherwise requested when needed */
  constructor(
    private readonly channel: Channel,
    readonly name: string,
    private dim?: number,
    private readonly partBytesMax: number = PART_BYTES_MAX,
  ) {}

  add(vectors: Vectors, options: RowOptions = {}): Promise<string[]> {
    return this.writeVectors("add", vectors, options);
  }

  upsert(vectors: Vectors, options: RowOptions = {}): Promise<string[]> {
    return this.writeVectors("upsert", vectors, options);
  }

  addTexts(texts: readonly string[], options: RowOptions = {}): Promise<string[]> {
    return this.channel.run(async () => {
      const rows = textRows(texts, options);
      checkDistinct(rows.ids);
      return this.write("add_texts", rows);
    });
  }

  upsertTexts(texts: readonly string[], options: RowOptions = {}): Promise<string[]> {
    return this.channel.run(async () => this.write("upsert_texts", textRows(texts, options)));
  }

  search(vector: Vector | readonly [Vector], options: SearchOptions = {}): Promise<SearchResult> {
    return this.find("search", () => {
      const pieces = vectorPieces(readVector(vector, "vector"));
      return [["vector", ...pieces], ...jsonArguments(searchArguments(options))];
    });
  }

  searchText(text: string, options: SearchOptions = {}): Promise<SearchResult> {
    return this.find("search_text", () => {
      return jsonArguments({ text: readString(text, "text"), ...searchArguments(options) });
    });
  }

  searchHits(text: string, options: HitOptions = {}): Promise<HitsResult> {
    return this.channel.run(async () => {
      const { withText = true, withMetadata = true } = options;
      const args = {
        text: readString(text, "text"),
        ...searchArguments({ topK: options.topK, where: options.where, atLeast: options.atLeast }),
        with_text: withText ? undefined : false,
        with_metadata: withMetadata ? undefined : false,
        text_bytes: optional(options.textBytes, "textBytes", (value, name) => readNumber(value, name, POSITIVE)),
      };
      const isResult = (result: unknown) => isObject(result) && isRows(result.hits, "score");
      return expectResult<HitsResult>("search_hits", await this.newer("search_hits", args), isResult);
    });
  }

  /** More than {@link ROWS_PER_CALL_MAX} rows are read by several requests; other calls may run between two of them. */
  get(ids: readonly Id[], options: ReadOptions = {}): Promise<ReadRow[]> {
    return this.channel.run(async () => {
      const names = readIds(ids);
      const { withText = true, withMetadata = true, withTimes = false } = options;
      const parts = {
        with_text: withText ? undefined : false,
        with_metadata: withMetadata ? undefined : false,
        at_least: atLeastArgument(options),
      };
      const all: ReadRow[] = [];
      for (let at = 0; at === 0 || at < names.length; at += ROWS_PER_CALL_MAX) {
        const some = names.slice(at, at + ROWS_PER_CALL_MAX);
        const isResult = (result: unknown) => isRows(result, "found") && result.length === some.length;
        const rows = expectResult<ReadRow[]>("get", await this.newer("get", { ids: some, ...parts }), isResult);
        for (const { created, updated, ...row } of rows) {
          all.push(withTimes && row.found ? { ...row, created: created!, updated: updated! } : row);
        }
      }
      return all;
    });
  }

  ids(where?: Where, options: AtLeast = {}): Promise<string[]> {
    return this.channel.run(async () => {
      const args = { where: whereArgument(where), at_least: atLeastArgument(options) };
      return expectResult<string[]>("ids", await this.request("ids", args), Array.isArray);
    });
  }

  delete(ids: readonly Id[]): Promise<number> {
    return this.channel.run(async () => {
      const names = readIds(ids);
      let deleted = 0;
      const rows = { count: names.length, columns: [stringColumn("ids", names)], ids: names };
      await this.sendParts("delete", rows, (result) => {
        deleted += expectResult<number>("delete", result, Number.isSafeInteger);
      });
      return deleted;
    });
  }

  /** Drops the space of deleted and replaced rows. It saves first, and fails as {@link save} does. */
  compact(): Promise<void> {
    return this.channel.run(async () => {
      await this.channel.save("compact", this.name, encodeRequest("compact", this.name));
    });
  }

  /**
   * Makes every change so far durable, of all clients; resolves to a generation that has them, for `atLeast`.
   * @throws OSError if the disk fails; also, once, where the server was started again or a save failed after unsaved
   * changes of this client: they may be lost, and what is still there is saved
   */
  save(): Promise<number> {
    return this.channel.run(async () => {
      const { channel, name } = this;
      try {
        const result = await channel.save("save", name, encodeRequest("save", name, { with_generation: true }));
        return expectResult<number>("save", result, Number.isSafeInteger);
      } catch (error) {
        if (!isUnknownArgument(error, "with_generation")) throw error;
        await channel.save("save", name, encodeRequest("save", name));
        return (await this.readStats()).generation;
      }
    });
  }

  stats(): Promise<CollectionStats> {
    return this.channel.run(() => this.readStats());
  }

  private async readStats(): Promise<CollectionStats> {
    const stats = expectResult<CollectionStats>("stats", await this.request("stats"), isObject);
    if (Number.isSafeInteger(stats.dim)) this.dim = stats.dim;
    return stats;
  }

  private async readDim(): Promise<number> {
    const { dim } = await this.readStats();
    return expectResult("stats", dim, (value) => Number.isSafeInteger(value) && Number(value) > 0);
  }

  private request(op: string, args?: Record<string, unknown>): Promise<unknown> {
    return this.channel.request(op, encodeRequest(op, this.name, args));
  }

  /** A request that servers of earlier versions do not know. */
  private async newer(op: string, args: Record<string, unknown>): Promise<unknown> {
    try {
      return await this.request(op, args);
    } catch (error) {
      if (!(error instanceof ValueError && error.message === `unknown op '${op}'`)) throw error;
      throw new RuntimeError(`the server is too old for '${op}': update svc where it runs, and start it again`);
    }
  }

  private find(op: string, args: () => Argument[]): Promise<SearchResult> {
    return this.channel.run(async () =>
      expectResult<SearchResult>(
        op,
        await this.channel.request(op, encodeArguments(op, this.name, args())),
        (result) => isObject(result) && Array.isArray(result.ids) && Array.isArray(result.scores),
      ),
    );
  }

  private writeVectors(op: "add" | "upsert", vectors: Vectors, options: RowOptions): Promise<string[]> {
    return this.channel.run(async () => {
      // No await that is not needed: a later call must not overtake this one.
      const dim = needsDim(vectors, options) ? (this.dim ?? (await this.readDim())) : undefined;
      const rows = vectorRows(vectors, options, dim);
      if (op === "add") checkDistinct(rows.ids);
      // The server checks every number, but those of a later part only after it has written the first.
      if (rows.floats && base64Bytes(rows.floats.byteLength) > this.partBytesMax) {
        checkFinite(rows.floats, "vectors", rows.floats.length / rows.count);
      }
      return this.write(op, rows);
    });
  }

  private async write(op: string, rows: Rows): Promise<string[]> {
    let ids: string[] = [];
    await this.sendParts(op, rows, (result) => {
      const added = expectResult<string[]>(op, result, Array.isArray);
      ids = ids.length === 0 ? added : ids.concat(added);
    });
    return ids;
  }

  private async sendParts(op: string, rows: Rows, take: (result: unknown) => void): Promise<void> {
    for (const { from, args } of toParts(rows, this.partBytesMax)) {
      try {
        take(await this.channel.change(op, this.name, encodeArguments(op, this.name, args)));
      } catch (error) {
        throw from === 0 ? error : ofLaterPart(error, op, from, rows.count);
      }
    }
  }
}

/** Search options on the wire. JSON has no infinity: `topK` is clamped here. */
function searchArguments(options: SearchOptions): Record<string, unknown> {
  const { topK, where, explain, withMetadata } = options;
  return {
    top_k: topK === undefined || topK === null ? undefined : clampTopK(topK, "topK"),
    where: whereArgument(where),
    explain: explain || undefined,
    with_metadata: withMetadata || undefined,
    at_least: atLeastArgument(options),
  };
}

function atLeastArgument({ atLeast }: AtLeast): number | undefined {
  return optional(atLeast, "atLeast", (value, name) => readNumber(value, name, COUNT));
}

/** Whether the error is that of a server of an earlier version, which does not know an argument and has done nothing. */
function isUnknownArgument(error: unknown, argument: string): boolean {
  return error instanceof ValueError && error.message.startsWith(`unknown argument '${argument}'`);
}

/** A filter on the wire; without a prototype, its column may be called anything, `__proto__` included. */
function whereArgument(where: Where | undefined): Record<string, unknown> | undefined {
  const condition = readWhere(where);
  if (!condition) return undefined;
  const filter = Object.create(null) as Record<string, unknown>;
  filter[condition.column] = condition.value;
  return filter;
}

/** Whether a result is a list of rows, each with an id and a certain field. */
function isRows(result: unknown, field: "score" | "found"): result is object[] {
  return Array.isArray(result) && result.every((row) => isObject(row) && typeof row.id === "string" && field in row);
}

function jsonArguments(args: Record<string, unknown>): Argument[] {
  return Object.entries(args)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, JSON.stringify(value)]);
}

/** The same error, with the number of rows that are in. */
function ofLaterPart(error: unknown, op: string, done: number, count: number): unknown {
  if (!(error instanceof SvcError)) return error;
  const Class = error.constructor as new (message: string, reason?: string) => SvcError;
  const state = op === "delete" ? "were deleted" : "are in";
  return new Class(
    `${error.message} (the call travelled in parts: the first ${done} of ${count} rows ${state})`,
    error.reason,
  );
}
