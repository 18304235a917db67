/**
 * Puts rows that a person edited in a folder back into their collection. If a row was also changed in the collection, it is
 * not overwritten: the version of the folder is added as another row.
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

/** A row as its file has it. It was edited since the export, or the collection does not have it. */
export interface FolderRow {
  readonly id: string;
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  /** `stateOf` of the row when it was exported; absent if it is not known. */
  readonly base?: string | undefined;
  /** Its file, for messages. */
  readonly where: string;
}

/** The rows of one call. Each id occurs once. */
export interface FolderArguments {
  readonly collection: string;
  readonly rows: readonly FolderRow[];
  /** The schema of the collection, if this call creates it; an existing one has to agree with it. */
  readonly schema: WantedSchema;
  readonly source?: ForeignSchema | undefined;
  /** Whether to change nothing, and only return what would be done. */
  readonly dryRun: boolean;
  /** Gets the error of a row that is wrong, and the row is left out. Absent: the call fails. */
  readonly onBad?: ((error: SvcError) => void) | undefined;
}

/**
 * What was done with a row: nothing, because the collection has it as its file does; it was updated or added; or the file's
 * version was added as another row.
 */
export type FolderOutcome = "same" | "updated" | "added" | "beside";

/** What was done with a row, and its id and state after that. */
export interface FolderDone {
  readonly outcome: FolderOutcome;
  readonly id: string;
  readonly state: string;
  /** A member of its metadata that its file does not have: the value of the partition key. */
  readonly completed?: readonly [key: string, value: string] | undefined;
}

/** The result, in the order of the rows; undefined for a row that was left out. */
export interface FolderPayload {
  readonly rows: readonly (FolderDone | undefined)[];
  readonly masked: number;
}

type RowGuard = (row: Parameters<typeof guardRow>[1]) => ReturnType<typeof guardRow>;

/** A digest of a row's id, text and metadata, as 32 hexadecimal digits. */
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

/** The id of a version that is added as another row. It depends on the version alone, so that repeated calls add it once. */
function idBeside(id: string, version: string): string {
  const suffix = `~${version.slice(0, 12)}`;
  return Buffer.byteLength(id) + suffix.length <= ID_BYTES_MAX ? `${id}${suffix}` : `row${suffix}`;
}

/** @throws ValueError if a person cannot edit the rows of the collection */
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

/** Puts all rows in one change. @throws ValueError that names the file of a row that is wrong; then nothing is put */
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

/** Deletes the rows whose state is still `base`. @returns the deleted ids, and those of rows that changed, which stay */
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

/** What will be done with one row. */
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
    // Other processes may change rows while the texts are embedded, so the plans are compared again under the lock.
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
    // A version that is added as another row gets the current time.
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
    // If a person removed all metadata, the value of the partition key remains: every row has it.
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
