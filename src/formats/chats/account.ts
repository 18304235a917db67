/** The files of an account export that have something to import: in a folder, or in the archive as it was downloaded. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { OSError, ValueError } from "../../errors.ts";
import { type ByteSource, openBytes, sourceName } from "../input/bytes.ts";
import { type Found, inGroups } from "../input/json-document.ts";
import { JsonElements } from "../input/json-elements.ts";
import type { Remarks } from "../input/remarks.ts";
import type { ForeignRow, RowSource } from "../input/row.ts";
import type { Zip } from "../input/zip.ts";
import { memoriesOf, projectOf } from "./claude-account.ts";
import { rowsOf } from "./conversations.ts";

type ElementReader = (value: unknown, where: string, remarks: Remarks) => Iterable<Found>;

/** Paths in an export and what reads their elements; ChatGPT and Claude number the files of large accounts. */
const READERS: readonly (readonly [path: RegExp, reader: ElementReader])[] = [
  [/(?:^|\/)conversations(?:[-_]\d+)?\.json$/i, rowsOf],
  [/(?:^|\/)(?:projects(?:[-_]\d+)?|projects\/[^/]+)\.json$/i, projectOf],
  [/(?:^|\/)(?:memories(?:[-_]\d+)?|memories\/[^/]+)\.json$/i, memoriesOf],
];
/** Folders of an unpacked archive that are looked into. */
const FOLDERS = ["", "projects", "memories"];

/** What reads the elements of a file of this path; undefined for one that has nothing to import. */
export function readerFor(path: string): ElementReader | undefined {
  // macOS adds files of its own to archives.
  if (/(?:^|\/)(?:__MACOSX\/|\.)/.test(path)) return undefined;
  return READERS.find(([pattern]) => pattern.test(path))?.[1];
}

/** One file of an export. */
export interface Part {
  readonly bytes: number;
  readonly reader: ElementReader;
  open(signal: AbortSignal): Promise<ByteSource>;
}

/** The files in a folder, by name. @throws OSError */
export function partsOfFolder(path: string): Part[] {
  return FOLDERS.flatMap((folder) =>
    filesIn(join(path, folder), folder !== "").flatMap((name) => {
      const inside = folder === "" ? name : `${folder}/${name}`;
      const reader = readerFor(inside);
      if (!reader) return [];
      const file = Bun.file(join(path, inside));
      return [{ bytes: file.size, reader, open: (signal: AbortSignal) => openBytes(join(path, inside), signal) }];
    }),
  );
}

/** The names of plain files, sorted. @param isOptional whether there may be no such folder */
function filesIn(folder: string, isOptional: boolean): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isOptional && (code === "ENOENT" || code === "ENOTDIR")) return [];
    throw new OSError(`cannot read ${sourceName(folder)}: ${code ?? "unknown error"}`);
  }
}

/** The files in an archive, which is open as long as they are read. @throws ValueError for one that is damaged */
export function partsOfZip(zip: Zip): Part[] {
  const parts = zip.entries().flatMap((entry): Part[] => {
    const reader = readerFor(entry.path);
    return reader ? [{ bytes: entry.packed, reader, open: (signal) => zip.source(entry, signal) }] : [];
  });
  if (parts.length === 0) {
    throw new ValueError(
      `${zip.name} is a zip archive without conversations.json, projects.json or memories.json of an account: unpack it, ` +
        "and import the file or the folder that you need",
    );
  }
  return parts;
}

/** The rows of the files of an export, one file after the other. */
export class Account implements RowSource {
  readonly bytes: number;
  private done = 0;
  private current: ByteSource | undefined;

  constructor(
    readonly name: string,
    private readonly parts: readonly Part[],
    private readonly kept: Remarks,
    /** Held open until all rows are read. */
    private readonly archive?: Zip,
  ) {
    this.bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  }

  position(): number {
    return this.done + (this.current?.position() ?? 0);
  }

  remarks(): readonly string[] {
    return this.kept.sentences();
  }

  async *rows(signal: AbortSignal): AsyncGenerator<ForeignRow[]> {
    using _ = this.archive;
    for (const part of this.parts) {
      this.current = await part.open(signal);
      yield* elementRows(this.current, part.reader, this.kept);
      this.done += part.bytes;
      this.current = undefined;
    }
  }
}

/** The rows of the elements of a document. */
export async function* elementRows(
  input: ByteSource,
  reader: ElementReader,
  remarks: Remarks,
): AsyncGenerator<ForeignRow[]> {
  const elements = new JsonElements(input.name);
  function* found(some: Iterable<ReturnType<typeof elements.push> extends Iterable<infer E> ? E : never>) {
    for (const one of some) {
      if ("error" in one) {
        if (!remarks.leavesOut(one.error)) throw one.error;
      } else yield* readElement(one.value, one.at);
    }
  }
  function* readElement(value: unknown, at: string): Generator<Found> {
    try {
      yield* reader(value, at, remarks);
    } catch (error) {
      if (!remarks.leavesOut(error)) throw error;
    }
  }
  for await (const chunk of input.chunks()) yield* inGroups(found(elements.push(chunk)));
  yield* inGroups(found(elements.finish()));
}
