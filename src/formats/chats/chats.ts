/**
 * Chats with an assistant as ChatGPT and Claude export them: a file `conversations.json`, a line for each conversation, or the
 * whole export with the memories and projects in it.
 */
import { ValueError } from "../../errors.ts";
import { type ByteSource, sourceName } from "../input/bytes.ts";
import { memberNames } from "../input/json-elements.ts";
import { Remarks } from "../input/remarks.ts";
import type { ForeignRow, Format } from "../input/row.ts";
import { FileSource, LineSource } from "../input/source.ts";
import { isZip, Zip } from "../input/zip.ts";
import { isNote } from "../notes/note-files.ts";
import { Account, elementRows, partsOfFolder, partsOfZip, readerFor } from "./account.ts";
import { memoriesOf } from "./claude-account.ts";
import { areOfChat, rowsOf } from "./conversations.ts";

/** The format. */
export const CHATS: Format = {
  name: "chats",
  title: "the export of an account of ChatGPT or Claude: the archive, its folder, or conversations.json",
  matches(path, head, isFolder) {
    if (isFolder) return isExport(path);
    if (isZip(head)) return true;
    const members = membersOf(head);
    return areOfChat(members) || areOfMemory(members);
  },
  async open(path, { input, onBad }) {
    const remarks = new Remarks(onBad);
    if (!input) {
      const parts = partsOfFolder(path);
      if (parts.length > 0) return new Account(sourceName(path), parts, remarks);
      throw new ValueError(`'${path}' is a folder without conversations.json: name the folder that has it`);
    }
    if (isZip(input.head)) {
      if (path === "-")
        throw new ValueError("stdin is a zip archive, which can only be read from a file: name the file");
      const zip = Zip.open(path);
      try {
        return new Account(zip.name, partsOfZip(zip), remarks, zip);
      } catch (error) {
        zip[Symbol.dispose]();
        throw error;
      }
    }
    if (isLines(input.head)) return new ChatLines(input, remarks);
    return new Document(input, readerIn(path, input.head), remarks);
  },
};

/** Whether a folder is that of an export. One with notes is a folder of notes. */
function isExport(path: string): boolean {
  try {
    const names = [...new Bun.Glob("*").scanSync({ cwd: path, onlyFiles: true })];
    return names.some((name) => /^conversations(?:[-_]\d+)?\.json$/i.test(name)) && !names.some(isNote);
  } catch {
    return false;
  }
}

/** The members of the first object. */
function membersOf(head: Uint8Array): Map<string, string> {
  return memberNames(head, /^\ufeff?\s*\[/.test(beginningOf(head)) ? 2 : 1);
}

function areOfMemory(members: ReadonlyMap<string, string>): boolean {
  return members.get("conversations_memory") === '"' || members.get("project_memories") === "{";
}

function beginningOf(head: Uint8Array): string {
  return new TextDecoder().decode(head.subarray(0, 1000));
}

/** Whether the first line is an object by itself. */
function isLines(head: Uint8Array): boolean {
  const end = head.indexOf(0x0a);
  if (end < 0 || !/^\s*\{/.test(beginningOf(head))) return false;
  try {
    JSON.parse(new TextDecoder().decode(head.subarray(0, end)));
    return true;
  } catch {
    return false;
  }
}

/** What reads the elements of one file, by its contents, or by its name where they are in doubt. */
function readerIn(path: string, head: Uint8Array) {
  const members = membersOf(head);
  if (areOfMemory(members)) return memoriesOf;
  return areOfChat(members) ? rowsOf : (readerFor(path) ?? rowsOf);
}

class ChatLines extends LineSource {
  protected rowsOf(value: Record<string, unknown>, where: string): ForeignRow[] {
    return [...rowsOf(value, where, this.kept)].filter((row) => row !== undefined);
  }
}

/** A document of any length: what is held is one conversation. */
class Document extends FileSource {
  constructor(
    input: ByteSource,
    private readonly reader: Parameters<typeof elementRows>[1],
    remarks: Remarks,
  ) {
    super(input, remarks);
  }

  async *rows(): AsyncGenerator<ForeignRow[]> {
    yield* elementRows(this.input, this.reader, this.kept);
  }
}
