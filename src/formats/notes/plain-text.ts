/** Plain text, in UTF-8: each paragraph becomes a row. Empty lines stand between paragraphs. */

import { basename } from "node:path";
import { type Line, LineSplitter, OversizeLine } from "../../checks/lines.ts";
import { ValueError } from "../../errors.ts";
import { TEXT_BYTES_MAX } from "../../limits.ts";
import { type ByteSource, sourceName } from "../input/bytes.ts";
import { rowOf } from "../input/fields.ts";
import { type Found, inGroups, notUtf8 } from "../input/json-document.ts";
import { Remarks } from "../input/remarks.ts";
import type { ForeignRow, Format } from "../input/row.ts";
import { FileSource } from "../input/source.ts";
import { findNotes, isPlainText, notesIn } from "./note-files.ts";
import { NoteSource } from "./note-source.ts";

/** What begins a file of JSON, whatever its name. */
const JSON_BEGINS = /^\s*(?:\{\s*"|\[\s*[{["])/;

/** The format. */
export const PLAIN_TEXT: Format = {
  name: "text",
  title: "plain text, each paragraph a row",
  matches: (path, head, isFolder) => {
    return !isFolder && isPlainText(path.replace(/\.gz$/i, "")) && !JSON_BEGINS.test(new TextDecoder().decode(head));
  },
  async open(path, { input, onBad }) {
    const remarks = new Remarks(onBad);
    if (input) return new TextFile(input, path === "-" ? "stdin.txt" : basename(path).replace(/\.gz$/i, ""), remarks);
    const files = findNotes(path, remarks, isPlainText);
    if (files.length === 0) throw new ValueError(`${sourceName(path)} holds no files of plain text (.txt)`);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return new TextFolder(sourceName(path), bytes, notesIn(path, files, remarks), remarks);
  },
};

/** One file, or stdin, of any length. */
class TextFile extends FileSource {
  constructor(
    input: ByteSource,
    private readonly path: string,
    remarks: Remarks,
  ) {
    super(input, remarks);
  }

  async *rows(): AsyncGenerator<ForeignRow[]> {
    const paragraphs = new Paragraphs(this.path, this.name, this.kept);
    for await (const chunk of this.input.chunks()) yield* inGroups(paragraphs.push(chunk));
    yield* inGroups(paragraphs.finish());
  }
}

/** The files below a folder. */
class TextFolder extends NoteSource {
  protected *rowsOf(path: string, _text: string, bytes: Uint8Array): Iterable<ForeignRow[]> {
    const paragraphs = new Paragraphs(path.normalize("NFC"), `'${path}'`, this.kept);
    yield* inGroups(paragraphs.push(bytes));
    yield* inGroups(paragraphs.finish());
  }
}

/** The paragraphs of one file. */
class Paragraphs {
  private readonly splitter = new LineSplitter(TEXT_BYTES_MAX);
  private readonly decoder = new TextDecoder("utf-8", { fatal: true });
  private lines: string[] = [];
  private units = 0;
  private number = 0;
  private first = 0;

  constructor(
    private readonly path: string,
    private readonly name: string,
    private readonly remarks: Remarks,
  ) {}

  /** The paragraphs that end in these bytes. @throws ValueError for one that is too long, or not UTF-8 */
  *push(chunk: Uint8Array): Generator<Found> {
    yield* this.taken(this.splitter.push(chunk));
  }

  *finish(): Generator<Found> {
    yield* this.taken(this.splitter.finish());
    yield this.ended();
  }

  private *taken(lines: Iterable<Line>): Generator<Found> {
    for (const line of lines) {
      this.number += 1;
      const where = `${this.name}, line ${this.number}`;
      if (line instanceof OversizeLine) throw tooLong(where);
      // Computers before 2001 ended lines with CR.
      for (const part of this.decoded(line, where).split("\r")) {
        if (part.trim() === "") yield this.ended();
        else {
          if (this.lines.length === 0) this.first = this.number;
          this.lines.push(part);
          this.units += part.length;
          if (this.units > TEXT_BYTES_MAX) throw tooLong(`${this.name}, line ${this.first}`);
        }
      }
    }
  }

  private decoded(line: Uint8Array, where: string): string {
    let text: string;
    try {
      text = this.decoder.decode(line);
    } catch {
      throw notUtf8(where);
    }
    if (text.includes("\0"))
      throw new ValueError(`${where}: has a NUL, as binary files have: name a file of plain text`);
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  private ended(): Found {
    if (this.lines.length === 0) return undefined;
    const text = this.lines.join("\n");
    this.lines = [];
    this.units = 0;
    const where = `${this.name}, line ${this.first}`;
    return this.remarks.row(() => rowOf({ text, metadata: [["path", this.path]] }, where));
  }
}

function tooLong(where: string): ValueError {
  return new ValueError(
    `${where}: a paragraph of more than ${TEXT_BYTES_MAX} bytes: divide it with empty lines`,
    "limit",
  );
}
