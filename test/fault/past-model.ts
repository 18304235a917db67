/** What a collection and its history must hold: rows by id, the saves that made them, and what an undo makes of them. */
import { rowDigest } from "../../src/texts/history/history.ts";

/** A row as it was put; its stored vector and `created` are known once it was read. */
export interface PastRow {
  text: string | undefined;
  metadata: Record<string, unknown> | undefined;
  vector?: Float32Array | undefined;
  created?: number | undefined;
}

export interface PastChange {
  id: string;
  kind: "added" | "replaced" | "deleted";
  before: PastRow | undefined;
}

export interface PastSave {
  save: number;
  /** Known once it was read. */
  time?: number;
  client: string | undefined;
  undoes: [number, number] | undefined;
  row: string | undefined;
  changes: PastChange[];
  /** Made while a rewrite ran and no history was kept: the rewrite dropped it unless it had begun before. */
  isDoubtful?: boolean;
}

/** What an undo does, by id; undefined where it is refused. */
export interface PastPlan {
  first: number;
  last: number;
  restored: string[];
  reverted: string[];
  removed: string[];
  changed: string[];
}

export interface PastTarget {
  save?: number | undefined;
  since?: number | undefined;
  id?: string | undefined;
}

/** An id that is put or, without a row, deleted. */
export type PastStep = [id: string, row?: PastRow];

export class PastModel {
  rows = new Map<string, PastRow>();
  /** The oldest first. */
  saves: PastSave[] = [];
  /** No history is kept: none is shown, and a rewrite drops it. */
  isOff = false;

  /** Makes changes, in this order. @returns what they are together */
  apply(steps: readonly PastStep[]): PastChange[] {
    const changes: PastChange[] = [];
    const own = new Map<string, PastChange>();
    for (const [id, row] of steps) {
      const live = this.rows.get(id);
      if (row) {
        if (!live) own.set(id, add(changes, { id, kind: "added", before: undefined }));
        else if (!own.has(id)) own.set(id, add(changes, { id, kind: "replaced", before: live }));
        this.rows.set(id, live ? { ...row, created: live.created } : row);
      } else if (live) {
        const change = own.get(id);
        if (change?.kind === "added") changes.splice(changes.indexOf(change), 1);
        else if (change) change.kind = "deleted";
        else add(changes, { id, kind: "deleted", before: live });
        own.delete(id);
        this.rows.delete(id);
      }
    }
    return changes;
  }

  noted(save: Omit<PastSave, "undoes" | "row"> & Partial<PastSave>): void {
    if (save.changes.length > 0) this.saves.push({ undoes: undefined, row: undefined, ...save });
  }

  /** Forgets what a rewrite does not keep. */
  rewritten(keepsHistory: boolean): void {
    if (!keepsHistory || this.isOff) this.saves = [];
  }

  /** Forgets what a rewrite beside a change does not keep. @param earlier how many saves there were before the change */
  rewrittenBeside(earlier: number): void {
    if (!this.isOff) return;
    this.saves = this.saves.slice(earlier).map((save) => ({ ...save, isDoubtful: true }));
  }

  /** The history is kept again. @param oldest the number of the first save that it shows */
  turnedOn(oldest: number | undefined): void {
    this.isOff = false;
    const [first] = this.saves;
    if (!first?.isDoubtful) return;
    first.isDoubtful = false;
    // The number that was taken for the save's may be that of the rewrite, the next one.
    if (oldest !== undefined && oldest <= first.save) first.save = oldest;
    else this.saves.shift();
  }

  purged(ids: readonly string[]): void {
    for (const id of ids) this.rows.delete(id);
    for (const save of this.saves) save.changes = save.changes.filter(({ id }) => !ids.includes(id));
    this.saves = this.saves.filter(({ changes }) => changes.length > 0);
  }

  /** The saves that are shown, the oldest first. */
  get shown(): PastSave[] {
    return this.isOff ? [] : this.saves;
  }

  /** By which undo each save is undone, of all rows or, with `id`, of that row too. */
  undone(id?: string): Map<number, number> {
    const by = new Map<number, number>();
    for (const { save, undoes, row } of this.shown.toReversed()) {
      if (!undoes || by.has(save) || (row !== undefined && (id === undefined || row !== rowDigest(id)))) continue;
      for (const other of this.shown) {
        if (undoes[0] <= other.save && other.save <= undoes[1] && !by.has(other.save)) by.set(other.save, save);
      }
    }
    return by;
  }

  /** What an undo would do. Without `save` and `since` it is the latest save of which there is something to undo. */
  plan({ save, since, id }: PastTarget): PastPlan | undefined {
    const undone = this.undone(id);
    const has = (one: PastSave) => id === undefined || one.changes.some((change) => change.id === id);
    const isOpen = (one: PastSave) => one.undoes === undefined && !undone.has(one.save);
    if (since !== undefined) {
      const from = this.shown.findIndex(({ time }) => time! >= since);
      return from < 0 ? undefined : this.planOf(from, this.shown.length, id, isOpen, undefined);
    }
    const isMeant = (one: PastSave) => (save === undefined ? isOpen(one) : one.save === save && !undone.has(save));
    for (let from = this.shown.length - 1; from >= 0; from--) {
      if (!isMeant(this.shown[from]!) || !has(this.shown[from]!)) continue;
      const isLater = save === undefined ? () => false : isOpen;
      const plan = this.planOf(from, from + 1, id, isLater, save === undefined ? "left out" : "changed");
      if (plan || save !== undefined) return plan;
    }
    return undefined;
  }

  private planOf(
    from: number,
    to: number,
    id: string | undefined,
    isOpen: (save: PastSave) => boolean,
    furtherBack: "left out" | "changed" | undefined,
  ): PastPlan | undefined {
    const chosen = this.shown.slice(from, to).flatMap(({ changes }) => changes);
    const later = new Set(
      this.shown
        .slice(to)
        .filter(isOpen)
        .flatMap(({ changes }) => changes.map((change) => change.id)),
    );
    const plan: PastPlan = {
      first: this.shown[from]!.save,
      last: this.shown[to - 1]!.save,
      restored: [],
      reverted: [],
      removed: [],
      changed: [],
    };
    for (const one of new Set(chosen.map((change) => change.id))) {
      if (id !== undefined && one !== id) continue;
      const isFurther = furtherBack !== undefined && this.isFurtherBack(one, this.shown[from]!.save);
      if (isFurther && furtherBack === "left out") continue;
      if (isFurther) later.add(one);
      const changes = chosen.filter((change) => change.id === one);
      const [{ before }, live] = [changes[0]!, this.rows.get(one)];
      if (!before && !live) continue;
      if ((later.has(one) || changes.length > 1) && live && before && isSameRow(live, before)) continue;
      const list = later.has(one) ? "changed" : !before ? "removed" : live ? "reverted" : "restored";
      plan[list].push(one);
    }
    const { restored, reverted, removed, changed } = plan;
    return [restored, reverted, removed, changed].some((list) => list.length > 0) ? plan : undefined;
  }

  /** Whether a later undo of this save, or of an earlier one, changed this row and is in effect for it. */
  private isFurtherBack(id: string, save: number): boolean {
    const undone = this.undone(id);
    return this.shown.some((one) => {
      if (!one.undoes || one.save <= save || one.undoes[0] > save) return false;
      return !undone.has(one.save) && one.changes.some((change) => change.id === id);
    });
  }

  /** What an undo does; undefined where it is refused. */
  stepsOf({ first, last, restored, reverted, removed, changed }: PastPlan, force: boolean): PastStep[] | undefined {
    const chosen = this.shown.filter(({ save }) => first <= save && save <= last).flatMap(({ changes }) => changes);
    const ids = [...restored, ...reverted, ...removed, ...(force ? changed : [])];
    if (ids.length === 0) return undefined;
    const earliest = (id: string) => chosen.find((change) => change.id === id)!;
    const back = ids.filter((id) => earliest(id).before).sort((a, b) => at(a) - at(b));
    function at(id: string): number {
      return chosen.indexOf(earliest(id));
    }
    const others = back.filter(
      (id) => this.rows.has(id) && this.rows.get(id)!.created !== earliest(id).before!.created,
    );
    const gone = [...ids.filter((id) => !earliest(id).before), ...others];
    return [...gone.map((id): PastStep => [id]), ...back.map((id): PastStep => [id, { ...earliest(id).before! }])];
  }
}

function add(changes: PastChange[], change: PastChange): PastChange {
  changes.push(change);
  return change;
}

export function isSameRow(a: PastRow, b: PastRow): boolean {
  return Bun.deepEquals([a.text, a.metadata, a.created, a.vector], [b.text, b.metadata, b.created, b.vector], true);
}
