/**
 * Chroma: the folder that it persists into (`chroma.sqlite3`, as of the server of npm `chromadb` 3.5.0, whose schema the
 * Python packages of 0.4 and later share), or what `collection.get()` returns as JSON.
 */
import { join } from "node:path";
import { Breather } from "../breather.ts";
import { ValueError } from "../errors.ts";
import { chromaRows, NO_DOCUMENT } from "./chroma-json.ts";
import { sourceName } from "./input/bytes.ts";
import { isBlankText, rowOf, timeOf } from "./input/fields.ts";
import { JsonDocument } from "./input/json-document.ts";
import { Remarks } from "./input/remarks.ts";
import type { ForeignRow, Format, RowSource } from "./input/row.ts";
import { ForeignDatabase, holdsFile, isSqlite } from "./input/sqlite.ts";

const FILE = "chroma.sqlite3";
/** Where Chroma keeps a row's text among its metadata. */
const DOCUMENT = "chroma:document";
const PAGE_ROWS = 256;
/** Metadata values of a page of rows: more cannot be those of rows that are kept. */
const PAGE_VALUES_MAX = 1_000_000;

/** The format. JSON is recognised by `json`, which reads the whole document. */
export const CHROMA: Format = {
  name: "chroma",
  title: "Chroma's folder with chroma.sqlite3, or what collection.get() returns, as JSON",
  matches: (path, head, isFolder) => (isFolder ? holdsFile(path, FILE) : isSqlite(head)),
  async open(path, { input, flags = {}, onBad }) {
    if (input && !isSqlite(input.head)) {
      if (flags.chromaCollection === undefined) return new JsonDocument(input, chromaRows, onBad);
      throw new ValueError(`${input.name} holds one collection: leave --chroma-collection out`);
    }
    if (path === "-") throw new ValueError("stdin cannot be read as a database: name Chroma's folder");
    if (!input && !holdsFile(path, FILE)) throw new ValueError(`${sourceName(path)} holds no ${FILE}`);
    return ChromaFolder.open(
      input ? path : join(path, FILE),
      sourceName(path),
      flags.chromaCollection,
      new Remarks(onBad),
    );
  },
};

class ChromaFolder implements RowSource {
  private read = 0;

  private constructor(
    private readonly db: ForeignDatabase,
    readonly name: string,
    private readonly collection: string,
    private readonly segment: string,
    private readonly count: number,
    private readonly kept: Remarks,
  ) {}

  /** @throws ValueError for another database, no such collection, several without a name, or changes that wait */
  static async open(path: string, name: string, wanted: string | undefined, kept: Remarks): Promise<ChromaFolder> {
    const db = await ForeignDatabase.open(path, name);
    try {
      db.check("collections", ["id", "name"]);
      db.check("segments", ["id", "scope", "collection"]);
      db.check("embeddings", ["id", "segment_id", "embedding_id", "created_at"]);
      db.check("embedding_metadata", ["id", "key", ...VALUES]);
      if (db.has("embedding_metadata_array")) db.check("embedding_metadata_array", ["id", "key", ...VALUES]);
      const found = db.all(
        "SELECT c.name AS name, s.id AS segment, c.id AS id FROM collections c JOIN segments s ON s.collection = c.id " +
          "WHERE s.scope = 'METADATA' ORDER BY c.name LIMIT 10000",
      );
      const chosen = choose(found, wanted, name);
      checkApplied(db, String(chosen.id), String(chosen.segment), name);
      const [counted] = db.all("SELECT count(*) AS n FROM embeddings WHERE segment_id = ?", String(chosen.segment));
      return new ChromaFolder(db, name, String(chosen.name), String(chosen.segment), Number(counted?.n ?? 0), kept);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  get bytes(): number {
    return this.db.bytes;
  }

  /** Estimated: rows are not read in the order of the file. */
  position(): number {
    return this.count === 0 ? this.bytes : Math.floor((this.bytes * this.read) / this.count);
  }

  remarks(): readonly string[] {
    return this.kept.sentences();
  }

  async *rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]> {
    const breather = new Breather(signal, "interrupted");
    try {
      for (let last = Number.MIN_SAFE_INTEGER; ; ) {
        if (breather.due) await breather.pause();
        // The plus keeps SQLite from finding the rows by segment and sorting all of them for every page.
        const page = this.db.all(
          "SELECT id, embedding_id, created_at FROM embeddings WHERE +segment_id = ? AND id > ? ORDER BY id LIMIT ?",
          this.segment,
          last,
          PAGE_ROWS,
        );
        if (page.length === 0) return;
        const to = Number(page.at(-1)!.id);
        // A damaged tree could lead back to where it was.
        if (!(to > last)) throw new ValueError(`${this.name}: its rows are not in order, it is damaged`);
        const members = this.members(page.map(({ id }) => Number(id)));
        const rows = page.map((row) => this.kept.row(() => this.row(row, members.get(row.id) ?? new Map())));
        yield rows.filter((row) => row !== undefined);
        this.read += page.length;
        last = to;
      }
    } finally {
      this.db.close();
    }
  }

  /** The members of the metadata of these rows, by row. */
  private members(ids: readonly number[]): Map<unknown, Map<string, unknown>> {
    const rows = new Map<unknown, Map<string, unknown>>();
    const of = (id: unknown) => {
      const known = rows.get(id);
      if (known) return known;
      const made = new Map<string, unknown>();
      rows.set(id, made);
      return made;
    };
    for (const value of this.values("embedding_metadata", ids)) of(value.id).set(String(value.key), scalar(value));
    if (!this.db.has("embedding_metadata_array")) return rows;
    for (const value of this.values("embedding_metadata_array", ids)) {
      const row = of(value.id);
      const list = row.get(String(value.key));
      if (Array.isArray(list)) list.push(scalar(value));
      else row.set(String(value.key), [scalar(value)]);
    }
    return rows;
  }

  private values(table: string, ids: readonly number[]): Record<string, unknown>[] {
    const sql = `SELECT id, key, ${VALUES.join(", ")} FROM ${table} WHERE id IN (${ids.map(() => "?").join(", ")}) LIMIT ?`;
    const values = this.db.all(sql, ...ids, PAGE_VALUES_MAX);
    if (values.length < PAGE_VALUES_MAX) return values;
    throw new ValueError(`${this.name}: too many metadata values in rows ${ids[0]} to ${ids.at(-1)} of '${table}'`);
  }

  private row(row: Record<string, unknown>, members: Map<string, unknown>): ForeignRow | undefined {
    const id = String(row.embedding_id);
    const where = `${this.name}, collection '${this.collection}', row '${id.slice(0, 80)}'`;
    const text = members.get(DOCUMENT);
    if (isBlankText(text)) {
      this.kept.add(NO_DOCUMENT, where);
      return undefined;
    }
    const metadata = [...members].filter(([key]) => key !== DOCUMENT);
    return rowOf({ id, text, metadata, created: timeOf(row.created_at) }, where);
  }
}

/** The columns of a value: one of them is not null. */
const VALUES = ["string_value", "int_value", "float_value", "bool_value"] as const;

function scalar(value: Record<string, unknown>): unknown {
  if (value.bool_value !== null && value.bool_value !== undefined) return value.bool_value !== 0;
  return value.string_value ?? value.int_value ?? value.float_value ?? null;
}

function choose(found: Record<string, unknown>[], wanted: string | undefined, name: string): Record<string, unknown> {
  const names = [...new Set(found.map((one) => `'${String(one.name).slice(0, 80)}'`))];
  const listed = names.slice(0, 10).join(", ") + (names.length > 10 ? ", …" : "");
  if (found.length === 0) throw new ValueError(`${name} holds no collection`);
  const chosen = wanted === undefined ? found : found.filter((one) => one.name === wanted);
  if (chosen.length === 1) return chosen[0]!;
  if (wanted === undefined)
    throw new ValueError(`${name} holds ${names.length} collections: name one with --chroma-collection (${listed})`);
  if (chosen.length === 0) throw new ValueError(`${name} has no collection '${wanted}'; it has ${listed}`);
  throw new ValueError(
    `${name} has a collection '${wanted}' in several databases: write what collection.get() returns, as JSON`,
  );
}

/** Chroma logs a change first, and some versions put it into the tables only when the collection is read. */
function checkApplied(db: ForeignDatabase, collection: string, segment: string, name: string): void {
  if (!db.has("embeddings_queue") || !db.has("max_seq_id")) return;
  db.check("embeddings_queue", ["seq_id", "topic"]);
  db.check("max_seq_id", ["segment_id", "seq_id"]);
  const [applied] = db.all("SELECT seq_id FROM max_seq_id WHERE segment_id = ? LIMIT 1", segment);
  const [logged] = db.all("SELECT max(seq_id) AS seq_id FROM embeddings_queue WHERE topic LIKE '%/' || ? ", collection);
  if (logged?.seq_id === null || logged?.seq_id === undefined) return;
  if (sequence(applied?.seq_id) >= sequence(logged.seq_id)) return;
  throw new ValueError(
    `${name} holds changes that Chroma has logged but not put into its tables: call collection.count() there once, ` +
      "and import again",
  );
}

/** A number of the log; versions before 0.5 kept it as bytes. */
function sequence(value: unknown): bigint {
  if (value instanceof Uint8Array) return value.length === 0 ? 0n : BigInt(`0x${Buffer.from(value).toString("hex")}`);
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : 0n;
}
