/**
 * Which clients made the changes that are not saved yet. Such changes keep other processes from writing, so the server
 * has to know when the last client is gone that could be expected to save them.
 */

/** The part of a store that this uses. */
interface Batches {
  /** The unsaved changes of a collection, another object after each save of them. */
  batchOf(name: string): object | undefined;
}

export class Unsaved {
  /** By client and collection the batch that it changed last; a batch that was saved since counts no more. */
  private readonly made = new Map<object, Map<string, object>>();

  /** @param onLeft called with a batch, still unsaved, when the last client is gone that made a change of it */
  constructor(
    private readonly store: Batches,
    private readonly onLeft: (name: string, batch: object) => void,
  ) {}

  /** A client has changed a collection. @param isGone it left while the change was under way */
  changed(client: object, name: string, isGone: boolean): void {
    const batch = this.store.batchOf(name);
    if (!batch) return; // saved already
    if (isGone) {
      this.check(name, batch);
      return;
    }
    const batches = this.made.get(client) ?? new Map<string, object>();
    this.made.set(client, batches.set(name, batch));
  }

  /** A client is gone. */
  left(client: object): void {
    const batches = this.made.get(client);
    this.made.delete(client);
    for (const [name, batch] of batches ?? []) if (this.store.batchOf(name) === batch) this.check(name, batch);
  }

  private check(name: string, batch: object): void {
    const others = [...this.made.values()];
    if (!others.some((batches) => batches.get(name) === batch)) this.onLeft(name, batch);
  }
}
