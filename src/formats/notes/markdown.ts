/**
 * Notes in Markdown (CommonMark 0.31, with front matter as Obsidian and static site generators write it): a folder of
 * them, or one file. A file becomes a row, or with `--split headings` what stands below each of its headings. Each
 * bullet and paragraph of the memories of agents becomes one, and of any file with `--split bullets`.
 */
import { basename, resolve } from "node:path";
import { ValueError } from "../../errors.ts";
import { sourceName } from "../input/bytes.ts";
import { digest, isBlankText, rowOf, timeOf } from "../input/fields.ts";
import type { FormatFlags } from "../input/flags.ts";
import { Remarks } from "../input/remarks.ts";
import type { ForeignRow, Format } from "../input/row.ts";
import { isAgentFile, isAgentName, isOneFact } from "./agent-files.ts";
import { blocksOf } from "./blocks.ts";
import { readFrontMatter } from "./front-matter.ts";
import { anchors, type Section, sectionsOf } from "./headings.ts";
import { findNotes, isNote, type Note, notesIn, singleNote } from "./note-files.ts";
import { NoteSource } from "./note-source.ts";

/** What becomes a row of a file. */
type Split = NonNullable<FormatFlags["split"]>;

/** The format. */
export const MARKDOWN: Format = {
  name: "markdown",
  title: "a folder of Markdown files, or one of them",
  matches: (path, _head, isFolder) => {
    const name = basename(path).replace(/\.gz$/i, "");
    return isFolder || isNote(name) || isAgentName(name);
  },
  async open(path, { input, flags = {}, onBad }) {
    const remarks = new Remarks(onBad);
    const above = path === "-" ? "" : resolve(path).replaceAll("\\", "/");
    const splitIn = (files: readonly string[], folder: string) => {
      const paths = new Set(files.map((file) => `${folder}/${file}`));
      return (file: string) => flags.split ?? (isAgentFile(`${folder}/${file}`, paths) ? "bullets" : "files");
    };
    if (input) {
      const folder = above.replace(/\/[^/]*$/, "");
      return new Notes(sourceName(path), input.bytes, singleNote(path, input), splitIn([], folder), remarks, flags);
    }
    const files = findNotes(path, remarks, (name) => isNote(name) || isAgentName(name));
    if (files.length === 0) throw new ValueError(`${sourceName(path)} holds no Markdown files (.md, .markdown)`);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const paths = files.map((file) => file.path);
    return new Notes(sourceName(path), bytes, notesIn(path, files, remarks), splitIn(paths, above), remarks, flags);
  },
};

class Notes extends NoteSource {
  constructor(
    name: string,
    bytes: number | undefined,
    notes: AsyncIterable<Note>,
    /** What becomes a row of the file of a path. */
    private readonly splitOf: (path: string) => Split,
    remarks: Remarks,
    private readonly flags: FormatFlags,
  ) {
    super(name, bytes, notes, remarks);
  }

  protected *rowsOf(path: string, text: string): Iterable<ForeignRow[]> {
    yield this.kept.row(() => this.note(path, text)) ?? [];
  }

  private note(file: string, whole: string): ForeignRow[] {
    // Systems write the same name in different ways, and the same folder gives the same ids on all of them.
    const path = file.normalize("NFC");
    const where = `'${path}'`;
    const { text, lines, fields, problem } = readFrontMatter(whole, /\.mdc$/i.test(file));
    if (problem !== undefined)
      this.kept.add(`front matter that ${problem} (it stays in the text)`, where, "kept as text");
    const sections = sectionsOf(text);
    const heading = sections.find((one) => one.level > 0)?.title;
    const given = fields.find(([key]) => key.toLowerCase() === "title")?.[1];
    const named = basename(path).replace(/\.[^.]*$/, "");
    const isFact = isOneFact(fields);
    // The name of such a file is made of its description.
    const titles = [given, isFact ? fields.find(([key]) => key === "description")![1] : undefined];
    const title =
      titles
        .find((one) => typeof one === "string" && one.trim() !== "")
        ?.toString()
        .trim() ??
      heading ??
      named;
    const others = fields.filter(([key]) => !OWN.has(key.toLowerCase()));
    const common = {
      created: timeIn(fields, ["created", "created_at", "date"]),
      updated: timeIn(fields, ["updated", "updated_at", "modified", "lastmod"]),
      metadata: [["path", path] as const, ["title", title] as const, ...others],
    };
    const wanted = this.splitOf(file);
    const split = wanted === "bullets" && this.flags.split === undefined && isFact ? "files" : wanted;
    if (split === "bullets") return this.blocks(sections, path, lines, common);
    if (split === "files") {
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
    common: Common,
  ): ForeignRow[] {
    const names = anchors(sections);
    return sections.flatMap((section, i) => {
      if (isBlankText(section.body)) return [];
      const headings = section.path[0] === title ? section.path : [title, ...section.path];
      const [id, where] =
        section.level === 0 ? [path, `'${path}'`] : [`${path}#${names[i]}`, `'${path}', line ${lines + section.line}`];
      const metadata = [...common.metadata, ["headings", section.path] as const];
      return [rowOf({ ...common, id, text: `${headings.join(" > ")}\n\n${section.body.trim()}`, metadata }, where)];
    });
  }

  /** Their ids are made of what they say: a bullet that moves keeps its row. */
  private blocks(sections: readonly Section[], path: string, lines: number, common: Common): ForeignRow[] {
    const seen = new Map<string, number>();
    return sections.flatMap((section) =>
      blocksOf(section.body).flatMap(({ text, lead, line }) => {
        const where = `'${path}', line ${lines + section.line + line + (section.level === 0 ? 0 : 1)}`;
        if (/^@\S+$/.test(text)) {
          this.kept.add("a reference to another file", where);
          return [];
        }
        const context = [section.path.join(" > "), lead ?? ""].filter((part) => part !== "").join("\n\n");
        const whole = context === "" ? text : `${context}\n\n${text}`;
        const name = digest(whole).slice(0, 16);
        const count = (seen.get(name) ?? 0) + 1;
        seen.set(name, count);
        const id = `${path}#${name}${count > 1 ? `-${count}` : ""}`;
        const metadata = [...common.metadata, ["headings", section.path] as const];
        return [rowOf({ ...common, id, text: whole, metadata }, where)];
      }),
    );
  }
}

/** What the rows of a file have in common. */
interface Common {
  readonly metadata: readonly (readonly [string, unknown])[];
  readonly created: number | undefined;
  readonly updated: number | undefined;
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
