/** Rows of files that are read one by one, each as a whole. */
import { Breather } from "../../breather.ts";
import type { Remarks } from "../input/remarks.ts";
import type { ForeignRow, RowSource } from "../input/row.ts";
import { type Note, utf8 } from "./note-files.ts";

/** What folders of notes and of plain text have in common. */
export abstract class NoteSource implements RowSource {
  private read = 0;

  constructor(
    readonly name: string,
    readonly bytes: number | undefined,
    private readonly notes: AsyncIterable<Note>,
    protected readonly kept: Remarks,
  ) {}

  position(): number {
    return this.read;
  }

  remarks(): readonly string[] {
    return this.kept.sentences();
  }

  /** The rows of one file. @throws ValueError, TypeError naming the place */
  protected abstract rowsOf(path: string, text: string, bytes: Uint8Array): Iterable<ForeignRow[]>;

  async *rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]> {
    const breather = new Breather(signal, "interrupted");
    for await (const { path, bytes } of this.notes) {
      if (breather.due) await breather.pause();
      this.read += bytes.length;
      const text = utf8(bytes);
      if (text === undefined) this.kept.add("not UTF-8", `'${path}'`);
      else yield* this.rowsOf(path, text, bytes);
    }
  }
}
