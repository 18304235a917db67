/**
 * Notes in Markdown (CommonMark 0.31, with front matter as Obsidian and static site generators write it): a folder of
 * them, or one file. A file becomes a row, or with `--split headings` what stands below each of its headings.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { Breather } from "../../breather.ts";
import { OSError, ValueError } from "../../errors.ts";
import { TEXT_BYTES_MAX } from "../../limits.ts";
import { type ByteSource, sourceName } from "../input/bytes.ts";
import { isBlankText, rowOf, timeOf } from "../input/fields.ts";
import { Remarks } from "../input/remarks.ts";
import type { ForeignRow, Format, RowSource } from "../input/row.ts";
import { readFrontMatter } from "./front-matter.ts";
import { anchors, type Section, sectionsOf } from "./headings.ts";
import { findNotes, isNote, type NoteFile } from "./note-files.ts";

/** The format. */
export const MARKDOWN: Format = {
  name: "markdown",
  title: "a folder of Markdown files, or one of them",
  matches: (path, _head, isFolder) => isFolder || isNote(path.replace(/\.gz$/i, "")),
  async open(path, { input, flags = {}, onBad }) {
    const split = flags.split ?? "files";
    const remarks = new Remarks(onBad);
    if (input) return new Notes(sourceName(path), input.bytes, single(path, input), split, remarks);
    const files = findNotes(path, remarks);
    if (files.length === 0) throw new ValueError(`${sourceName(path)} holds no Markdown files (.md, .markdown)`);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return new Notes(sourceName(path), bytes, inFolder(path, files, remarks), split, remarks);
  },
};

/** A file's bytes, and its path below the folder that is imported, with slashes. */
interface Note {
  readonly path: string;
  readonly bytes: Uint8Array;
}

class Notes implements RowSource {
  private read = 0;

  constructor(
    readonly name: string,
    readonly bytes: number | undefined,
    private readonly notes: AsyncIterable<Note>,
    private readonly split: "files" | "headings",
    private readonly kept: Remarks,
  ) {}

  position(): number {
    return this.read;
  }

  remarks(): readonly string[] {
    return this.kept.sentences();
  }

  async *rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]> {
    const breather = new Breather(signal, "interrupted");
    for await (const { path, bytes } of this.notes) {
      if (breather.due) await breather.pause();
      this.read += bytes.length;
      const text = utf8(bytes);
      if (text === undefined) this.kept.add("not UTF-8", `'${path}'`);
      else yield this.kept.row(() => this.note(path, text)) ?? [];
    }
  }

  private note(file: string, whole: string): ForeignRow[] {
    // Systems write the same name in different ways, and the same folder gives the same ids on all of them.
    const path = file.normalize("NFC");
    const where = `'${path}'`;
    const { text, lines, fields, problem } = readFrontMatter(whole);
    if (problem !== undefined)
      this.kept.add(`front matter that ${problem} (it stays in the text)`, where, "kept as text");
    const sections = sectionsOf(text);
    const heading = sections.find((one) => one.level > 0)?.title;
    const given = fields.find(([key]) => key.toLowerCase() === "title")?.[1];
    const named = basename(path).replace(/\.[^.]*$/, "");
    const title = typeof given === "string" && given.trim() !== "" ? given.trim() : (heading ?? named);
    const others = fields.filter(([key]) => !OWN.has(key.toLowerCase()));
    const common = {
      created: timeIn(fields, ["created", "created_at", "date"]),
      updated: timeIn(fields, ["updated", "updated_at", "modified", "lastmod"]),
      metadata: [["path", path], ["title", title], ...others] as [string, unknown][],
    };
    if (this.split === "files") {
      if (isBlankText(text)) {
        this.kept.blank(where);
        return [];
      }
      // A name is often all that says what a note is about.
      const begins = sections[0]!.level > 0;
      return [rowOf({ ...common, id: path, text: begins ? text.trim() : `${title}\n\n${text.trim()}` }, where)];
    }
    return this.sections(sections, path, title, lines, common);
  }

  private sections(
    sections: readonly Section[],
    path: string,
    title: string,
    lines: number,
    common: { metadata: [string, unknown][]; created: number | undefined; updated: number | undefined },
  ): ForeignRow[] {
    const names = anchors(sections);
    return sections.flatMap((section, i) => {
      if (isBlankText(section.body)) return [];
      const headings = section.path[0] === title ? section.path : [title, ...section.path];
      const [id, where] =
        section.level === 0 ? [path, `'${path}'`] : [`${path}#${names[i]}`, `'${path}', line ${lines + section.line}`];
      const metadata: [string, unknown][] = [...common.metadata, ["headings", section.path]];
      return [rowOf({ ...common, id, text: `${headings.join(" > ")}\n\n${section.body.trim()}`, metadata }, where)];
    });
  }
}

/** What front matter cannot say: members of the metadata that this import makes. */
const OWN: ReadonlySet<string> = new Set(["path", "title", "headings"]);

function timeIn(fields: readonly (readonly [string, unknown])[], names: readonly string[]): number | undefined {
  for (const name of names) {
    const time = timeOf(fields.find(([key]) => key.toLowerCase() === name)?.[1]);
    if (time !== undefined) return time;
  }
  return undefined;
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

async function* single(path: string, input: ByteSource): AsyncGenerator<Note> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input.chunks()) {
    length += chunk.length;
    if (length > TEXT_BYTES_MAX)
      throw new ValueError(`${input.name} has more than ${TEXT_BYTES_MAX} bytes: divide it`, "limit");
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks, length);
  if (utf8(bytes) === undefined) throw new ValueError(`${input.name} is not UTF-8 text: convert it first`);
  yield { path: path === "-" ? "stdin.md" : basename(path).replace(/\.gz$/i, ""), bytes };
}

async function* inFolder(root: string, files: readonly NoteFile[], remarks: Remarks): AsyncGenerator<Note> {
  for (const { path, bytes } of files) {
    if (bytes > TEXT_BYTES_MAX) remarks.add(`more than ${TEXT_BYTES_MAX} bytes`, `'${path}'`);
    else {
      const read = readNote(join(root, path), path);
      if (read) yield { path, bytes: read };
      else remarks.add("replaced by something else meanwhile", `'${path}'`);
    }
  }
}

/** The bytes of a file; undefined where a link or a pipe has taken its place. @throws OSError */
function readNote(file: string, path: string): Uint8Array | undefined {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile() || stat.size > TEXT_BYTES_MAX) return undefined;
      const bytes = Buffer.alloc(stat.size);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = readSync(fd, bytes, length, bytes.length - length, null);
      }
      return bytes.subarray(0, length);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP" || code === "ENOENT") return undefined;
    throw new OSError(`cannot read '${path}': ${code ?? "unknown error"}`);
  }
}
