/**
 * The rows of a collection as far as they can be read, whatever is damaged: those of the base, then what the intact
 * blocks of its deltas did to them. A block that is damaged is passed over, which is consistent row by row: operations
 * name rows by numbers that are never used again, and block headers say where the numbers of their rows begin. What it
 * put is lost, and what it deleted or replaced is there as it was before.
 */
import type { Environment } from "../../ffi/ty_runtime.ts";
import { Found, type FoundItem, type FoundRow, type NativeSalvage } from "../../ffi/ty_salvage.ts";
import { readManifestFile, restoreManifest } from "./folder-state.ts";
import { DTYPES, type Manifest, parseSaved, type SavedManifest } from "./schema.ts";

/** A live row; `birth` is when it was first put, as a row number: the order of rows. */
type Live = FoundItem & { birth: number };

/** What can be read of a collection. Its base and its deltas are opened when they are first needed. */
export class Salvage {
  private opened: NativeSalvage | undefined;
  private listed: ReturnType<typeof liveRows> | undefined;

  constructor(
    private readonly env: Environment,
    private readonly folder: string,
    /** What `collection.json` says. */
    readonly saved: SavedManifest,
    /** Whether it is as it was written: 0 yes, 1 with one bit restored, 2 no. */
    private readonly damage: number,
  ) {}

  /** The same, with the dimension and the element type that the base says it has. */
  get manifest(): Manifest {
    const { dim, dtype } = this.native.schema;
    return dim > 0 ? { ...this.saved.manifest, dim, dtype: DTYPES[dtype]! } : this.saved.manifest;
  }

  /** Parts of files that say nothing: blocks of deltas, a whole base. */
  get lostBlocks(): { file: string; offset: number; bytes: number }[] {
    return this.found.lost.map(({ file, at, bytes }) => ({ file: this.native.files[file]!.name, offset: at, bytes }));
  }

  /** Bits that were restored, by what their checksums say. */
  get restoredBits(): number {
    return this.native.restored + Number(this.damage === 1);
  }

  /** Rows that were live, as far as that is known. */
  get count(): number {
    return this.found.live.length;
  }

  *rows(): Generator<FoundRow> {
    for (const row of this.found.live) yield this.native.read(row);
  }

  /** The id of the row at a position of the base; undefined where it is damaged. */
  idOf(at: number): string | undefined {
    return this.native.read({ file: 0, at }).id;
  }

  close(): void {
    this.opened?.close();
  }

  private get native(): NativeSalvage {
    this.opened ??= openFiles(this.env, this.folder, this.saved, this.damage < 2);
    return this.opened;
  }

  private get found(): ReturnType<typeof liveRows> {
    this.listed ??= liveRows(this.native);
    return this.listed;
  }
}

function openFiles(env: Environment, folder: string, saved: SavedManifest, isWritten: boolean): NativeSalvage {
  const { manifest, files } = saved;
  const ours = files.filter(({ name, bytes }) => /^[a-z0-9._-]+$/.test(name) && Number.isSafeInteger(bytes));
  const base = ours.find(({ name }) => name.startsWith("base-")) ?? { name: "", bytes: 0 };
  const deltas = ours.filter(({ name }) => name.startsWith("delta-"));
  // C finds out whether there can be such a schema.
  const [dtype, columns] = [DTYPES.indexOf(manifest.dtype), manifest.filterColumns.length];
  return env.openSalvage(folder, [base, ...deltas], { dim: manifest.dim, dtype, columns, written: Number(isWritten) });
}

/**
 * Opens what can be read. A changed bit of the manifest is restored, and one that was edited is taken as it is.
 * Undefined where it cannot be read: it names the files.
 */
export function openSalvage(env: Environment, folder: string): Salvage | undefined {
  try {
    const bytes = readManifestFile(folder);
    const damage = restoreManifest(env, bytes);
    const saved = parseSaved(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return new Salvage(env, folder, saved, damage);
  } catch {
    return undefined;
  }
}

/** The rows that the files leave alive, in their order, and what is lost of the files. */
function liveRows(native: NativeSalvage): { live: Live[]; lost: FoundItem[] } {
  const live = new Map<number, Live>();
  const lost: FoundItem[] = [];
  let unknown = -1;
  for (let item = native.next(); item !== undefined; item = native.next()) {
    if (item.kind === Found.LOST) {
      lost.push(item);
      continue;
    }
    // No operation is known to be about a row whose number is damaged; such rows come first.
    if (item.row > Number.MAX_SAFE_INTEGER) item.row = unknown--;
    const victim = live.get(item.kind === Found.DELETE ? item.row : item.replaced);
    if (victim) live.delete(victim.row);
    if (item.kind === Found.DELETE) continue;
    const created = Math.min(item.created, victim?.created ?? Number.POSITIVE_INFINITY);
    live.set(item.row, { ...item, created, birth: victim?.birth ?? item.row });
  }
  // What a damaged block replaced is there twice: of an id the last put counts.
  if (lost.length > 0) dropOlder(live, native);
  return { live: [...live.values()].sort((a, b) => a.birth - b.birth), lost };
}

function dropOlder(live: Map<number, Live>, native: NativeSalvage): void {
  const last = new Map<string, number>();
  for (const item of [...live.values()]) {
    const { id } = native.read(item);
    if (id === undefined) continue;
    const other = last.get(id);
    if (other !== undefined) live.delete(Math.min(other, item.row));
    last.set(id, Math.max(other ?? item.row, item.row));
  }
}
