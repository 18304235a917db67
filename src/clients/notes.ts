/**
 * What svc notes of its changes in clients' files, under SVC_HOME: what an uninstall needs to restore what was before,
 * as a file with an empty object and one without it are the same once an entry is in it. Without a note an uninstall
 * still removes its entry, and nothing else.
 */
import { basename, join } from "node:path";
import { isObject } from "../checks/kinds.ts";
import { readCapped, removeDurable, writeDurable } from "../durable.ts";
import { CLIENT_NOTES_BYTES_MAX } from "../limits.ts";
import { clientNotesPath, svcHome } from "../paths.ts";
import type { ClientSite, Note } from "./client.ts";

/** The folder of svc's state for a site. */
export function homeOf(site: ClientSite): string {
  return svcHome({ SVC_HOME: site.env.SVC_HOME || join(site.home, ".svc") });
}

/** SHA-256 in hex; a missing file counts as empty. */
export function hashOf(bytes: Uint8Array | undefined): string {
  return new Bun.CryptoHasher("sha256").update(bytes ?? new Uint8Array()).digest("hex");
}

/** The note of an entry of a file. Notes that cannot be read do not count. */
export function readNote(site: ClientSite, file: string, name: string): Note | undefined {
  return readAll(site).get(keyOf(file, name));
}

/** Whether some install left a file as it is: then there is a way back without another copy of it. */
export function isKnown(site: ClientSite, file: string, bytes: Uint8Array | undefined): boolean {
  const hash = hashOf(bytes);
  return [...readAll(site)].some(
    ([key, note]) => key.endsWith(` ${file}`) && (note.after === hash || note.earlier === hash),
  );
}

/**
 * Keeps a note, or removes it for `undefined`, with a change of the file from one hash to another. The caller holds the
 * lock. @throws OSError
 */
export function writeNote(
  site: ClientSite,
  file: string,
  name: string,
  note: Note | undefined,
  [from, to]: readonly [string, string],
): void {
  const notes = readAll(site);
  const former = notes.get(keyOf(file, name));
  if (!note && !former) return;
  if (note) notes.set(keyOf(file, name), note);
  else notes.delete(keyOf(file, name));
  for (const [key, other] of notes) {
    if (key === keyOf(file, name) || !key.endsWith(` ${file}`)) continue;
    const after = other.after === from ? to : other.after;
    if (note || !former) notes.set(key, { ...other, after });
    else {
      // What the first of two installs made goes with the last of them.
      const areEntries = !key.startsWith("(") && !name.startsWith("(");
      const containers = areEntries ? Math.max(other.containers, former.containers) : other.containers;
      const folders = former.isNew ? former.folders : other.folders;
      notes.set(key, { ...other, after, isNew: other.isNew || former.isNew, containers, folders });
    }
  }
  writeDurable(clientNotesPath(homeOf(site)), JSON.stringify({ version: 1, notes: Object.fromEntries(notes) }));
}

/** All notes as they are, and how they become that again. */
export function keepNotes(site: ClientSite): () => void {
  const path = clientNotesPath(homeOf(site));
  const bytes = readCapped(path, CLIENT_NOTES_BYTES_MAX);
  return () => (bytes ? writeDurable(path, bytes) : removeDurable(path));
}

const keyOf = (file: string, name: string) => `${name} ${file}`;

function readAll(site: ClientSite): Map<string, Note> {
  const notes = new Map<string, Note>();
  try {
    const bytes = readCapped(clientNotesPath(homeOf(site)), CLIENT_NOTES_BYTES_MAX);
    const value: unknown = bytes && JSON.parse(new TextDecoder().decode(bytes));
    if (!isObject(value) || value.version !== 1 || !isObject(value.notes)) return notes;
    for (const [key, note] of Object.entries(value.notes)) if (isNote(note)) notes.set(key, note);
  } catch {
    // Half of a note does not count.
  }
  return notes;
}

function isNote(value: unknown): value is Note {
  return (
    isObject(value) &&
    typeof value.isNew === "boolean" &&
    typeof value.before === "string" &&
    typeof value.after === "string" &&
    (value.earlier === undefined || typeof value.earlier === "string") &&
    Array.isArray(value.back) &&
    value.back.every(
      (one) =>
        isObject(one) && Number.isInteger(one.at) && Number.isInteger(one.removed) && typeof one.inserted === "string",
    ) &&
    typeof value.containers === "number" &&
    (value.lists === undefined ||
      (Array.isArray(value.lists) && value.lists.every((one) => typeof one === "string"))) &&
    Array.isArray(value.folders) &&
    value.folders.every((folder) => typeof folder === "string") &&
    (value.backup === undefined || typeof value.backup === "string")
  );
}

/** The name of a backup of a file: beside it, numbered from the second on. */
export function backupName(file: string, number: number): string {
  return `${basename(file)}.svc-backup${number === 1 ? "" : `-${number}`}`;
}
