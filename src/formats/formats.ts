/** The formats that an import reads, and which of them a file or a folder is in. */
import { statSync } from "node:fs";
import { OSError, ValueError } from "../errors.ts";
import { CHATS } from "./chats/chats.ts";
import { CHROMA } from "./chroma.ts";
import { CSV } from "./csv.ts";
import { openBytes, sourceName } from "./input/bytes.ts";
import { checkFlags } from "./input/flags.ts";
import type { Format, FormatOptions, RowSource } from "./input/row.ts";
import { JSON_ARRAY } from "./json.ts";
import { JSONL } from "./jsonl.ts";
import { MEM0 } from "./mem0.ts";
import { MEMORY_SERVER } from "./memory-server.ts";
import { MARKDOWN } from "./notes/markdown.ts";
import { PLAIN_TEXT } from "./notes/plain-text.ts";

/** In the order in which they are tried: those that are recognised by more come first. */
export const FORMATS: readonly Format[] = [
  MEM0,
  CHROMA,
  MEMORY_SERVER,
  CHATS,
  MARKDOWN,
  CSV,
  PLAIN_TEXT,
  JSON_ARRAY,
  JSONL,
];

/** The format of a name. @throws ValueError that lists the names */
export function findFormat(name: string): Format {
  const found = FORMATS.find((format) => format.name === name);
  if (found) return found;
  throw new ValueError(`there is no format '${name}', only ${listed()}`);
}

/**
 * Opens a file, a folder, or stdin (`-`), in the format of a name or in the one that it is recognised as.
 * @throws OSError where it cannot be read; ValueError where no format matches
 */
export async function openRows(
  path: string,
  from: string | undefined,
  { signal, onBad, flags = {} }: Omit<FormatOptions, "input">,
): Promise<RowSource> {
  const named = from === undefined ? undefined : findFormat(from);
  const isFolder = path !== "-" && isDirectory(path);
  const input = isFolder ? undefined : await openBytes(path, signal);
  const head = input?.head ?? new Uint8Array(0);
  const format = named ?? FORMATS.find((one) => one.matches(path, head, isFolder));
  if (format) {
    checkFlags(flags, format.name, sourceName(path));
    return format.open(path, { signal, input, flags, onBad });
  }
  throw new ValueError(
    `${sourceName(path)} is in none of the known formats: name it with --from (${listed()}), see 'svc mem import --help'`,
  );
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new OSError(`cannot read ${sourceName(path)}: ${code === "ENOENT" ? "there is no such file" : code}`);
  }
}

function listed(): string {
  return FORMATS.map(({ name }) => name).join(", ");
}
