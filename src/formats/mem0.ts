/**
 * mem0: what `getAll` answers, as JSON (npm `mem0ai` 3.3.1, the Python package, exports of the platform), or the
 * database in which the JavaScript package keeps its memories by default, `vector_store.db`.
 */
import { join } from "node:path";
import { Breather } from "../breather.ts";
import { isTooDeep } from "../checks/depth.ts";
import { isObject } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import { sourceName } from "./input/bytes.ts";
import { JsonDocument, mapped } from "./input/json-document.ts";
import { Remarks } from "./input/remarks.ts";
import type { ForeignRow, Format, RowSource } from "./input/row.ts";
import { ForeignDatabase, holdsFile, isSqlite } from "./input/sqlite.ts";
import { mem0List, mem0Row, noteNext } from "./mem0-row.ts";

const FILE = "vector_store.db";
const PAGE_ROWS = 256;

/** The format. JSON is recognised by `json`, which reads the whole document. */
export const MEM0: Format = {
  name: "mem0",
  title: "what mem0's getAll() answers, as JSON, or its vector_store.db",
  matches: (path, head, isFolder) => (isFolder ? holdsFile(path, FILE) : isSqlite(head) && hasVectors(head)),
  async open(path, { input, onBad }) {
    if (input && !isSqlite(input.head)) return new JsonDocument(input, memories, onBad);
    if (path === "-") throw new ValueError("stdin cannot be read as a database: name the file");
    if (!input && !holdsFile(path, FILE)) throw new ValueError(`${sourceName(path)} holds no ${FILE}`);
    const db = await ForeignDatabase.open(input ? path : join(path, FILE), sourceName(path));
    try {
      db.check("vectors", ["id", "payload"]);
    } catch (error) {
      db.close();
      throw error;
    }
    return new VectorStore(db, new Remarks(onBad));
  },
};

/** The whole schema of such a database stands in its first page. */
function hasVectors(head: Uint8Array): boolean {
  return /CREATE TABLE vectors \(\s*id TEXT/.test(Buffer.from(head.subarray(0, 4096)).toString("latin1"));
}

function* memories(value: unknown, name: string, remarks: Remarks): Generator<ForeignRow | undefined> {
  const found = mem0List(value);
  if (!found) {
    throw new ValueError(
      `${name} has no list of memories, neither by itself nor under 'results': write what getAll() answers`,
    );
  }
  noteNext(value, name, remarks);
  yield* mapped(found.list, remarks, (one, i) => mem0Row(one, `${name}, ${found.at}[${i}]`, remarks));
}

class VectorStore implements RowSource {
  readonly name: string;
  private isRead = false;

  constructor(
    private readonly db: ForeignDatabase,
    private readonly kept: Remarks,
  ) {
    this.name = db.name;
  }

  get bytes(): number {
    return this.db.bytes;
  }

  position(): number {
    return this.isRead ? this.bytes : 0;
  }

  remarks(): readonly string[] {
    return this.kept.sentences();
  }

  async *rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]> {
    const breather = new Breather(signal, "interrupted");
    try {
      for (let last = ""; ; ) {
        if (breather.due) await breather.pause();
        const page = this.db.all("SELECT id, payload FROM vectors WHERE id > ? ORDER BY id LIMIT ?", last, PAGE_ROWS);
        if (page.length === 0) break;
        const to = String(page.at(-1)!.id);
        if (to === last) throw new ValueError(`${this.name}: its rows are not in order, it is damaged`);
        yield page.map((row) => this.kept.row(() => this.row(row))).filter((row) => row !== undefined);
        last = to;
      }
      this.isRead = true;
    } finally {
      this.db.close();
    }
  }

  private row({ id, payload }: Record<string, unknown>): ForeignRow | undefined {
    const where = `${this.name}, memory '${String(id).slice(0, 80)}'`;
    const json = typeof payload === "string" ? payload : "";
    let value: unknown;
    try {
      value = isTooDeep(Buffer.from(json)) ? undefined : JSON.parse(json);
    } catch {
      // The same sentence.
    }
    if (!isObject(value)) throw new ValueError(`${where}: its payload is not JSON object`);
    const { data, ...others } = value;
    return mem0Row({ id, memory: data, metadata: {}, ...others }, where, this.kept);
  }
}
