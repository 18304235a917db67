/**
 * Rows that a person edited in a folder, back into their collection: a row that was changed there too is not overwritten, and
 * what the folder has of it is added beside it.
 */

import { shown } from "../checks/kinds.ts";
import { REPO_KEY } from "../checks/names.ts";
import type { Metadata } from "../checks/values.ts";
import { CancelledError, SvcError, ValueError } from "../errors.ts";
import type { ForeignSchema } from "../formats/input/row.ts";
import { ID_BYTES_MAX } from "../limits.ts";
import type { guardRow } from "../secrets/policy.ts";
import type { Collection, Row, Transaction } from "../store/collection.ts";
import type { StoreView } from "../store/limited/view.ts";
import { DEFAULT_PARTITION } from "../store/schema.ts";
import { Put } from "../store/writer.ts";
import { putDated } from "../texts/dated.ts";
import { checkSpace, type Embedder } from "../texts/embedder.ts";
import { embeddingOf, partitioned, putUpdate } from "../texts/put.ts";
import type { CallContext } from "./requests.ts";
import { agreeing, newSchema, type WantedSchema } from "./transfer-schema.ts";

/** A row as its file has it, which is not as it was exported or is of a row that is not there. */
export interface FolderRow {
  readonly id: string;
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  /** `stateOf` the row as it was exported; absent: not known. */
  readonly base?: string | undefined;
  /** Its file, for messages. */
  readonly where: string;
}

/** Rows of one call, each id once. */
export interface FolderArguments {
  readonly collection: string;
  readonly rows: readonly FolderRow[];
  /** What a collection that this call makes is like, or has to be like. */
  readonly schema: WantedSchema;
  readonly source?: ForeignSchema | undefined;
  /** Only say what would be done. */
  readonly dryRun: boolean;
  /** Gets what is wrong with a row, which is then left out; absent: the call fails. */
  readonly onBad?: ((error: SvcError) => void) | undefined;
}

/** What became of a row: it was as its file has it; it was updated or added; or the file's version was added beside it. */
export type FolderOutcome = "same" | "updated" | "added" | "beside";

/** What became of a row, and what it is after that. */
export interface FolderDone {
  readonly outcome: FolderOutcome;
  readonly id: string;
  readonly state: string;
  /** A member of its metadata that its file does not have: the value of the partition key. */
  readonly completed?: readonly [key: string, value: string] | undefined;
}

/** The result, in the order of the rows; undefined in place of one that was left out. */
export interface FolderPayload {
  readonly rows: readonly (FolderDone | undefined)[];
  readonly masked: number;
}

type RowGuard = (row: Parameters<typeof guardRow>[1]) => ReturnType<typeof guardRow>;

/** What a row is, as 32 hexadecimal digits: its id, its text and its metadata. */
export function stateOf({
  id,
  text,
  metadata,
}: {
  readonly id: string;
  readonly text?: string | undefined;
  readonly metadata?: Metadata | undefined;
}): string {
  const parts = JSON.stringify([id, text ?? null, metadata ?? null]);
  return new Bun.CryptoHasher("sha256").update(parts).digest("hex").slice(0, 32);
}

/** The id of a version that is added beside a row: the same for the same version, so that a repeated call adds it once. */
function idBeside(id: string, version: string): string {
  const suffix = `~${version.slice(0, 12)}`;
  return Buffer.byteLength(id) + suffix.length <= ID_BYTES_MAX ? `${id}${suffix}` : `row${suffix}`;
}

/** Refuses a collection whose rows a person cannot edit. @throws ValueError */
export function checkEditable({ name, schema }: Collection): void {
  if (schema.keyName === REPO_KEY) {
    throw new ValueError(
      `collection ${shown(name)} holds the index of a repository: edit its files, and the index follows`,
    );
  }
  if (schema.embedderProfile === null) {
    throw new ValueError(
      `collection ${shown(name)} takes vectors that a program makes, so its texts cannot be edited: 'svc mem export ` +
        `${name} FILE' writes it with its vectors`,
    );
  }
}

/** Puts the rows in one change: all of them, or none. @throws ValueError naming the file of a row that is wrong */
export async function syncRows(
  store: StoreView,
  embedder: Embedder,
  a: FolderArguments,
  { signal }: CallContext,
  guard?: RowGuard,
): Promise<FolderPayload> {
  const existing = store.find(a.collection);
  if (existing) {
    checkEditable(agreeing(existing, a.schema));
    return new Sync(existing, embedder, a, guard).run(signal);
  }
  if (a.dryRun) {
    return { rows: a.rows.map((row) => ({ outcome: "added", id: row.id, state: stateOf(row) })), masked: 0 };
  }
  const schema = newSchema(embedder, { rows: a.rows, schema: a.schema, source: a.source });
  return store.createWith(a.collection, schema, async (made) => {
    checkEditable(made);
    return new Sync(made, embedder, a, guard).run(signal);
  });
}

/** Deletes rows that are still as they were. @returns the ids of those that are not, which stay */
export function deleteUnchanged(
  collection: Collection,
  rows: readonly { readonly id: string; readonly base: string }[],
  dryRun: boolean,
  { signal }: CallContext,
): Promise<{ deleted: string[]; changed: string[] }> {
  const sorted = () => {
    const stored = collection.get(
      rows.map(({ id }) => id),
      { metadata: true, text: true },
    );
    const live = stored.filter((row) => row.found);
    const bases = new Map(rows.map(({ id, base }) => [id, base]));
    const [changed, deleted] = [true, false].map((is) => {
      return live.filter((row) => (stateOf(row) !== bases.get(row.id)) === is).map(({ id }) => id);
    }) as [string[], string[]];
    return { deleted, changed };
  };
  if (dryRun) return Promise.resolve(sorted());
  return collection.change(async (t) => {
    const found = sorted();
    if (found.deleted.length > 0) await t.delete(found.deleted);
    return found;
  }, signal);
}

/** What is to be done with one row. */
interface Plan {
  readonly outcome: FolderOutcome;
  readonly id: string;
  readonly row: FolderRow;
  readonly metadata: Metadata | undefined;
  readonly state: string;
}

class Sync {
  private masked = 0;

  constructor(
    private readonly collection: Collection,
    private readonly embedder: Embedder,
    private readonly a: FolderArguments,
    private readonly guard: RowGuard | undefined,
  ) {}

  async run(signal: AbortSignal | undefined): Promise<FolderPayload> {
    const { a, collection, embedder } = this;
    checkSpace(collection.name, collection.schema.embedderProfile, embedder);
    const { keyName } = collection.schema;
    const rows = a.rows.map((row) => this.good(row));
    // What was read before the texts are embedded is compared again under the lock.
    for (;;) {
      const plans = this.plansOf(rows);
      const done = {
        rows: plans.map((plan) => plan && doneOf(plan, keyName)),
        masked: this.masked,
      };
      const updates = plans.filter((plan) => plan?.outcome === "updated") as Plan[];
      const additions = plans.filter((plan) => plan?.outcome === "added" || plan?.outcome === "beside") as Plan[];
      if (a.dryRun || updates.length + additions.length === 0) return done;
      const [updated, added] = [
        await embeddingOf(
          embedder,
          updates.map(({ row }) => row.text),
          signal,
          collection,
        ),
        await embeddingOf(
          embedder,
          additions.map(({ row }) => row.text),
          signal,
          collection,
        ),
      ];
      const isPut = await collection.change(async (t) => {
        if (JSON.stringify(this.plansOf(rows)) !== JSON.stringify(plans)) return false;
        if (updates.length > 0) {
          await putUpdate(t, collection, { ...partsOf(updates), scope: undefined }, updated, { signal });
        }
        if (additions.length > 0) await this.add(t, additions, added, signal);
        return true;
      }, signal);
      if (isPut) return done;
    }
  }

  private async add(
    t: Transaction,
    plans: readonly Plan[],
    embedding: Awaited<ReturnType<typeof embeddingOf>>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // A version beside a row was written today.
    const time = (of: "created" | "updated") =>
      plans.map(({ outcome, row }) => (outcome === "beside" ? undefined : row[of]));
    const times = { created: time("created"), updated: time("updated") };
    await putDated(
      t,
      Put.UPSERT,
      { ...partsOf(plans), ...embedding, ...times, defaultPartition: DEFAULT_PARTITION },
      { signal },
    );
  }

  /** A row as it may be stored; undefined for one that is left out. */
  private good(row: FolderRow): FolderRow | undefined {
    if (!this.guard) return row;
    try {
      const { text, metadata, masked } = this.guard({ id: row.id, text: row.text, metadata: row.metadata });
      this.masked += masked;
      return masked === 0 ? row : { ...row, text: text!, metadata: metadata ?? undefined };
    } catch (error) {
      if (!(error instanceof SvcError) || error instanceof CancelledError) throw error;
      error.message = `${row.where}: ${error.message}`;
      if (!this.a.onBad) throw error;
      this.a.onBad(error);
      return undefined;
    }
  }

  private plansOf(rows: readonly (FolderRow | undefined)[]): (Plan | undefined)[] {
    const detail = { metadata: true, text: true };
    const stored = this.collection.get(
      rows.flatMap((row) => (row ? [row.id] : [])),
      detail,
    );
    let at = 0;
    return rows.map((row) => row && this.planOf(row, stored[at++]!));
  }

  private planOf(row: FolderRow, stored: Row): Plan {
    const { id, text } = row;
    const { keyName } = this.collection.schema;
    const isNone = row.metadata === undefined || Object.keys(row.metadata).length === 0;
    // Metadata that a person removed are replaced by what every row has.
    const metadata =
      isNone && !(stored.found && stored.metadata) ? undefined : partitioned(row.metadata ?? {}, keyName);
    const plan = (outcome: FolderOutcome, as = id): Plan => ({
      ...{ outcome, id: as, row, metadata },
      state: stateOf({ id: as, text, metadata }),
    });
    if (!stored.found) return plan("added");
    const now = stateOf(stored);
    if (now === plan("same").state) return plan("same");
    if (now === row.base) return plan("updated");
    const beside = plan("beside", idBeside(id, stateOf({ id, text, metadata })));
    const [there] = this.collection.get([beside.id], { metadata: true, text: true });
    return there?.found && stateOf(there) === beside.state ? { ...beside, outcome: "same" } : beside;
  }
}

function partsOf(plans: readonly Plan[]) {
  return {
    ids: plans.map(({ id }) => id),
    texts: plans.map(({ row }) => row.text),
    metadata: plans.map(({ metadata }) => metadata),
  };
}

function doneOf({ outcome, id, state, metadata, row }: Plan, keyName: string): FolderDone {
  const isCompleted = metadata !== undefined && !Object.hasOwn(row.metadata ?? {}, keyName);
  return { outcome, id, state, ...(isCompleted && { completed: [keyName, String(metadata[keyName])] as const }) };
}
