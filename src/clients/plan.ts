/** What an install or an uninstall would make of a client's file; nothing is written. */
import { basename } from "node:path";
import { shown } from "../checks/kinds.ts";
import { ValueError } from "../errors.ts";
import type { Change, Client, ClientSite, Scope } from "./client.ts";
import { shownFile } from "./clients.ts";
import { type PlainObject, type Splice, spliced } from "./edit/edit.ts";
import { isObject, isSame, own, valueAt, withoutEmpty, withValue } from "./edit/values.ts";
import { bytesFrom, type Text, textOf } from "./file.ts";
import { readNote } from "./notes.ts";
import { checkName, fileOf, inFile, isOurs, read, shapeOf } from "./read.ts";
import type { ServerEntry } from "./shapes.ts";
import { sshTarget } from "./ssh.ts";
import { bytesBefore, noteAfterUpdate, noteOf } from "./way-back.ts";

export { isOurs, ownNames, readEntry } from "./read.ts";

/**
 * An install: the entry is inserted, or its command is set where there is one of ours already; what else the user wrote
 * into it stays.
 *
 * @throws ValueError for a file that does not parse, is not UTF-8 or too large, has a key twice on the way to the
 *   entry, cannot be edited without a change of something else, or has an entry of that name which starts another program,
 *   without `replace`; OSError where it cannot be read
 */
export function planInstall(
  client: Client,
  scope: Scope,
  name: string,
  server: ServerEntry,
  site: ClientSite,
  options: { readonly replace?: boolean } = {},
): Change {
  checkName(name);
  const file = fileOf(client, scope, name, site);
  const label = shownFile(file, site);
  const found = read(client, scope, name, site, file);
  const { bytes, text, document, path } = found;
  const { notation } = client;
  const shape = shapeOf(client, scope);
  const change = { client, scope, name, site, file, before: bytes };
  const fresh = { ...shape.defaults(name), ...shape.command(server) };

  if (found.value === undefined) {
    const splices = inFile(label, () => notation.add(text.text, path, name, fresh));
    const after = edited(label, client, text, splices, withValue(document, [...path, name], fresh));
    const missing = path.filter((_, index) => valueAt(document, path.slice(0, index + 1)) === undefined).length;
    const note = noteOf(bytes, after, splices, missing);
    return { ...change, action: bytes === undefined ? "create" : "add", after, note };
  }

  const former = found.value;
  const server0 = isObject(former) ? shape.server(former) : undefined;
  // Another server may be started by ssh as well.
  const isSameProgram = server0 !== undefined && server0.command === server.command && sshTarget(server) === undefined;
  if (isObject(former) && server0 !== undefined && (isOurs(server0) || isSameProgram)) {
    const fields = Object.fromEntries(
      Object.entries(shape.command(server)).map(([key, value]) => {
        // Variables that the user has added stay.
        const old = own(former, key);
        return [key, isObject(value) && isObject(old) ? { ...old, ...value } : value];
      }),
    );
    const changed = Object.fromEntries(
      Object.entries(fields).filter(([key, value]) => !isSame(own(former, key), value)),
    );
    if (Object.keys(changed).length === 0) return { ...change, action: "none", after: bytes, note: undefined };
    const splices = inFile(label, () => notation.update(text.text, path, name, changed));
    const expected = withValue(document, [...path, name], { ...former, ...changed });
    const after = edited(label, client, text, splices, expected);
    return { ...change, action: "replace", after, note: noteAfterUpdate(found, site, name, splices, after) };
  }

  if (!options.replace) {
    const what = server0 ? `starts ${shown(basename(server0.command))}` : "is not a server of this kind";
    throw new ValueError(
      `${label} has an entry '${name}' already, which ${what}: choose another name with --name, or --replace it`,
    );
  }
  const splices = inFile(label, () => notation.replace(text.text, path, name, fresh));
  const after = edited(label, client, text, splices, withValue(document, [...path, name], fresh));
  return { ...change, action: "replace", after, note: noteOf(bytes, after, splices, 0) };
}

/**
 * An uninstall. Where the file is what the install left, every byte is as before the install; where it was changed in
 * between, only the entry goes, and with it the objects and the file that the install made, if nothing else is in them.
 *
 * @throws ValueError as `planInstall`; and for an entry of that name that is not ours
 */
export function planUninstall(client: Client, scope: Scope, name: string, site: ClientSite): Change {
  checkName(name);
  const file = fileOf(client, scope, name, site);
  const label = shownFile(file, site);
  const found = read(client, scope, name, site, file);
  const { bytes, text, document, path, value } = found;
  const change = { client, scope, name, site, file, before: bytes };
  const note = readNote(site, found.target, name);
  if (value === undefined || bytes === undefined) {
    return { ...change, action: "none", after: bytes, note: note ? null : undefined };
  }
  const server = isObject(value) ? shapeOf(client, scope).server(value) : undefined;
  if (server === undefined || !isOurs(server)) {
    const what = server ? `starts ${shown(basename(server.command))}` : "is not a server of this kind";
    throw new ValueError(`the entry '${name}' of ${label} ${what}, not svc: it stays; name another one with --name`);
  }

  const earlier = bytesBefore(found, note);
  if (note && earlier) {
    const gone = note.isNew && earlier.length === 0;
    return { ...change, action: gone ? "delete" : "remove", after: gone ? undefined : earlier, note: null };
  }

  const containers = note?.containers ?? 0;
  const splices = inFile(label, () => client.notation.remove(text.text, path, name, containers));
  const less = withValue(document, [...path, name], undefined);
  const gone = withoutEmpty(less, path, client.notation.isImplicit ? path.length : containers);
  const after = edited(label, client, text, splices, gone, less);
  const left = textOf(after).text;
  if (note?.isNew && /^\s*(?:\{\s*\}\s*)?$/.test(left)) {
    return { ...change, action: "delete", after: undefined, note: null };
  }
  return { ...change, action: "remove", after, note: note ? null : undefined };
}

/**
 * The bytes after an edit.
 * @param expected the documents that it may be
 * @throws ValueError where it is another one: then the text was understood wrongly, and stays as it is
 */
function edited(
  label: string,
  client: Client,
  text: Text,
  splices: readonly Splice[],
  ...expected: readonly PlainObject[]
): Uint8Array {
  const after = spliced(text.text, splices);
  let value: PlainObject | undefined;
  try {
    value = client.notation.parse(after);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
  }
  if (value === undefined || !expected.some((one) => isSame(one, value))) {
    throw new ValueError(
      `${label} is written in a way that cannot be edited safely; add or remove the entry by hand. Nothing was changed`,
    );
  }
  return bytesFrom({ ...text, text: after });
}
