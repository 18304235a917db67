/** The file that a person edits: only this user can read it, and it goes with the process unless it has to be kept. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskError, readCapped, writeNew } from "../../../durable.ts";
import { attempt, ValueError } from "../../../errors.ts";
import { METADATA_BYTES_MAX, TEXT_BYTES_MAX } from "../../../limits.ts";
import { noteWhole } from "../../terminal/output.ts";

/** Bytes of the largest row as a file: YAML takes a few times the bytes of JSON at most. */
const FILE_BYTES_MAX = TEXT_BYTES_MAX + 8 * METADATA_BYTES_MAX;

/** A file in a folder of its own, removed when it is disposed of or the process ends. */
export class Draft implements Disposable {
  readonly path: string;
  private isKept = false;
  private readonly written: Uint8Array;
  /** A second Ctrl-C ends the process while it waits for a lock: then nothing else says where the file is. */
  private readonly onExit = () => {
    if (this.isEdited()) noteWhole(`svc: ${this.where()}`);
    else this.remove();
  };

  /** @param folder of mode 0700 */
  private constructor(
    private readonly folder: string,
    name: string,
    content: string,
  ) {
    this.path = join(folder, name);
    this.written = new TextEncoder().encode(content);
    process.on("exit", this.onExit);
    writeNew(this.path, this.written);
  }

  /** @param title a name that the editor shows, of which only letters, digits and hyphens stay @throws OSError */
  static write(title: string, content: string): Draft {
    const name = title
      .replace(/[^\w-]+/g, "-")
      .slice(0, 40)
      .replace(/^-+|-+$/g, "");
    try {
      return new Draft(mkdtempSync(join(tmpdir(), "svc-edit-")), `${name || "row"}.md`, content);
    } catch (error) {
      throw diskError(error, "create", "a temporary file to edit");
    }
  }

  /** What the file holds now. @throws ValueError for one that is missing, empty, too long or not UTF-8 */
  read(): string {
    const bytes = readCapped(this.path, FILE_BYTES_MAX);
    if (bytes === undefined) throw new ValueError("the editor has removed the file: nothing was saved");
    if (bytes.length === 0) throw new ValueError("the file is empty: nothing was saved");
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new ValueError("the file is not UTF-8 text: nothing was saved");
    }
  }

  /** Keeps the file where something was typed into it, and says in the error where it is. */
  keepFor<E>(error: E): E {
    if (!this.isEdited()) return error;
    this.isKept = true;
    if (error instanceof Error) error.message += `; ${this.where()}`;
    return error;
  }

  private where(): string {
    return `what you typed is in ${this.path}`;
  }

  private remove(): void {
    if (!this.isKept) rmSync(this.folder, { recursive: true, force: true });
  }

  /** Whether the file has other bytes than were written, and any. A file that cannot be read may have some. */
  private isEdited(): boolean {
    const now = attempt(() => readCapped(this.path, FILE_BYTES_MAX) ?? new Uint8Array(0));
    return now === undefined || (now.length > 0 && Buffer.compare(now, this.written) !== 0);
  }

  [Symbol.dispose](): void {
    process.off("exit", this.onExit);
    this.remove();
  }
}
