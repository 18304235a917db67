/** LanceDB: a table with scalar indexes, scanned flat or by IVF-HNSW over scalar-quantised vectors with refinement. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Contender, each, type Maker, TOP } from "../contender.ts";

interface Query {
  distanceType(type: string): Query;
  select(columns: string[]): Query;
  bypassVectorIndex(): Query;
  where(predicate: string): Query;
  ef(ef: number): Query;
  refineFactor(factor: number): Query;
  limit(count: number): Query;
  toArrow(): Promise<{ getChild(name: string): Iterable<number> }>;
}

interface Table {
  query(): { nearestTo(vector: Float32Array): Query };
  createIndex(column: string, options: { config: unknown }): Promise<void>;
  close(): void;
}

interface Lancedb {
  connect(path: string): Promise<{
    createTable(name: string, data: unknown): Promise<Table>;
    openTable(name: string): Promise<Table>;
  }>;
  Index: { bitmap(): unknown; hnswSq(options: Record<string, unknown>): unknown };
}

interface Arrow {
  makeData(parts: Record<string, unknown>): unknown;
  makeVector(values: Int32Array): unknown;
  Field: new (name: string, type: unknown, nullable: boolean) => unknown;
  FixedSizeList: new (size: number, field: unknown) => unknown;
  Float32: new () => unknown;
  Table: new (columns: Record<string, unknown>) => unknown;
  Vector: new (data: unknown[]) => unknown;
}

/** Quantised distances rank this many times the top k, and exact ones rerank them. */
const REFINED = 3;
const FIRST_WIDTH = 64;

export const lancedb: Maker = async ({ dir, rows, dim, data, columns }, packages): Promise<Contender> => {
  const load = createRequire(join(packages, "package.json"));
  const library = load("@lancedb/lancedb") as Lancedb;
  const database = await library.connect(join(dir, "lance"));
  let table: Table | undefined;
  const query = (q: Float32Array) => table!.query().nearestTo(q).distanceType("dot").select(["id", "_distance"]);
  const ids = async (asked: Query) => [...(await asked.limit(TOP).toArrow()).getChild("id")];
  const graph = (q: Float32Array, width: number) => ids(query(q).ef(width).refineFactor(REFINED));
  return {
    settings: [32, 64, 128, 256, 512],
    async ingest() {
      const arrow = load("apache-arrow") as Arrow;
      const item = new arrow.Field("item", new arrow.Float32(), true);
      const child = arrow.makeData({ type: new arrow.Float32(), data });
      const type = new arrow.FixedSizeList(dim, item);
      const vectors = new arrow.Vector([arrow.makeData({ type, child, length: rows, nullCount: 0 })]);
      table = await database.createTable(
        "bench",
        new arrow.Table({
          id: arrow.makeVector(Int32Array.from({ length: rows }, (_, row) => row)),
          percent: arrow.makeVector(Int32Array.from(columns.percent)),
          tenth: arrow.makeVector(Int32Array.from(columns.tenth)),
          vector: vectors,
        }),
      );
      for (const column of ["percent", "tenth"]) await table.createIndex(column, { config: library.Index.bitmap() });
    },
    async buildIndex() {
      const config = library.Index.hnswSq({ distanceType: "dot", numPartitions: 1, m: 16, efConstruction: 200 });
      await table!.createIndex("vector", { config });
    },
    exact: (queries) => each(queries, dim, (q) => ids(query(q).bypassVectorIndex())),
    approximate: (queries, width) => each(queries, dim, (q) => graph(q, width)),
    filtered: (queries, { column, value }) =>
      each(queries, dim, (q) => ids(query(q).bypassVectorIndex().where(`${column} = ${value}`))),
    async open() {
      table = await database.openTable("bench");
    },
    first: (query) => each(query, dim, (q) => graph(q, FIRST_WIDTH)),
    async close() {
      table?.close();
    },
  };
};
