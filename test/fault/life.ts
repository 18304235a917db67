/**
 * Random operations on a collection through two stores on one directory, as two processes would use it, against a
 * model: whatever is asked is what the last save, or the store's own staged changes, make it. The seed decides over
 * everything.
 */
import { LocalStore } from "../../src/api/local-store.ts";
import { KeyError, type OSError } from "../../src/errors.ts";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { type Metric, Model, type ModelRow, scoreOf } from "./model.ts";
import { textOf } from "./stores.ts";

const IDS = 60;
const DIM = 24;
const NAME = "life";
const DTYPES = ["f32", "f16", "int8", "int4"];
const METRICS: Metric[] = ["inner_product", "cosine", "l2"];

/** What was done: the last steps stand in an error's message. */
export interface Lived {
  seed: number;
  steps: number;
  /** How often each kind of step was taken. */
  counts: Record<string, number>;
}

class Life {
  private readonly next: () => number;
  private readonly dir = scratchDir();
  private readonly stores: LocalStore[];
  private saved = new Model();
  /** Of the store that has staged changes. */
  private staged: { at: number; model: Model } | undefined;
  private readonly log: string[] = [];
  readonly counts: Record<string, number> = {};
  private readonly metric: Metric;
  private readonly dtype: string;
  private readonly embedder: "bigram" | undefined;

  constructor(
    private readonly seed: number,
    private readonly native: Native,
  ) {
    this.next = random(seed);
    this.dtype = this.pick(DTYPES);
    this.embedder = this.next() < 0.3 ? "bigram" : undefined;
    this.metric = this.embedder ? "inner_product" : this.pick(METRICS);
    this.stores = [0, 1].map(() => new LocalStore(this.dir, native, "0.0.0-test"));
  }

  private pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }

  private get notes() {
    return this.stores.map((store) => store.handle(NAME));
  }

  /** What a store must see. */
  private seen(at: number): Model {
    return this.staged?.at === at ? this.staged.model : this.saved;
  }

  async live(steps: number): Promise<void> {
    try {
      const dim = this.embedder ? undefined : DIM;
      const { dtype, metric, embedder } = this;
      const schema = { dim, dtype, lexical: true, filterColumns: ["kind"], embedder };
      const made = await this.stores[0]!.createCollection(NAME, embedder ? schema : { ...schema, metric });
      await made.save();
      for (let i = 0; i < steps; i++) await this.step();
      await this.save();
      await this.look(0);
      await this.look(1);
      await Promise.all(this.stores.map((store) => store.close()));
    } catch (error) {
      throw new Error(
        `seed ${this.seed} (${this.dtype}, ${this.metric}, ${this.embedder ?? "vectors"}): ${this.log.slice(-25).join("; ")}`,
        { cause: error },
      );
    }
  }

  private async step(): Promise<void> {
    const steps: [number, string, (at: number) => Promise<unknown>][] = [
      [8, "put", (at) => this.put(at)],
      [3, "delete", (at) => this.remove(at)],
      [2, "add what exists", (at) => this.addExisting(at)],
      [4, "save", () => this.save()],
      [2, "look", (at) => this.look(at)],
      [2, "search", (at) => this.search(at)],
      [1, "compact", (at) => this.rewrite(at, () => this.notes[at]!.compact())],
      [0.7, "build an IVF index", (at) => this.rewrite(at, () => this.notes[at]!.buildIvf({ minRows: 16 }))],
      [0.7, "build a lexical index", (at) => this.rewrite(at, () => this.notes[at]!.buildLexical())],
      [0.7, "reopen", (at) => this.reopen(at)],
      [0.3, "snapshot", (at) => this.snapshot(at)],
    ];
    let left = this.next() * steps.reduce((sum, [weight]) => sum + weight, 0);
    const step = steps.find(([weight]) => {
      left -= weight;
      return left < 0;
    });
    const [, name, work] = step ?? steps[0]!;
    // Changes of the other store wait for the one that has staged some.
    const at = this.staged !== undefined && this.next() < 0.7 ? this.staged.at : Math.floor(this.next() * 2);
    this.log.push(`${name} (${at})`);
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    await work(at);
  }

  /** The model that a change of a store is made on; saves those of the other one. */
  private async toChange(at: number): Promise<Model> {
    if (this.staged && this.staged.at !== at) await this.save();
    this.staged ??= { at, model: this.saved.copy() };
    return this.staged.model;
  }

  private newRow(): ModelRow {
    const chance = this.next();
    const metadata =
      chance < 0.2 ? undefined : { scope: `s${Math.floor(chance * 10) % 3}`, kind: Math.floor(this.next() * 4) };
    return { text: `${textOf(this.next, 4)} only${Math.floor(this.next() * 1e6)}`, metadata };
  }

  private async put(at: number): Promise<void> {
    const model = await this.toChange(at);
    const count = 1 + Math.floor(this.next() ** 3 * 30);
    const ids = Array.from({ length: count }, () => `id ${Math.floor(this.next() * IDS)}`);
    const rows = ids.map(() => this.newRow());
    await this.putInto(at, "upsert", ids, rows);
    for (const [i, id] of ids.entries()) model.put(id, rows[i]!);
  }

  private putInto(at: number, mode: "add" | "upsert", ids: string[], rows: ModelRow[]): Promise<string[]> {
    const options = { ids, metadata: rows.map(({ metadata }) => metadata) };
    const notes = this.notes[at]!;
    if (this.embedder)
      return notes[`${mode}Texts`](
        rows.map(({ text }) => text),
        options,
      );
    for (const row of rows) row.text = "";
    return notes[mode](unitVectors(rows.length, DIM, this.next), options);
  }

  /** All or nothing: the new id of the call is not added either. */
  private async addExisting(at: number): Promise<void> {
    const model = await this.toChange(at);
    const id = [...model.rows.keys()].at(-1);
    if (id === undefined) return;
    const error = await this.putInto(at, "add", ["never", id], [this.newRow(), this.newRow()]).catch((e: unknown) => e);
    if (!(error instanceof KeyError)) throw new Error(`add of ${id}, which is live: ${error}`);
  }

  private async remove(at: number): Promise<void> {
    const model = await this.toChange(at);
    const ids = Array.from({ length: 1 + Math.floor(this.next() * 4) }, () => `id ${Math.floor(this.next() * IDS)}`);
    const gone = new Set(ids.filter((id) => model.rows.delete(id)));
    same(await this.notes[at]!.delete(ids), gone.size, "how many rows were deleted");
  }

  private async save(): Promise<void> {
    if (!this.staged) return;
    await this.notes[this.staged.at]!.save();
    this.saved = this.staged.model;
    this.staged = undefined;
  }

  private async rewrite(at: number, work: () => Promise<unknown>): Promise<void> {
    await this.toChange(at);
    const error = await work().catch((e: unknown) => e as OSError);
    if (error instanceof Error) throw error;
    await this.save(); // the rewrite has saved what was staged
  }

  private async reopen(at: number): Promise<void> {
    if (this.staged?.at === at) this.staged = undefined; // dropped
    await this.stores[at]!.close();
    this.stores[at] = new LocalStore(this.dir, this.native, "0.0.0-test");
    await this.look(at);
  }

  private async snapshot(at: number): Promise<void> {
    await this.toChange(at);
    const to = scratchDir();
    await this.notes[at]!.snapshot(to);
    await this.save();
    const copy = new LocalStore(to, this.native, "0.0.0-test");
    same(await copy.handle(NAME).ids(), [...this.saved.rows.keys()], "the ids of a snapshot");
    await copy.close();
  }

  /** Everything that can be read without a query. */
  private async look(at: number): Promise<void> {
    const model = this.seen(at);
    const notes = this.notes[at]!;
    const ids = [...model.rows.keys()];
    same(await notes.ids(), ids, "the ids");
    same(notes.size, ids.length, "the number of rows");
    const rows = await notes.get([...ids, "never"], { withVector: true, withTimes: true });
    same(rows.pop(), { id: "never", found: false }, "a row that is not there");
    rows.forEach((row, i) => {
      const wanted = model.rows.get(ids[i]!)!;
      same(row.metadata, wanted.metadata, `the metadata of ${row.id}`);
      same(row.text ?? "", wanted.text, `the text of ${row.id}`);
      wanted.vector ??= row.vector!;
      wanted.created ??= row.created!;
      same(row.vector, wanted.vector, `the vector of ${row.id}`);
      same(row.created, wanted.created, `when ${row.id} became live`);
      if (row.updated! < row.created!) throw new Error(`${row.id} was updated before it was created`);
    });
    const kind = Math.floor(this.next() * 4);
    same(await notes.ids({ kind }), model.matching("kind", kind), `the ids of kind ${kind}`);
    same(await notes.count({ scope: "s1" }), model.matching("scope", "s1").length, "the rows of a partition");
  }

  /** The exact search returns the best rows; of equal scores any. */
  private async search(at: number): Promise<void> {
    await this.look(at); // the stored vectors are known then
    const model = this.seen(at);
    const notes = this.notes[at]!;
    const query = unitVectors(1, notes.schema.dim, this.next);
    const scope = this.next() < 0.4 ? "s1" : undefined;
    const among = scope === undefined ? [...model.rows.keys()] : model.matching("scope", scope);
    const truth = new Map(among.map((id) => [id, scoreOf(this.metric, query, model.rows.get(id)!.vector!)]));
    const best = [...truth.values()].sort((a, b) => b - a);
    const topK = 1 + Math.floor(this.next() * 70);
    const where = scope === undefined ? undefined : { scope };
    const { ids, scores } = await notes.search(query, { topK, where, targetRecall: 1 });
    same(ids.length, Math.min(topK, best.length), "the number of hits");
    same(new Set(ids).size, ids.length, "the hits that are different");
    ids.forEach((id, i) => {
      const [got, wanted, own] = [scores[i]!, best[i]!, truth.get(id) ?? Number.NaN];
      const close = Math.abs(got - wanted) < 1e-4 && Math.abs(got - own) < 1e-4;
      if (!close) throw new Error(`hit ${i} is ${id} with ${got}; its score is ${own}, the best one ${wanted}`);
    });
    if (!this.embedder || among.length === 0) return;
    const word = model.rows.get(this.pick(among))!.text.split(" ").at(-1)!;
    const found = await notes.searchLexical(word, { topK: 100 }).catch((e: unknown) => e as Error);
    if (found instanceof Error) return; // not built yet
    const missing = model.withWord(word).filter((id) => !found.ids.includes(id));
    same(missing, [], `rows with ${word} that were not found`);
    same(
      found.ids.filter((id) => !model.rows.has(id)),
      [],
      "hits that are not rows",
    );
    same((await notes.searchText(word, { topK: 1 })).ids.length, 1, "hits of a text");
  }
}

function same(got: unknown, wanted: unknown, what: string): void {
  if (!Bun.deepEquals(got, wanted)) {
    throw new Error(
      `${what}: ${JSON.stringify(got)?.slice(0, 400)} instead of ${JSON.stringify(wanted)?.slice(0, 400)}`,
    );
  }
}

/** Lives so many steps. @throws Error with the seed and the last steps */
export async function live(native: Native, seed: number, steps: number): Promise<Lived> {
  const life = new Life(seed, native);
  await life.live(steps);
  return { seed, steps, counts: life.counts };
}
