/**
 * A store as the verbs and the operations of a server use it, and one that presents some of its collections only. Hidden
 * collections look as if they did not exist: no list, no search of all collections and no error names them.
 */
import { shown } from "../../checks/kinds.ts";
import { checkName } from "../../checks/names.ts";
import { PermissionError, type ValueError } from "../../errors.ts";
import type { Collection } from "../collection.ts";
import { caseTwin } from "../directory.ts";
import { MissingCollection } from "../folder-lock.ts";
import type { FolderState } from "../folder-state.ts";
import type { CollectionOverview } from "../overview.ts";
import type { SchemaInput } from "../schema.ts";
import { refusalOf, type Store } from "../store.ts";

/** What a verb may use of a store. A method that is added here has to be written for `LimitedStore` too. */
export type StoreView = Pick<
  Store,
  | "dir"
  | "at"
  | "requireUsable"
  | "refuseChanges"
  | "refusal"
  | "list"
  | "present"
  | "listed"
  | "folders"
  | "find"
  | "opened"
  | "open"
  | "absent"
  | "create"
  | "createWith"
  | "overview"
  | "forget"
  | "unsaved"
  | "lostSavesOf"
  | "close"
>;

/** What was counted before it was done. */
export interface Charge {
  /** It was done. */
  keep(): void;
  /** It was not. */
  takeBack(): void;
}

/** What may be used of a store. */
export interface Allowance {
  /** Whether a collection of that name is presented. */
  allows(name: string): boolean;
  /** Throws where nothing may be changed. */
  refuseChanges(): void;
  /** Counts a new collection. @throws PermissionError where it is too much */
  chargeCollection(): Charge;
}

/** The collections of a store that an allowance allows. */
export class LimitedStore implements StoreView {
  constructor(
    private readonly store: Store,
    private readonly allowance: Allowance,
  ) {}

  get dir(): string {
    return this.store.dir;
  }

  at(dir: string): Store {
    return this.store.at(dir);
  }

  requireUsable(): void {
    this.store.requireUsable();
  }

  readonly refuseChanges = (): void => {
    this.allowance.refuseChanges();
    this.store.refuseChanges();
  };

  get refusal(): string | undefined {
    return refusalOf(this.refuseChanges);
  }

  list(): string[] {
    return this.allowed(this.store.list());
  }

  present(): string[] {
    return this.allowed(this.store.present());
  }

  listed(): string[] {
    return this.allowed(this.store.listed());
  }

  folders(): Map<string, FolderState> {
    return new Map([...this.store.folders()].filter(([name]) => this.allows(name)));
  }

  find(name: string): Collection | undefined {
    if (this.allows(name)) return this.store.find(name);
    this.requireUsable();
    checkName(name);
    return undefined;
  }

  opened(name: string): Collection | undefined {
    return this.allows(name) ? this.store.opened(name) : undefined;
  }

  open(name: string): Collection {
    const found = this.find(name);
    if (!found) throw this.absent(name);
    return found;
  }

  absent(name: string): ValueError {
    return this.allows(name) ? this.store.absent(name) : new MissingCollection(name);
  }

  create(name: string, input: SchemaInput): Collection {
    this.refuseNew(name);
    const charge = this.chargeNew(name);
    try {
      const made = this.store.create(name, input);
      charge?.keep();
      return made;
    } catch (error) {
      charge?.takeBack();
      throw error;
    }
  }

  createWith<T>(name: string, input: SchemaInput, work: (made: Collection) => Promise<T>): Promise<T> {
    this.refuseNew(name);
    const charge = this.chargeNew(name);
    let collection: Collection | undefined;
    const watched = (made: Collection) => {
      collection = made;
      return work(made);
    };
    return this.store.createWith(name, input, watched).then(
      (result) => {
        charge?.keep();
        return result;
      },
      (error) => {
        // A failure after the save leaves it there.
        if (collection?.isSaved) charge?.keep();
        else charge?.takeBack();
        throw error;
      },
    );
  }

  overview(names: readonly string[] = this.listed()): CollectionOverview[] {
    return this.store.overview(this.allowed(names));
  }

  forget(collection: Collection | undefined): void {
    this.store.forget(collection);
  }

  unsaved(): Collection[] {
    return this.store.unsaved().filter(({ name }) => this.allows(name));
  }

  lostSavesOf(name: string): number {
    return this.allows(name) ? this.store.lostSavesOf(name) : 0;
  }

  /** Nothing: the store belongs to the one who opened it. */
  async close(): Promise<void> {}

  private allows(name: string): boolean {
    return this.allowance.allows(name);
  }

  private allowed(names: readonly string[]): string[] {
    return names.filter((name) => this.allows(name));
  }

  /** Undefined for one that is there already: it is not made again. */
  private chargeNew(name: string): Charge | undefined {
    return this.store.find(name) ? undefined : this.allowance.chargeCollection();
  }

  /** @throws PermissionError, which names nothing but the new name */
  private refuseNew(name: string): void {
    this.allowance.refuseChanges();
    if (!this.allows(name)) throw new PermissionError(`you have no right to a collection named ${shown(name)}`);
    const hidden = [...this.store.folders().keys(), ...this.store.unsaved().map((one) => one.name)];
    const twin = caseTwin(
      name,
      hidden.filter((other) => !this.allows(other)),
    );
    // The store's own error would name the other collection.
    if (twin !== undefined)
      throw new PermissionError(`you cannot make a collection named ${shown(name)}: choose another name`);
  }
}
