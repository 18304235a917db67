/** The ranked files of a repository as hits, with what each shows of its file as it is on disk now. */

import type { Passage } from "../../answers/excerpt.ts";
import {
  CUT_FIELDS_BYTES,
  excerptOf,
  type Sharing,
  type ShownText,
  TEXT_FIELD_BYTES,
  textBytes,
} from "../../answers/share.ts";
import { jsonBytes } from "../../answers/sizes.ts";
import type { Metadata } from "../../checks/values.ts";
import type { Row } from "../../store/collection.ts";
import { chunkOf } from "../files/source.ts";
import type { Literal } from "../rank/literals.ts";
import type { RankedFile } from "../rank/ranking.ts";
import { asGrep, asRanges, type Form, rangeAbout, shownLines } from "./forms.ts";
import type { FileLines, Line } from "./line.ts";
import { type LineQuestion, linesOf, type Stretch } from "./lines.ts";

/** Windows of a file that lines are chosen from: with all of them no more definitions are shown (.995). */
const WINDOWS_READ = 4;

/** The first hits, in whose files literals are looked for outside of the windows too. */
const LITERAL_HITS = 5;
/** Lines with a literal that are looked at wherever they are in a file, and lines about each of them. */
const LITERAL_LINES = 3;
const LINES_ABOUT = 2;

/** A hit before it is shown: windows of one file. */
export interface FileRow {
  /** Id of the best window. */
  id: string;
  path: string;
  /** In the ranking, from 0. */
  rank: number;
  /** The best first; at least one. */
  windows: Row[];
}

/** A file of an answer. */
export interface FileHit extends ShownText {
  /** Id of the best window. */
  id: string;
  metadata: {
    path: string;
    /** Lines to open the file at, from 1, both included. */
    start_line: number;
    end_line: number;
    language: string;
    /** The name asked for that is defined there, or the one that the lines are part of. */
    symbol?: string;
  };
  /** The file is gone or cannot be read now: it is shown as it was indexed, without text. */
  unreadable?: true;
}

/** How ranked files are shown. */
export interface HitOptions {
  form: Form;
  question: Pick<LineQuestion, "names" | "valuesOf"> & { literals: readonly Literal[] };
  /** The names that a text of a language defines. */
  definitionsIn(text: string, language: string): readonly { name: string; line: number }[];
  /** The lines of a file, with their ends; undefined where it is gone. */
  linesOf(path: string): readonly string[] | undefined;
  /** What of a window that does not fit the question is about. */
  passageOf(text: string): Passage;
}

/** An excerpt of fewer bytes says nothing. */
const EXCERPT_BYTES_MIN = 40;

/**
 * A ranking's rows: one for each file, or for each of its windows, at most `perFile`. With one row a file, it stands
 * for all the file's windows that were found.
 */
export function fileRows(files: readonly RankedFile[], perFile: number): FileRow[] {
  const groups = files.flatMap(({ path, windows }) => {
    const each = perFile === 1 ? [windows] : windows.slice(0, perFile).map((window) => [window]);
    return each.map((some) => ({ id: some[0]!.id, path, windows: some }));
  });
  return groups.map((group, rank) => ({ ...group, rank }));
}

/** What rows show; each file is read once, when the first of its rows is shown. */
export class FileHits {
  private readonly files = new Map<string, readonly string[] | undefined>();
  private readonly views = new Map<FileRow, View>();

  constructor(private readonly options: HitOptions) {}

  /** A row as a hit, without text. One whose lines are gone has the lines that it had. */
  hitOf(row: FileRow): FileHit {
    const { file, window, range, symbol } = this.viewOf(row);
    const { path } = row;
    const { language } = window.metadata as { language: string };
    const { start, end } = range;
    const named = symbol === undefined ? {} : { symbol };
    return {
      id: window.id,
      metadata: { path, start_line: start, end_line: end, language, ...named },
      ...(file === undefined ? { unreadable: true as const } : {}),
      ...window.times,
    };
  }

  /** The text of a row, for its hit; undefined where the form has none, or the lines are gone. */
  textOf(row: FileRow, hit: FileHit): Sharing | undefined {
    const { form, passageOf } = this.options;
    const { file, window, shown } = this.viewOf(row);
    if (file === undefined || form === "files") return undefined;
    if (form === "windows") {
      const { start, end, piece } = stretchOf(window);
      const text = chunkOf(file, start, end, piece);
      if (text === undefined) return undefined;
      return sharing(hit, text, 1, (room) => {
        const bytes = room - TEXT_FIELD_BYTES - CUT_FIELDS_BYTES;
        return bytes < EXCERPT_BYTES_MIN ? undefined : excerptOf(text, passageOf(text), bytes);
      });
    }
    const { path } = row;
    const show = (lines: readonly Line[]) => (form === "grep" ? asGrep(path, lines) : asRanges(lines));
    const text = show(shown);
    if (text === "") return undefined;
    return sharing(hit, text, shown.length, (room) => {
      for (let count = shown.length - 1; count > 0; count--) {
        const less = show(shown.slice(0, count));
        if (textBytes(less) <= room) return { text: less };
      }
      return undefined;
    });
  }

  private viewOf(row: FileRow): View {
    const known = this.views.get(row);
    if (known) return known;
    const view = this.look(row);
    this.views.set(row, view);
    return view;
  }

  private look({ path, windows, rank }: FileRow): View {
    const { form, question, definitionsIn } = this.options;
    const first = windows[0]!;
    const { language } = first.metadata as { language: string };
    const file = this.read(path);
    const window = stretchOf(first);
    const stretches = form === "windows" ? [window] : windows.slice(0, WINDOWS_READ).map(stretchOf);
    if (form !== "windows" && file && rank < LITERAL_HITS) stretches.push(...literalStretches(file, question.literals));
    const whole = { file, window: first, range: window, shown: [], symbol: undefined };
    const found =
      file && linesOf(file, stretches, { ...question, definitionsIn: (text) => definitionsIn(text, language) });
    if (!found) return whole;
    const { best, symbol } = found;
    if (form === "windows") return { ...whole, symbol };
    const shown = shownLines(found, form, rank);
    const holds = (row: Row) => isWithin(best.number, stretchOf(row));
    return { file, window: windows.find(holds) ?? first, range: rangeAbout(shown, best), shown, symbol };
  }

  private read(path: string): readonly string[] | undefined {
    if (!this.files.has(path)) this.files.set(path, this.options.linesOf(path));
    return this.files.get(path);
  }
}

/** What is shown of a row. */
interface View extends Pick<FileLines, "symbol"> {
  /** Its lines; undefined where it is gone. */
  file: readonly string[] | undefined;
  /** The window that the hit is named by. */
  window: Row;
  range: { start: number; end: number };
  /** The most important first. */
  shown: readonly Line[];
}

/** Lines with each literal, with those about them: the windows that were ranked may be elsewhere. */
function literalStretches(file: readonly string[], literals: readonly Literal[]): Stretch[] {
  if (literals.length === 0) return [];
  const text = file.join("");
  const places = literals.flatMap((literal) => literal.placesIn(text, LITERAL_LINES)).sort((a, b) => a - b);
  const stretches: Stretch[] = [];
  let end = 0;
  for (let line = 1, next = 0; next < places.length; line++) {
    end += file[line - 1]!.length;
    if (places[next]! >= end) continue;
    stretches.push({ start: line - LINES_ABOUT, end: line + LINES_ABOUT });
    while (next < places.length && places[next]! < end) next++;
  }
  return stretches;
}

function stretchOf({ metadata }: Row): Stretch {
  const { start_line, end_line, piece } = metadata as Metadata;
  return {
    start: Number(start_line),
    end: Number(end_line),
    piece: typeof piece === "number" ? piece : undefined,
  };
}

function isWithin(number: number, { start, end }: Stretch): boolean {
  return number >= start && number <= end;
}

/** A hit's text. @param within less of it, in at most so many bytes with the fields' names; undefined: none of it */
function sharing(hit: FileHit, text: string, parts: number, within: (room: number) => ShownText | undefined): Sharing {
  const shorten = (share: number) => {
    const short = within(share);
    Object.assign(hit, short);
    // A comma stands for the opening brace.
    return short ? jsonBytes(short) - 1 : 0;
  };
  return { hit, text, bytes: textBytes(text), parts, shorten };
}
