/**
 * `svc mem export`: a collection as JSON lines, a page at a time, so that its size does not matter; or as a folder of Markdown.
 */
import { resolve } from "node:path";
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { buildInfo } from "../../build-info.ts";
import { CancelledError } from "../../errors.ts";
import { exportPages, headLine } from "../../memory/transfer/export.ts";
import { ExportFile, refuseExisting } from "../../memory/transfer/export-file.ts";
import { memoryPath } from "../../paths.ts";
import { command, string, UsageError } from "../terminal/command.ts";
import { asciiControls, isTerminal, link, note, oneLine, print, printJson, printLines } from "../terminal/output.ts";
import { startProgress } from "../terminal/progress.ts";
import { fit } from "../terminal/width.ts";
import { COLLECTION, readWhere, TIME_FLAGS, timeArguments, WHERE } from "./flags.ts";
import { counted, megabytes } from "./render/text.ts";
import { exportMarkdown } from "./transfer/export-markdown.ts";
import { LIST_NAME } from "./transfer/list-name.ts";
import { COMMON, prepare, withMemory } from "./verb.ts";

export default command({
  details:
    'Prints one line per row: {"id": …, "metadata": …, "text": …, "created": …, "updated": …}. Times are milliseconds\n' +
    "since 1970. Rows come in the order in which they were added, or with --newest the last updated first. The export\n" +
    "has the rows that exist when it starts; a row that is deleted meanwhile is left out. Rows without an embedder\n" +
    "are exported with their vectors.\n\n" +
    "FILE gets its name only when it is complete and on the disk. Its first line describes the collection, so that an\n" +
    "import can make one like it; on stdout that line needs --schema. If an export into a file was interrupted,\n" +
    "--resume continues it. If the collection was changed since, the export starts again from the first row.\n\n" +
    "--markdown writes a folder to read, edit and compare: a file per row with its id and metadata as front matter, and\n" +
    `the list ${LIST_NAME}. 'svc mem import NAME DIR' brings edits back. A further export into the folder updates\n` +
    "files, and removes those of deleted rows. It changes no file that you edited or wrote; files are found by the ids\n" +
    "in them, so you may rename and move them.",
  examples: [
    "svc mem export notes notes.jsonl",
    "svc mem export notes --where scope=ops | gzip > ops.jsonl.gz",
    "svc mem export notes --since 2026-11-22T00:00Z > today.jsonl",
    "svc mem export notes --markdown ~/notes",
  ],
  args: {
    collection: COLLECTION,
    file: { type: "positional", required: false, description: "file to write; - or nothing: stdout" },
    "with-vectors": {
      type: "boolean",
      description: 'with "vector": {"f32": base64 of little-endian numbers}, and "meaning"',
    },
    metadata: {
      type: "boolean",
      default: true,
      description: "with metadata",
      negativeDescription: "leave metadata out",
    },
    times: { type: "boolean", default: true, description: "with times", negativeDescription: "leave times out" },
    schema: {
      type: "boolean",
      description: "begin with a line that describes the collection (default in a file, and with vectors)",
      negativeDescription: "rows alone",
    },
    where: WHERE,
    ...TIME_FLAGS,
    markdown: string("DIR", "write a folder with a Markdown file per row"),
    force: { type: "boolean", description: "replace an existing file" },
    resume: { type: "boolean", description: "continue an interrupted export into this file" },
    ...COMMON,
    json: {
      type: "boolean",
      description:
        "with FILE: print {exported, collection, file, bytes}, or with --markdown {exported, collection, folder, …}",
    },
  },
  async run(invocation) {
    const { args, signal, env } = invocation;
    const { collection } = args;
    const path = args.file === "-" ? undefined : args.file;
    if (path === undefined && (args.force || args.resume)) throw new UsageError("--force and --resume go with a file");
    const filter = { where: readWhere(args.where), ...timeArguments(args) };
    const list = prepare("ids", { collection, ...filter });
    if (args.markdown !== undefined) {
      refuseLineFlags(args);
      const isWhole = Object.values(filter).every((one) => one === undefined);
      return exportMarkdown((work) => withMemory(invocation, work), {
        collection,
        folder: args.markdown,
        list,
        isWhole,
        json: args.json === true,
      });
    }
    if (path !== undefined) refuseExisting(path, args.force === true);
    const progress = startProgress(`exporting ${collection}`);
    // Rows on a terminal say by themselves that it goes on.
    const isShown = path !== undefined || !isTerminal(1);
    let exported = 0;
    let notice: string | undefined;
    let file: ExportFile | undefined;
    try {
      keepHeapSmall();
      await withMemory(invocation, async (verbs, context) => {
        const terminal = await verbs.terminal();
        const head = await terminal.export_head({ collection });
        const withVectors = args["with-vectors"] ?? head.schema.embedder === null;
        const withHead = args.schema ?? (path !== undefined || withVectors);
        const first = withHead ? [`${asciiControls(headLine(head))}\n`] : [];
        const { ids } = await list(verbs, context);
        if (path === undefined) printLines(first.join(""));
        else {
          const parts = [memoryPath(args.path, env), collection, head.generation, filter, first, withVectors];
          const key = keyOf([...parts, args.metadata, args.times, buildInfo().version]);
          file = ExportFile.open({ path, force: args.force === true, key });
          exported = begun(file, args.resume === true, first, ids);
          if (args.resume) note(exported > 0 ? `goes on after ${counted(exported, "row")}` : "begins again");
        }
        const options = { vectors: withVectors, metadata: args.metadata, times: args.times };
        const before = exported;
        for await (const page of exportPages(terminal, collection, ids.slice(before), options)) {
          if (signal.aborted) throw new CancelledError(`interrupted after ${counted(exported, "row")}`);
          notice ??= page.notice;
          const lines = asciiControls(page.lines);
          if (file) file.write(lines);
          else printLines(lines);
          exported += page.rows;
          const also = file && megabytes(file.size);
          if (isShown) progress.update({ done: before + page.done, total: ids.length, unit: "rows", also });
          // Printing is synchronous: without this turn of the event loop Ctrl-C would have effect only at the end.
          await new Promise(setImmediate);
        }
        file?.finish();
      });
    } catch (error) {
      const isInterrupted = error instanceof CancelledError;
      file?.abandon(isInterrupted);
      if (isInterrupted && file) error.message += ": --resume goes on, unless the collection is changed meanwhile";
      throw error;
    } finally {
      progress.end();
    }
    if (notice !== undefined) note(notice);
    if (path === undefined) {
      note(`exported ${counted(exported, "row")} of ${oneLine(collection)}`);
      return;
    }
    const bytes = file?.size ?? 0;
    if (args.json) printJson({ exported, collection, file: path, bytes });
    else
      print(
        fit(
          `exported ${counted(exported, "row")} of ${oneLine(collection)} to ${link(resolve(path), oneLine(path))} (${megabytes(bytes)})`,
        ),
      );
  },
});

/** @throws UsageError for flags about lines of JSON */
function refuseLineFlags(args: Readonly<Record<string, unknown>>): void {
  const given = ["file", "with-vectors", "schema", "force", "resume"].find((name) => args[name] !== undefined);
  const left = ["metadata", "times"].find((name) => args[name] === false);
  if (given === undefined && left === undefined) return;
  const flag = given === "file" ? "FILE" : given === undefined ? `--no-${left}` : `--${given}`;
  throw new UsageError(`${flag} is for an export as JSON lines: leave it out, or leave --markdown out`);
}

/** How many rows an interrupted export has left in the file, which begins with the head in any case. */
function begun(file: ExportFile, resume: boolean, head: readonly string[], ids: readonly string[]): number {
  const lines = resume ? file.keep((line, number) => isExpected(line, number, head, ids)) : 0;
  if (lines >= head.length && lines > 0) return lines - head.length;
  file.clear();
  file.write(head.join(""));
  return 0;
}

/** Whether a line is whole and in its place. After a loss of power a file may hold zeros where it was not synced. */
function isExpected(line: Uint8Array, number: number, head: readonly string[], ids: readonly string[]): boolean {
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString();
  if (number < head.length) return `${text}\n` === head[number];
  try {
    return JSON.parse(text).id === ids[number - head.length];
  } catch {
    return false;
  }
}

/** A hash of everything that the bytes of an export depend on. */
function keyOf(parts: readonly unknown[]): string {
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
