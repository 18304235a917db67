/** Texts, ids, metadata and filters as they are written on a command line, in files and on stdin. */
import { CancelledError, OSError, ValueError } from "../../errors.ts";
import { TEXT_BYTES_MAX } from "../../limits.ts";
import { type ArgsDef, type Invocation, UsageError } from "../command.ts";
import { jsonFlag } from "../flags.ts";
import { isTerminal } from "../output.ts";

/** Bytes of one source that holds a text a line; more belongs into `svc mem import`, which streams. */
const LINES_BYTES_MAX = 16 * TEXT_BYTES_MAX;

/** Flags of the verbs that take texts. */
export const TEXT_FLAGS = {
  file: { type: "string", valueHint: "FILE", description: "take the text from a file" },
  lines: { type: "boolean", description: "files and stdin hold one text a line" },
  id: { type: "string", valueHint: "ID", description: "id of a text, in the texts' order" },
  ids: { type: "string", valueHint: "ID,ID", description: "the same, with commas between" },
  metadata: {
    type: "string",
    valueHint: "JSON",
    description: "an object for every text, or an array with one a text",
  },
} as const satisfies ArgsDef;

/** Of those, the flags that may be repeated. */
export const TEXT_REPEATABLE = ["file", "id", "metadata"] as const;

/** Flags of the verbs that filter. */
export const WHERE_FLAG = {
  where: {
    type: "string",
    valueHint: "COLUMN=VALUE",
    description:
      'only rows whose column equals the value; numbers, true, false and null as in JSON, "1" for the text 1',
  },
} as const satisfies ArgsDef;

/** The texts that follow the collection: arguments, files, `-` for stdin; stdin too where nothing else is given. */
export async function readTexts(invocation: Invocation<typeof TEXT_FLAGS>): Promise<string[]> {
  const { args, signal } = invocation;
  const split = args.lines === true;
  const given = args._.slice(1);
  const files = invocation.all("file");
  if (given.length === 0 && files.length === 0) {
    if (isTerminal(0)) throw new UsageError("no text: give it as an argument, with --file, or on stdin");
    given.push("-");
  }
  const texts: string[] = [];
  for (const word of given) texts.push(...(word === "-" ? await readSource("-", split, signal) : [word]));
  for (const file of files) texts.push(...(await readSource(file, split, signal)));
  return texts;
}

/** The ids that follow the collection or stand in flags; `-` reads one a line from stdin. */
export async function readIds(invocation: Invocation<Pick<typeof TEXT_FLAGS, "id" | "ids">>): Promise<string[]> {
  const ids: string[] = [];
  for (const word of invocation.args._.slice(1)) {
    ids.push(...(word === "-" ? await readSource("-", true, invocation.signal) : [word]));
  }
  ids.push(...(flagIds(invocation) ?? []));
  if (ids.length === 0) throw new UsageError("no id: give ids as arguments, or - to read one a line from stdin");
  return ids;
}

/** The ids in `--id` and `--ids`; undefined where there are none. */
export function flagIds({ args, all }: Invocation<Pick<typeof TEXT_FLAGS, "id" | "ids">>): string[] | undefined {
  const listed = args.ids === undefined ? [] : args.ids.split(",").map((id) => id.trim());
  const ids = [...all("id"), ...listed];
  return ids.length > 0 ? ids : undefined;
}

/** One metadata object a text: the only one given goes to every text. */
export function readMetadata(values: string[], texts: number): unknown[] | undefined {
  if (values.length === 0) return undefined;
  const parsed = values.map((value) => jsonFlag("metadata", value));
  if (parsed.length > 1) return parsed;
  return Array.isArray(parsed[0]) ? parsed[0] : Array.from({ length: texts }, () => parsed[0]);
}

/** The filter as a tool takes it. More than one column is passed on, to be refused with the tool's own words. */
export function readWhere(values: string[]): Record<string, unknown> | undefined {
  if (values.length === 0) return undefined;
  const pairs = values.map((value): [string, unknown] => {
    const equals = value.indexOf("=");
    if (equals < 1) throw new UsageError(`--where: '${value}' is not COLUMN=VALUE`);
    return [value.slice(0, equals), scalar(value.slice(equals + 1))];
  });
  const columns = new Set(pairs.map(([column]) => column));
  if (columns.size < pairs.length) throw new UsageError("--where names a column twice");
  return Object.fromEntries(pairs);
}

/** The chunks of a file or of stdin (`-`); an interruption ends even a wait for someone who types nothing. */
export async function* readChunks(source: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let reader: ReturnType<ReturnType<typeof Bun.stdin.stream>["getReader"]> | undefined;
  // One promise a read: a race against one promise for all of them would hold every chunk until the end.
  let read = Promise.withResolvers<Uint8Array | undefined>();
  const stop = () => read.reject(new CancelledError("interrupted"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    reader = (source === "-" ? Bun.stdin : Bun.file(source)).stream().getReader();
    for (;;) {
      read = Promise.withResolvers();
      if (signal.aborted) stop();
      else reader.read().then(({ value }) => read.resolve(value as Uint8Array | undefined), read.reject);
      const chunk = await read.promise;
      if (chunk === undefined) return;
      yield chunk;
    }
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new OSError(`cannot read ${sourceName(source)}: ${code}`);
  } finally {
    signal.removeEventListener("abort", stop);
    reader?.cancel().catch(() => {});
  }
}

/** A source's name in a message. */
export function sourceName(source: string): string {
  return source === "-" ? "stdin" : `'${source}'`;
}

// ---------------------------------------------------------------------------------------------------------------------

async function readSource(source: string, split: boolean, signal: AbortSignal): Promise<string[]> {
  const chunks: Uint8Array[] = [];
  const bytesMax = split ? LINES_BYTES_MAX : TEXT_BYTES_MAX;
  let bytes = 0;
  for await (const chunk of readChunks(source, signal)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new ValueError(`${sourceName(source)} holds more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ValueError(`${sourceName(source)} is not UTF-8 text`);
  }
  if (split) return text.split(/\r?\n/).filter((line) => line.trim() !== "");
  // The line break that every shell tool puts at the end is not part of what was meant.
  const whole = text.replace(/\r?\n$/, "");
  if (whole === "") throw new ValueError(`${sourceName(source)} is empty`);
  return [whole];
}

/** `1`, `true`, `null` and `"1"` are JSON; everything else is the text as it stands. */
function scalar(written: string): unknown {
  if (!/^(?:-?\d|true$|false$|null$|".*"$)/s.test(written)) return written;
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}
