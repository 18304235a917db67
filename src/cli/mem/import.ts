/** `svc mem import`: rows of a file into a collection. */
import { existsSync } from "node:fs";
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { shown } from "../../checks/kinds.ts";
import { CancelledError, SvcError } from "../../errors.ts";
import { FORMATS, findFormat, openRows } from "../../formats/formats.ts";
import type { Memory } from "../../memory/memory.ts";
import { FileImport } from "../../memory/transfer/import.ts";
import { shellWord } from "../../shell-word.ts";
import { asUsage, command, EXIT, SECRETS, string, UsageError } from "../terminal/command.ts";
import { failureLine, isTerminal, note, oneLine } from "../terminal/output.ts";
import { grouped, startProgress } from "../terminal/progress.ts";
import { withMissing } from "../terminal/shell-words.ts";
import { fit } from "../terminal/width.ts";
import { COLLECTION, SCHEMA_FLAGS, schemaArguments } from "./flags.ts";
import { counted } from "./render/text.ts";
import { isExportFolder } from "./transfer/folder.ts";
import { FORMAT_FLAGS, formatFlags } from "./transfer/format-flags.ts";
import { importMarkdown } from "./transfer/import-markdown.ts";
import { answer, COMMON, prepare, withMemory } from "./verb.ts";

/** From so many on the end of an import is seen to take time. */
const SHORT_ROWS = 5000;
/** What is imported at once, without a line of progress. */
const SHORT_BYTES = 1e6;
/** After an interruption. */
const GO_ON = "repeat the command to go on";
/** Bad rows that are named with `--on-error skip`. */
const NAMED_MAX = 20;

export default command({
  details:
    'A line of JSON is {"text": …, "id": …, "metadata": …, "created": …, "updated": …, "vector": …}. Only the text is\n' +
    "required. An id may be an integer. The format is recognised by itself, or named with --from; gzip is unpacked.\n" +
    "FILE may also be a folder: notes in Markdown, or the folder of Chroma or mem0.\n\n" +
    "A row whose id exists replaces that row; an equal row is left alone. A row without an id gets an id made from\n" +
    "its content. So you can repeat an interrupted import, and it goes on where it was. Rows are written in batches\n" +
    "of 5,000. At a bad line the import stops, names the line, and prints how many rows the earlier batches imported.\n\n" +
    "If this call makes the collection, its schema is that of the exported collection, which the file's first line\n" +
    "describes; flags that you give take precedence. Vectors of the file are used if they come from the collection's\n" +
    "embedder; otherwise the texts are embedded again.\n\n" +
    "A folder that 'svc mem export --markdown' wrote brings back what was edited there: files that were not edited are\n" +
    "skipped, edited ones update their rows, and files without an id become rows. If a row was changed in the collection\n" +
    "too, it stays, and the version of the folder is added beside it and named. Rows whose files are gone stay, unless\n" +
    "you give --delete. The files then get the ids and states of their rows.\n\n" +
    `Formats: ${FORMATS.map(({ name, title }) => `${name}, ${title}`).join("; ")}.`,
  examples: [
    "svc mem import notes notes.jsonl",
    "svc mem import ops ops.jsonl.gz --no-times",
    "svc mem import vault ~/Notes --split headings",
    "svc mem import table rows.csv --text-column question --id-column nr",
    "svc mem import notes ~/notes --dry-run",
  ],
  args: {
    collection: COLLECTION,
    file: { type: "positional", required: false, description: "file or folder to read; - or nothing: stdin" },
    from: {
      ...string("FORMAT", `format of the file, if it is not recognised: ${FORMATS.map(({ name }) => name).join(", ")}`),
      completes: FORMATS.map(({ name }) => name),
    },
    times: {
      type: "boolean",
      default: true,
      description: "keep the times of the file",
      negativeDescription: "rows get the time of this import",
    },
    "on-error": string("stop|skip", "skip: leave bad rows out, name them, and exit with 1 (stop)"),
    "skip-duplicates": { type: "boolean", description: "skip texts that the collection already has" },
    delete: {
      type: "boolean",
      description: "folder of an export: delete rows whose files are gone and that were not changed",
    },
    restore: { type: "boolean", description: "folder of an export: add rows again that were deleted since" },
    "dry-run": { type: "boolean", description: "folder of an export: only print what would be done" },
    secrets: SECRETS,
    ...FORMAT_FLAGS,
    ...SCHEMA_FLAGS,
    ...COMMON,
    json: { type: "boolean", description: "print {imported, inserted, replaced, unchanged, bad, collection}" },
  },
  async run(invocation) {
    const { args, signal, name } = invocation;
    const { collection, from } = args;
    const schema = schemaArguments(args);
    // Refuses names and columns before a login is asked for.
    prepare("create_collection", { name: collection, ...schema });
    const path = args.file ?? "-";
    if (from !== undefined) asUsage(() => findFormat(from));
    const onError = args["on-error"] ?? "stop";
    if (onError !== "stop" && onError !== "skip")
      throw new UsageError(`--on-error must be stop or skip, got '${onError}'`);
    if (args.file === undefined && isTerminal(0)) {
      const isFile = existsSync(collection);
      const command = isFile ? `${name} NAME ${shellWord(collection)}` : withMissing(name, collection, "NAME", "FILE");
      const taken = `${shown(collection)} was taken for the collection`;
      throw new UsageError(`nothing to import, and ${taken}: type ${command}, or pipe JSON lines in`);
    }
    if (args.file !== undefined && from === undefined && isExportFolder(path)) {
      const isLenient = onError === "skip";
      return importMarkdown((work) => withMemory(invocation, work), {
        collection,
        folder: path,
        schema,
        flags: formatFlags(args),
        args,
        isLenient,
      });
    }
    const folderFlag = (["delete", "restore", "dry-run"] as const).find((flag) => args[flag] !== undefined);
    if (folderFlag !== undefined)
      throw new UsageError(`--${folderFlag} is for a folder that 'svc mem export --markdown' wrote: leave it out`);
    let bad = 0;
    let running: FileImport | undefined;
    const onBad = (error: SvcError) => {
      bad += 1;
      progress.end();
      if (bad <= NAMED_MAX) note(`svc: left out: ${oneLine(error.message)}`);
    };
    const lenient = onError === "skip" ? { onBad } : {};
    const skipping = args["skip-duplicates"] ? { skipDuplicates: true } : {};
    const progress = startProgress(`importing ${collection}`);
    let isOpen = false;
    try {
      keepHeapSmall();
      const work = async (verbs: Memory) => {
        isOpen = true;
        const source = await openRows(path, from, { signal, flags: formatFlags(args), ...lenient });
        // The first batch of a long file takes seconds.
        if ((source.bytes ?? 0) > SHORT_BYTES) progress.update({ done: 0, total: source.bytes, unit: "bytes" });
        running = new FileImport(verbs, source, {
          ...{ collection, schema, times: args.times, signal, ...lenient, ...skipping },
          onBatch() {
            const also = `${grouped(running!.total.imported)} rows`;
            progress.update({ done: source.position(), total: source.bytes, unit: "bytes", also });
          },
          onCompacting: (done, total) => progress.update({ label: "compacting", done, total }),
        });
        await running.run();
        for (const remark of source.remarks?.() ?? []) note(oneLine(remark));
        // To close the memory compacts what is due, for two seconds at most.
        if (running.written > SHORT_ROWS) progress.update({ label: `finishing ${collection}`, done: 0 });
      };
      const stopped = new CancelledError(`interrupted; ${GO_ON}`);
      await withMemory(invocation, work, { stopLine: failureLine(stopped, args.json === true) });
    } catch (error) {
      throw isOpen ? withCount(error, running?.total.imported ?? 0, collection) : error;
    } finally {
      progress.end();
    }
    const { skipped, masked, embeddedAgain, ...counts } = running!.total;
    const total = { ...counts, bad };
    if (embeddedAgain > 0)
      note(`the vectors of ${counted(embeddedAgain, "row")} are of another embedder: their texts were embedded again`);
    if (bad > NAMED_MAX) note(`svc: left out: ${counted(bad - NAMED_MAX, "more row")}`);
    const also = { ...(skipped > 0 ? { skipped } : {}), ...(masked > 0 ? { masked } : {}) };
    if (!args.json && skipped > 0) note(`${counted(skipped, "text")} of other rows skipped`);
    if (!args.json && masked > 0) note(`${counted(masked, "credential")} masked`);
    answer({ ...total, ...also, collection }, args.json === true, () => fit(summary(total, collection)));
    return bad > 0 ? EXIT.failed : EXIT.done;
  },
});

function summary(total: { imported: number; unchanged: number; bad: number }, collection: string): string {
  const there = total.unchanged > 0 ? `, ${grouped(total.unchanged)} were there already` : "";
  const bad = total.bad > 0 ? `, left ${counted(total.bad, "bad row")} out` : "";
  return `imported ${counted(total.imported - total.unchanged, "row")} into ${oneLine(collection)}${there}${bad}`;
}

function withCount(error: unknown, imported: number, collection: string): unknown {
  // Rows that are there are left alone.
  const next = error instanceof CancelledError ? `; ${GO_ON}` : "";
  if (error instanceof SvcError) error.message += ` (${counted(imported, "row")} imported into ${collection}${next})`;
  return error;
}
