/** What a collection must hold: rows by id in the order of insertion, as one store sees them. */

/** A row as it was put, and as it was first read. */
export interface ModelRow {
  text: string;
  metadata: Record<string, unknown> | undefined;
  /** Elements as stored, and when the id became live: known once the row was read. */
  vector?: Float32Array;
  created?: number;
}

/** The rows that one saved state or one store's staged changes make. */
export class Model {
  constructor(readonly rows = new Map<string, ModelRow>()) {}

  copy(): Model {
    return new Model(new Map([...this.rows].map(([id, row]) => [id, { ...row }])));
  }

  /** A replaced row keeps its place and when its id became live. */
  put(id: string, row: ModelRow): void {
    const created = this.rows.get(id)?.created;
    this.rows.set(id, created === undefined ? row : { ...row, created });
  }

  /** Ids of the rows whose metadata has the value. */
  matching(column: string, value: unknown): string[] {
    return [...this.rows].filter(([, { metadata }]) => metadata?.[column] === value).map(([id]) => id);
  }

  /** Ids of the rows that have a word. */
  withWord(word: string): string[] {
    return [...this.rows].filter(([, { text }]) => text.split(" ").includes(word)).map(([id]) => id);
  }
}

export type Metric = "inner_product" | "cosine" | "l2";

/** A score as the collection defines it, of stored rows in f64. */
export function scoreOf(metric: Metric, query: Float32Array, row: Float32Array): number {
  let [dot, square, distance] = [0, 0, 0];
  for (let i = 0; i < query.length; i++) {
    dot += query[i]! * row[i]!;
    square += query[i]! ** 2;
    distance += (query[i]! - row[i]!) ** 2;
  }
  if (metric === "l2") return -distance;
  return metric === "cosine" ? dot / Math.sqrt(square) : dot;
}
