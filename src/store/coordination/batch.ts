/** Changes of several calls that become durable together. */
import type { NativeCollection } from "../../../ffi/ty_collection.ts";
import { currentOrigin, type Origin, originJson } from "../../origin.ts";

/** What stands for a client without a name, among authors who have one. */
const UNNAMED = "without a name";
/** Bytes of the authors of one save: an origin has a limit, and its other fields need room too. */
const AUTHORS_BYTES_MAX = 1500;

/** @typeParam T what a change is made with: a `Transaction`, of the folder above */
export class Batch<T> {
  /** Rows and ids. */
  changes = 0;
  /** What made the changes, to make them again on a newer state; empty without `keepsOperations`. */
  operations: ((t: T) => Promise<unknown>)[] = [];
  /** Why some of them are not possible on the newest state; the next save that succeeds reports them. */
  readonly failures: unknown[] = [];
  /** What the lock file says of it, in a word. */
  private status = "";
  /** Who has made changes of it; undefined for one without a name. */
  private readonly authors = new Set<string | undefined>();
  /** What the history has of them, as JSON. */
  private origin: string | undefined;

  constructor(
    private readonly native: NativeCollection,
    private readonly keepsOperations = false,
  ) {}

  /** Counts in words, as `3 unsaved changes`. */
  get summary(): string {
    return `${this.changes} unsaved ${this.changes === 1 ? "change" : "changes"}`;
  }

  /** Runs an operation as a part of it. What it has changed before it fails counts too. */
  async run<R>(operation: (t: T) => Promise<R>, transaction: (count: (changed: number) => void) => T): Promise<R> {
    const { changes } = this;
    try {
      return await operation(transaction((changed) => (this.changes += changed)));
    } finally {
      if (this.changes > changes) {
        this.addAuthor(currentOrigin());
        if (this.keepsOperations) this.operations.push(operation);
      }
    }
  }

  /** The save of changes by several authors names all of them. */
  private addAuthor(origin: Origin): void {
    const { authors } = this;
    if (authors.has(origin.author)) return;
    authors.add(origin.author);
    const names = [...authors].map((name) => name ?? UNNAMED);
    this.origin = originJson(authors.size === 1 ? origin : { ...origin, author: listed(names) });
    if (this.origin !== undefined) this.native.origin(this.origin);
  }

  /** Tells other processes what keeps the lock; a system call only where that is new. */
  setStatus(word: string): void {
    if (this.status !== word) this.native.setStatus(word);
    this.status = word;
  }

  /** Sets the status that a save has replaced. */
  restoreStatus(): void {
    this.native.setStatus(this.status);
  }

  /**
   * Makes the changes again, on top of what other machines have saved since the first of them. Those that are not possible
   * on that state are not tried again.
   */
  async rebase(transaction: () => T): Promise<void> {
    const { operations, failures, origin } = this;
    if (origin !== undefined) this.native.origin(origin);
    this.operations = [];
    for (const operation of operations) {
      try {
        await operation(transaction());
        this.operations.push(operation);
      } catch (error) {
        failures.push(error);
      }
    }
  }
}

/** Names with commas between them; those for which there is no room are counted. */
function listed(names: readonly string[]): string {
  let text = names[0] ?? "";
  for (const [i, name] of names.entries()) {
    if (i === 0) continue;
    if (Buffer.byteLength(`${text}, ${name}`) > AUTHORS_BYTES_MAX) return `${text} and ${names.length - i} more`;
    text += `, ${name}`;
  }
  return text;
}
