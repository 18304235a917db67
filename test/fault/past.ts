/**
 * Random changes, undos and rewrites of a collection through two stores on one directory, as two processes would use it,
 * against a model of its rows and its history. The seed decides over everything but the clock.
 */
import { alter } from "../../src/api/alter.ts";
import { SvcError } from "../../src/errors.ts";
import { withOrigin } from "../../src/origin.ts";
import type { Collection, Row } from "../../src/store/collection.ts";
import { Store } from "../../src/store/store.ts";
import { Put } from "../../src/store/writer.ts";
import { putDated } from "../../src/texts/dated.ts";
import { savesOf, versionsOf } from "../../src/texts/history/history.ts";
import { planUndo, undo } from "../../src/texts/history/undo.ts";
import type { SentenceEncoder } from "../../src/texts/meaning/encoder.ts";
import type { Native } from "../../src/trust/runtime/libraries.ts";
import { scratchDir } from "../fixture.ts";
import { random, unitVectors } from "../random.ts";
import { PastModel, type PastRow, type PastStep, type PastTarget } from "./past-model.ts";

const IDS = 9;
const DIM = 12;
const NAME = "past";
const DTYPES = ["f32", "f16", "int8", "int4"] as const;
const METRICS = ["inner_product", "cosine", "l2"] as const;
const COLUMNS = ["kind", "lang"];
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };
const WHOLE = { metadata: true, text: true, times: true, vector: true };

class Past {
  private readonly next: () => number;
  private readonly dir = scratchDir();
  private readonly stores: Store[];
  private readonly model = new PastModel();
  private readonly log: string[] = [];
  readonly counts: Record<string, number> = {};
  private readonly dtype: (typeof DTYPES)[number];

  constructor(
    private readonly seed: number,
    private readonly native: Native,
  ) {
    this.next = random(seed);
    this.dtype = this.pick(DTYPES);
    this.stores = [0, 1].map(() => this.open());
  }

  private open(): Store {
    return new Store(this.dir, this.native.env, "0.0.0-test");
  }

  private pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }

  private of(at: number): Collection {
    return this.stores[at]!.open(NAME);
  }

  async live(steps: number): Promise<void> {
    try {
      const metric = this.pick(METRICS);
      const made = this.stores[0]!.create(NAME, { dim: DIM, dtype: this.dtype, metric, filterColumns: ["kind"] });
      await made.add({ ids: [], vectors: new Float32Array(0) });
      await this.put(0);
      this.look(0, true);
      for (let i = 0; i < steps; i++) await this.step();
      for (const at of [0, 1]) this.look(at, true);
      await Promise.all(this.stores.map((store) => store.close()));
    } catch (error) {
      throw new Error(`seed ${this.seed} (${this.dtype}): ${this.log.slice(-25).join("; ")}`, { cause: error });
    }
  }

  private async step(): Promise<void> {
    const steps: [number, string, (at: number) => Promise<void> | void][] = [
      [5, "put", (at) => this.put(at)],
      [3, "delete", (at) => this.remove(at)],
      [3, "mixed", (at) => this.mixed(at)],
      [1, "dated", (at) => this.dated(at)],
      [7, "undo", (at) => this.undo(at)],
      [1, "compact aside", (at) => this.aside(at)],
      [1, "compact beside a change", (at) => this.beside(at)],
      [0.3, "compact", (at) => this.rewrite(at, false, () => this.of(at).compact())],
      [0.5, "compact, keeping", (at) => this.rewrite(at, true, () => this.of(at).compact(undefined, true))],
      [0.3, "index", (at) => this.rewrite(at, true, () => this.of(at).buildIvf(2, 0.9))],
      [this.dtype === "int4" ? 0 : 0.4, "alter", (at) => this.alter(at)],
      [0.4, "days", (at) => this.days(at)],
      [0.4, "purge", (at) => this.purge(at)],
      [0.6, "reopen", (at) => this.reopen(at)],
    ];
    let left = this.next() * steps.reduce((sum, [weight]) => sum + weight, 0);
    const [, name, work] = steps.find(([weight]) => {
      left -= weight;
      return left < 0;
    })!;
    const at = Math.floor(this.next() * 2);
    this.log.push(`${name} (${at})`);
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    await work(at);
    this.look(at, this.next() < 0.3);
    if (this.next() < 0.3) this.look(1 - at, this.next() < 0.3);
  }

  private ids(most: number): string[] {
    const all = Array.from({ length: IDS }, (_, i) => `id ${i}`);
    const some = Array.from({ length: 1 + Math.floor(this.next() * most) }, () => this.pick(all));
    return [...new Set(some)];
  }

  /** Rows to put, with the vectors that they have; of one call all or none have a text. */
  private rowsOf(ids: readonly string[]) {
    const vectors = unitVectors(ids.length, DIM, this.next);
    if (this.next() < 0.2) vectors.fill(0, 2);
    const hasTexts = this.next() < 0.8;
    const rows = ids.map((): PastRow => {
      const chance = this.next();
      const metadata = chance < 0.3 ? undefined : { kind: Math.floor(chance * 5), lang: "de", n: [chance] };
      return { text: hasTexts ? (chance > 0.9 ? "" : `text ${chance}`) : undefined, metadata };
    });
    const texts = hasTexts ? { texts: rows.map(({ text }) => text!) } : {};
    const put = { ids: [...ids], vectors, metadata: rows.map(({ metadata }) => metadata), ...texts };
    return { put, steps: ids.map((id, i): PastStep => [id, rows[i]!]) };
  }

  /** A change through a store, by a client of its own, which the model makes as well. */
  private async change(at: number, steps: readonly PastStep[], work: (c: Collection) => Promise<unknown>) {
    const client = this.pick(["one", "two", undefined]);
    await withOrigin(client === undefined ? {} : { client }, () => work(this.of(at)));
    this.model.noted({ save: this.of(at).generation, client, changes: this.model.apply(steps) });
  }

  private async put(at: number): Promise<void> {
    const { put, steps } = this.rowsOf(this.ids(4));
    const isNew = put.ids.every((id) => !this.model.rows.has(id));
    await this.change(at, steps, (c) => (isNew && this.next() < 0.5 ? c.add(put) : c.upsert(put)));
  }

  private async remove(at: number): Promise<void> {
    const ids = this.ids(3);
    await this.change(
      at,
      ids.map((id): PastStep => [id]),
      (c) => c.delete(ids),
    );
  }

  /** Several puts and deletes in one save. */
  private async mixed(at: number): Promise<void> {
    const parts = Array.from({ length: 2 + Math.floor(this.next() * 3) }, () =>
      this.next() < 0.4 ? this.ids(3) : this.rowsOf(this.ids(3)),
    );
    const steps = parts.flatMap((part) => (Array.isArray(part) ? part.map((id): PastStep => [id]) : part.steps));
    await this.change(at, steps, (c) =>
      c.change(async (t) => {
        for (const part of parts) await (Array.isArray(part) ? t.delete(part) : t.put(Put.UPSERT, part.put));
      }),
    );
  }

  private async dated(at: number): Promise<void> {
    const { put, steps } = this.rowsOf(this.ids(4));
    const created = put.ids.map(() => (this.next() < 0.3 ? undefined : Math.floor(this.next() * 1e12)));
    const updated = put.ids.map(() => (this.next() < 0.3 ? undefined : Math.floor(this.next() * 1e12)));
    await this.change(at, steps, (c) => c.change((t) => putDated(t, Put.UPSERT, { ...put, created, updated })));
  }

  private target(): PastTarget {
    const numbers = this.model.saves.map(({ save }) => save);
    const [chance, id] = [this.next(), this.next() < 0.3 ? this.pick(this.ids(1)) : undefined];
    if (chance < 0.4) return { id };
    if (chance < 0.8) return { id, save: this.next() < 0.9 && numbers.length > 0 ? this.pick(numbers) : 1_000_000 };
    const times = this.model.shown.map(({ time }) => time!);
    return { id, since: times.length > 0 ? this.pick(times.slice(-8)) : 0 };
  }

  private async undo(at: number): Promise<void> {
    const c = this.of(at);
    const [target, force] = [this.target(), this.next() < 0.4];
    this.log.push(JSON.stringify({ ...target, force }));
    const plan = this.model.plan(target);
    const was = c.generation;
    const planned = attempt(() => planUndo(c, target));
    same(planned === undefined, plan === undefined, "whether there is something to undo");
    if (planned && plan) {
      const { saved, lost, ...rest } = planned;
      same(rest, plan, "what an undo would do");
      same(lost, [], "rows that are lost");
      same(saved, this.model.shown.find(({ save }) => save === plan.first)!.time, "when the first save was made");
    }
    const steps = plan && this.model.stepsOf(plan, force);
    const undone = await undo(c, target, { force, planned: this.next() < 0.5 ? planned : undefined }).catch((error) => {
      if (!(error instanceof SvcError)) throw error;
      return undefined;
    });
    same(undone !== undefined, steps !== undefined, "whether it was undone");
    if (!steps || !plan) return same(c.generation, was, "the last save after a refused undo");
    same(undone, planned, "what an undo did");
    const { id } = target;
    const [digest] = id === undefined ? [] : [new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 16)];
    const changes = this.model.apply(steps);
    this.model.noted({ save: c.generation, client: undefined, undoes: [plan.first, plan.last], row: digest, changes });
    if (this.model.isOff) throw new Error("an undo without a history");
  }

  private async rewrite(_: number, keepsHistory: boolean, work: () => Promise<unknown>): Promise<void> {
    await work();
    this.model.rewritten(keepsHistory);
  }

  private async aside(at: number): Promise<void> {
    const isDone = await this.of(at).compactAside(new AbortController().signal, 60_000);
    if (isDone) this.model.rewritten(true);
  }

  private async beside(at: number): Promise<void> {
    const compacted = this.of(at).compactBeside(new AbortController().signal);
    const earlier = this.model.saves.length;
    await (this.next() < 0.5 ? this.put(1 - at) : this.remove(at));
    if (await compacted) this.model.rewrittenBeside(earlier);
    // The model took the generation for the save's number, which the compaction may have raised since.
    const [newest] = savesOf(this.of(at));
    const noted = this.model.shown.at(-1);
    if (newest && noted) noted.save = newest.save;
  }

  private async alter(at: number): Promise<void> {
    const { filterColumns, lexical } = this.of(at).schema;
    const column = this.pick(COLUMNS);
    const has = filterColumns.includes(column);
    const isLexical = !lexical && this.next() < 0.3;
    const options = isLexical ? { lexical: true } : has ? { dropColumns: [column] } : { addColumns: [column] };
    await alter(this.stores[at]!, undefined as unknown as SentenceEncoder, NAME, options);
    this.model.rewritten(true);
  }

  private async days(at: number): Promise<void> {
    const historyDays = this.model.isOff ? 30 : this.next() < 0.5 ? 0 : 20;
    await alter(this.stores[at]!, undefined as unknown as SentenceEncoder, NAME, { historyDays });
    if (historyDays === 0) this.model.isOff = true;
    else if (this.model.isOff) this.model.turnedOn([...savesOf(this.of(at))].at(-1)?.save);
  }

  private async purge(at: number): Promise<void> {
    const ids = this.ids(2);
    const live = ids.filter((id) => this.model.rows.has(id)).length;
    same(await this.of(at).purge(ids), live, "how many rows were purged");
    this.model.rewritten(true);
    this.model.purged(ids);
  }

  private async reopen(at: number): Promise<void> {
    await this.stores[at]!.close();
    this.stores[at] = this.open();
  }

  /** @param deep also what each save changed, and the versions of a row */
  private look(at: number, deep: boolean): void {
    const c = this.of(at);
    const { rows, shown } = this.model;
    same(c.ids().sort(), [...rows.keys()].sort(), "the ids");
    for (const row of c.get([...rows.keys()], WHOLE)) sameRow(row, rows.get(row.id), `row ${row.id}`);
    const undone = this.model.undone();
    const found = [...savesOf(c)].reverse();
    same(
      found.map((save) => [save.save, save.added, save.replaced, save.deleted, save.origin.client, save.undoneBy]),
      shown.map(({ save, changes, client }) => {
        const count = (kind: string) => changes.filter((change) => change.kind === kind).length;
        return [save, count("added"), count("replaced"), count("deleted"), client, undone.get(save)];
      }),
      "the saves",
    );
    same(
      found.map(({ origin }) => [origin.undoes, origin.row]),
      shown.map(({ undoes, row }) => [undoes && [undoes], row]),
      "what undos undo",
    );
    for (const [i, { time }] of found.entries()) {
      shown[i]!.time ??= time;
      same(time, shown[i]!.time, `the time of save ${shown[i]!.save}`);
    }
    if (!deep) return;
    const changes = c.changes(ALL, WHOLE);
    const wanted = shown.flatMap(({ save, changes: of }) => of.map((change) => ({ save, ...change })));
    same(
      changes.map(({ save, id, kind }) => [save, id, kind]),
      wanted.map(({ save, id, kind }) => [save, id, kind]),
      "the changes",
    );
    for (const [i, { before, id, save }] of changes.entries()) {
      sameRow(before, wanted[i]!.before, `row ${id} before save ${save}`);
    }
    const id = this.pick(this.ids(1));
    const all = versionsOf(c, id).reverse();
    const of = wanted.filter((change) => change.id === id);
    const [first] = all;
    same(
      first?.kind === "before" ? first.row?.text : undefined,
      of[0]?.before?.text,
      `the text of ${id} before all saves`,
    );
    const versions = all.filter(({ kind }) => kind !== "before");
    same(
      versions.map(({ save, kind }) => [save.save, kind]),
      of.map(({ save, kind }) => [save, kind]),
      `the versions of ${id}`,
    );
    for (const [i, { row, kind, save }] of versions.entries()) {
      const after = i + 1 < of.length ? of[i + 1]!.before : rows.get(id);
      same(row?.text, kind === "deleted" ? undefined : after?.text, `the text of ${id} after save ${save.save}`);
    }
  }
}

function sameRow(row: Row | undefined, wanted: PastRow | undefined, what: string): void {
  same(row !== undefined, wanted !== undefined, `whether there is ${what}`);
  if (!row || !wanted) return;
  wanted.vector ??= row.vector;
  wanted.created ??= row.times?.created;
  const { metadata, text, vector, times } = row;
  same([metadata, text, vector, times?.created], [wanted.metadata, wanted.text, wanted.vector, wanted.created], what);
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof SvcError) return undefined;
    throw error;
  }
}

function same(got: unknown, wanted: unknown, what: string): void {
  if (Bun.deepEquals(got, wanted)) return;
  throw new Error(`${what}: ${JSON.stringify(got)?.slice(0, 600)} instead of ${JSON.stringify(wanted)?.slice(0, 600)}`);
}

/** Lives so many steps. @throws Error with the seed and the last steps */
export async function livePast(native: Native, seed: number, steps: number): Promise<Record<string, number>> {
  const past = new Past(seed, native);
  await past.live(steps);
  return past.counts;
}
