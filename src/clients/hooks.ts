/** What an install or an uninstall would make of the hooks in a client's file; nothing is written. */
import { SvcError, ValueError } from "../errors.ts";
import type { Change, Client, ClientSite, HookEvent, HookPlace, Note, Scope } from "./client.ts";
import { HOOK_EVENTS } from "./client.ts";
import { shownFile } from "./clients.ts";
import { type Plain, type PlainObject, type Splice, spliced } from "./edit/edit.ts";
import { JSON_NOTATION } from "./edit/json.ts";
import { addItems, removeAt, type Steps, setString } from "./edit/json-lists.ts";
import { isObject, isSame, own, withValue } from "./edit/values.ts";
import { bytesFrom, bytesOf, targetOf, textOf } from "./file.ts";
import { hookProgram } from "./hook-command.ts";
import { readNote } from "./notes.ts";
import { inFile } from "./read.ts";
import { type Before, bytesBefore, noteAfterUpdate, noteOf } from "./way-back.ts";

/** Notes of hooks are under this name, which no entry can have. */
const NAME = "(hooks)";
/** The key of hooks. */
const HOOKS = "hooks";
/** After how many seconds the client ends a hook; svc ends it earlier by itself. */
const SECONDS_MAX = 5;

/** What a file has of hooks of svc. */
export type HooksState = { readonly file: string } & (
  | { readonly state: "absent" }
  | {
      readonly state: "present";
      /** The program that each event starts; the first one where a file has several. */
      readonly programs: Readonly<Partial<Record<HookEvent, string>>>;
    }
  | { readonly state: "unreadable"; readonly problem: string }
);

/** A command of svc among the hooks of a file. */
interface Own {
  /** The client's name of the event. */
  readonly event: string;
  readonly group: number;
  readonly index: number;
  readonly command: string;
  readonly program: string;
}

interface Found extends Before {
  readonly document: PlainObject;
  readonly own: readonly Own[];
}

/** What is there now; undefined for a client without hooks. Never throws for what a file holds. */
export function readHooks(client: Client, scope: Scope, site: ClientSite): HooksState | undefined {
  if (client.hooks === undefined) return undefined;
  const file = client.hooks.file(scope, site);
  try {
    const { own } = read(client.hooks, scope, site);
    if (own.length === 0) return { state: "absent", file };
    const { events } = client.hooks;
    const programs = HOOK_EVENTS.map((event) => [event, own.find((one) => one.event === events[event])?.program]);
    return { state: "present", programs: Object.fromEntries(programs.filter(([, program]) => program)), file };
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return { state: "unreadable", problem: error.message, file };
  }
}

/**
 * An install: each event gets a command, or another one where it has one of svc already; what else stands there stays.
 * @param command of each event: `hookCommand`
 * @throws ValueError for a file that does not parse or cannot be edited; OSError where it cannot be read
 */
export function planHooks(
  client: Client,
  scope: Scope,
  command: (event: HookEvent) => string,
  site: ClientSite,
): Change {
  const place = requireHooks(client);
  const file = place.file(scope, site);
  const found = read(place, scope, site);
  const { bytes, text } = found;
  const change = { client, scope, name: NAME, site, file, before: bytes };
  const missing: Record<string, PlainObject> = {};
  const changed: Splice[] = [];
  for (const event of HOOK_EVENTS) {
    const wanted = command(event);
    const present = found.own.filter((one) => one.event === place.events[event]);
    if (present.length === 0) missing[place.events[event]] = groupOf(place, wanted);
    for (const one of present)
      if (one.command !== wanted) changed.push(...setString(text.text, [...stepsTo(one), "command"], wanted));
  }
  const lists = Object.keys(missing);
  const added = lists.length === 0 ? [] : inFile(shownFile(file, site), () => addItems(text.text, HOOKS, missing));
  const splices = [...changed, ...added];
  if (splices.length === 0) return { ...change, action: "none", after: bytes, note: undefined };
  const after = edited(found, splices, shownFile(file, site), (own) =>
    HOOK_EVENTS.every((event) =>
      own.some((one) => one.event === place.events[event] && one.command === command(event)),
    ),
  );
  const isFirst = found.own.length === 0;
  const note = isFirst ? firstNote(found, after, splices, lists) : noteAfterUpdate(found, site, NAME, splices, after);
  const action = bytes === undefined ? "create" : isFirst ? "add" : "replace";
  return { ...change, action, after, note };
}

function firstNote({ bytes, document }: Found, after: Uint8Array, splices: readonly Splice[], events: string[]): Note {
  const hooks = own(document, HOOKS);
  const lists = events.filter((event) => !isObject(hooks) || own(hooks, event) === undefined);
  return { ...noteOf(bytes, after, splices, hooks === undefined ? 1 : 0), lists };
}

/**
 * An uninstall. Where the file is what the install left, every byte is as before it; else only the commands of svc go,
 * and with them the lists and the file that the install made, if nothing else is in them.
 * @throws ValueError, OSError as `planHooks`
 */
export function planNoHooks(client: Client, scope: Scope, site: ClientSite): Change {
  const place = requireHooks(client);
  const file = place.file(scope, site);
  const found = read(place, scope, site);
  const { bytes, text } = found;
  const change = { client, scope, name: NAME, site, file, before: bytes };
  const note = readNote(site, found.target, NAME);
  if (found.own.length === 0 || bytes === undefined)
    return { ...change, action: "none", after: bytes, note: note ? null : undefined };
  const earlier = bytesBefore(found, note);
  if (earlier) return removal(change, earlier, note?.isNew === true && earlier.length === 0);

  const goes = (steps: Steps) => {
    if (steps.length === 1) return (note?.containers ?? 0) > 0;
    return steps.length === 2 ? note?.lists?.includes(String(steps[1])) === true : true;
  };
  let left = text.text;
  for (;;) {
    const [one] = ownIn(JSON_NOTATION.parse(left));
    if (one === undefined) break;
    const steps = stepsTo(one);
    left = spliced(
      left,
      inFile(shownFile(file, site), () => removeAt(left, steps, goes)),
    );
  }
  const whole: Splice = { at: 0, removed: text.text, inserted: left };
  const after = edited(found, [whole], shownFile(file, site), (own) => own.length === 0);
  return removal(change, after, note?.isNew === true && /^\s*(?:\{\s*\}\s*)?$/.test(left));
}

function removal(change: Omit<Change, "action" | "after" | "note">, after: Uint8Array, isGone: boolean): Change {
  return isGone
    ? { ...change, action: "delete", after: undefined, note: null }
    : { ...change, action: "remove", after, note: null };
}

function requireHooks(client: Client): HookPlace {
  if (client.hooks) return client.hooks;
  throw new ValueError(`svc has no hooks for ${client.title}`);
}

/** An item of an event's list, with one command. */
function groupOf(place: HookPlace, command: string): PlainObject {
  const timeout = SECONDS_MAX * place.second;
  return { hooks: [{ ...place.fields, type: "command", command, timeout }] };
}

const stepsTo = ({ event, group, index }: Own): Steps => [HOOKS, event, group, HOOKS, index];

function read(place: HookPlace, scope: Scope, site: ClientSite): Found {
  const file = place.file(scope, site);
  const label = shownFile(file, site);
  const { path: target, stat } = targetOf(file, scope, site);
  const bytes = bytesOf({ path: target, stat }, label);
  return inFile(label, () => {
    const text = textOf(bytes ?? new Uint8Array());
    const document = JSON_NOTATION.parse(text.text);
    for (const event of HOOK_EVENTS) JSON_NOTATION.checkKeys(text.text, [HOOKS], place.events[event]);
    return { bytes, text, target, document, own: ownIn(document) };
  });
}

/** The commands of svc in a document. What is written in another way than documented has none. */
function ownIn(document: PlainObject): Own[] {
  const events = own(document, HOOKS);
  if (!isObject(events)) return [];
  return Object.entries(events).flatMap(([event, groups]) =>
    itemsOf(groups).flatMap((one, group) =>
      itemsOf(isObject(one) ? own(one, HOOKS) : undefined).flatMap((handler, index) => {
        const command = isObject(handler) ? own(handler, "command") : undefined;
        const program = typeof command === "string" ? hookProgram(command) : undefined;
        return program === undefined ? [] : [{ event, group, index, command: command as string, program }];
      }),
    ),
  );
}

const itemsOf = (value: Plain): readonly Plain[] => (Array.isArray(value) ? value : []);

/**
 * The bytes after an edit.
 * @throws ValueError where something else than commands of svc would change, or these are not what they are to be
 */
function edited(found: Found, splices: readonly Splice[], label: string, is: (own: readonly Own[]) => boolean) {
  const text = spliced(found.text.text, splices);
  let after: PlainObject | undefined;
  try {
    after = JSON_NOTATION.parse(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
  }
  if (after === undefined || !is(ownIn(after)) || !isSame(others(found.document), others(after))) {
    throw new ValueError(`${label} is written in a way that cannot be edited safely. Nothing was changed`);
  }
  return bytesFrom({ ...found.text, text });
}

/** A document without the commands of svc, and without what is empty in its hooks. */
function others(document: PlainObject): PlainObject {
  const events = own(document, HOOKS);
  if (!isObject(events)) return document;
  const isOther = (handler: Plain) => {
    const command = isObject(handler) ? own(handler, "command") : undefined;
    return typeof command !== "string" || hookProgram(command) === undefined;
  };
  const left = Object.entries(events).flatMap(([event, groups]) => {
    if (!Array.isArray(groups)) return [[event, groups] as const];
    const kept = groups.flatMap((group: Plain) => {
      const handlers = isObject(group) ? own(group, HOOKS) : undefined;
      if (!isObject(group) || !Array.isArray(handlers)) return [group];
      const others = handlers.filter(isOther);
      return others.length === 0 ? [] : [withValue(group, [HOOKS], others)];
    });
    return kept.length === 0 ? [] : [[event, kept] as const];
  });
  return withValue(document, [HOOKS], left.length === 0 ? undefined : Object.fromEntries(left));
}
