/**
 * Who makes a change, and with what. The history has it for each save (`svc mem history`).
 *
 * An origin belongs to a call, because one process runs several calls at a time. The call knows it and the save stores it.
 * AsyncLocalStorage carries it, so that the functions between them need no parameter.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** Longer origins are not stored: `TY_ORIGIN_MAX` in ty_runtime.h. */
const ORIGIN_BYTES_MAX = 4096;

/** Characters of a field that a client chooses: its name, its version and its session. */
export const ORIGIN_FIELD_LENGTH_MAX = 100;

/** The client of changes from a terminal; there a session is one command. */
export const TERMINAL = "terminal";

/** All fields are for people, and none is trusted. */
export interface Origin {
  /** The name of an MCP client from `initialize`, "terminal", or "svc serve". */
  client?: string | undefined;
  /** Of the client. */
  version?: string | undefined;
  /** The tool, or the command. */
  tool?: string | undefined;
  /** The same for all changes of one process or connection. */
  session?: string | undefined;
  /** The person or token, where one is known. */
  author?: string | undefined;
  /** Of an undo: the saves that it undoes, as ranges from the first to the last one. */
  undoes?: [number, number][] | undefined;
  /** Of an undo of one row: a digest of its id. The other rows of those saves are not undone. */
  row?: string | undefined;
}

const origins = new AsyncLocalStorage<Origin>();

/** Runs a call whose changes have this origin; fields that are not given stay those of the call around it. */
export function withOrigin<T>(origin: Origin, call: () => T): T {
  return origins.run({ ...origins.getStore(), ...origin }, call);
}

/** The origin of the call that is running. */
export function currentOrigin(): Origin {
  return origins.getStore() ?? {};
}

/**
 * The fields that are left out where all of them are too long, the first ones first. A client chooses the first three,
 * and must not be able to hide the author with them. Without `row` an undo would be one of all rows: both are left out.
 */
const LEFT_OUT: readonly (keyof Origin)[][] = [["session"], ["version"], ["client"], ["undoes", "row"], ["author"]];

/**
 * The origin of the call that is running, with further fields, as JSON; undefined where it has none. Fields that do not
 * fit are left out.
 */
export function originJson(further?: Origin): string | undefined {
  const around = origins.getStore();
  if (around === undefined && further === undefined) return undefined;
  const origin = { ...around, ...further };
  for (const fields of LEFT_OUT) {
    const json = JSON.stringify(origin);
    if (Buffer.byteLength(json) <= ORIGIN_BYTES_MAX) return json;
    for (const field of fields) delete origin[field];
  }
  const json = JSON.stringify(origin);
  return Buffer.byteLength(json) <= ORIGIN_BYTES_MAX ? json : undefined;
}

/** What `originJson` made, or any other text: nothing of that is trusted. */
export function readOrigin(json: string): Origin {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return {};
  }
  if (typeof value !== "object" || value === null) return {};
  const given = value as Record<string, unknown>;
  const text = (name: string) => (typeof given[name] === "string" ? given[name] : undefined);
  return {
    client: text("client"),
    version: text("version"),
    tool: text("tool"),
    session: text("session"),
    author: text("author"),
    undoes: isRanges(given.undoes) ? given.undoes : undefined,
    row: text("row"),
  };
}

function isRanges(value: unknown): value is [number, number][] {
  const isRange = (range: unknown) =>
    Array.isArray(range) && range.length === 2 && range.every((save) => Number.isSafeInteger(save));
  return Array.isArray(value) && value.every(isRange);
}
