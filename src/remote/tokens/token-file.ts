/**
 * The named tokens of a memory directory: one file beside its collections, which has the hashes of the tokens, never
 * the tokens. Its name begins with a dot, as the name of no collection does; backups copy collections only.
 *
 * Fields that this version does not know are kept when the file is written. A version that adds a field which takes
 * rights away has to raise the format, so that this one refuses the file.
 */
import { join } from "node:path";
import * as z from "zod/mini";
import { checkShownName } from "../../checks/device-name.ts";
import { shown } from "../../checks/kinds.ts";
import { makeDurableDirectory, withLock } from "../../durable.ts";
import { attempt, ValueError } from "../../errors.ts";
import { damaged, readPrivate, type Stored, writePrivate } from "./private-file.ts";
import { checkPattern, type Rights } from "./rights.ts";
import { isNamedTokenText, newToken, tokenHash } from "./token-text.ts";

/** Tokens of one memory, at most: a server compares each that it is shown with all of them. */
export const TOKENS_MAX = 1000;
const NAME_LENGTH_MAX = 64;
const FORMAT = 1;
const REMEDY = "remove it, and make the tokens again with 'svc serve token add'";

/** A token without its text. Times are in milliseconds since 1970. */
export interface TokenRecord extends Rights {
  /** Of this token and no later one of the same name; not a secret. */
  readonly id: string;
  /** The person, machine or program that it is for. */
  readonly name: string;
  readonly hash: Buffer;
  readonly created: number;
  /** Undefined: never. */
  readonly expires?: number | undefined;
}

/** Where the tokens of a memory directory are. */
export function tokenFile(dir: string): string {
  return join(dir, ".serve-tokens.json");
}

/** A token's name without white space around it. @throws ValueError */
export function checkTokenName(name: string): string {
  return checkShownName(name, "token name", NAME_LENGTH_MAX);
}

/** The name of a new token. @throws ValueError, also for a name that looks like a token: it could not be revoked by name */
export function checkNewName(name: string): string {
  const checked = checkTokenName(name);
  if (isNamedTokenText(checked))
    throw new ValueError("the name of a token cannot begin with 'svct_', as tokens do: choose another one");
  return checked;
}

/** The tokens, in the order in which they were made. @throws PermissionError, OSError as `readPrivate` */
export function readTokens(dir: string): TokenRecord[] {
  return entriesOf(dir).map(({ record }) => record);
}

/** Whether there is a token that has not expired by the clock. @throws as `readTokens` */
export function hasValidToken(dir: string, now = Date.now()): boolean {
  return readTokens(dir).some(({ expires }) => expires === undefined || expires > now);
}

/**
 * Makes a token.
 * @returns its text, which is not stored
 * @throws ValueError for a name that is invalid or taken, and for too many tokens; what `readTokens` throws
 */
export async function addToken(
  dir: string,
  wish: Rights & { name: string; expires?: number | undefined },
  now = Date.now(),
): Promise<{ token: string; record: TokenRecord }> {
  const name = checkNewName(wish.name);
  const token = newToken();
  const id = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
  const record: TokenRecord = { ...wish, name, id, hash: tokenHash(token), created: now };
  await change(dir, (entries) => {
    if (entries.some((entry) => entry.record.name === name))
      throw new ValueError(
        `there is a token ${shown(name)} already: give this one another name, or run ` +
          "'svc serve token revoke' with that name first",
      );
    if (entries.length >= TOKENS_MAX)
      throw new ValueError(`there are ${TOKENS_MAX} tokens, the limit: revoke some`, "limit");
    return [...entries.map(({ stored }) => stored), toStored(record)];
  });
  return { token, record };
}

/**
 * Removes a token.
 * @param which its name; or its text, which messages never repeat
 * @throws ValueError where there is none; what `readTokens` throws
 */
export async function revokeToken(dir: string, which: string): Promise<TokenRecord> {
  const hash = tokenHash(which);
  const isMeant = ({ hash: own, name }: TokenRecord) => own.equals(hash) || name === which;
  let revoked: TokenRecord | undefined;
  // No folder is made for a --path that is mistyped.
  if (!readTokens(dir).some(isMeant)) throw unknown(which);
  await change(dir, (entries) => {
    revoked = entries.find(({ record }) => isMeant(record))?.record;
    if (revoked === undefined) throw unknown(which);
    return entries.filter(({ record }) => record !== revoked).map(({ stored }) => stored);
  });
  return revoked!;
}

function unknown(which: string): ValueError {
  const token = isNamedTokenText(which) ? "such token" : `token ${shown(which)}`;
  return new ValueError(`there is no ${token}: 'svc serve token list' shows them`, "unknown_name");
}

/** A token as it is stored, with fields that this version does not know. */
interface Entry {
  readonly record: TokenRecord;
  readonly stored: Stored;
}

/** @param work the entries to the stored ones that take their place */
async function change(dir: string, work: (entries: Entry[]) => Stored[]): Promise<void> {
  makeDurableDirectory(dir);
  await withLock(join(dir, ".serve-tokens.lock"), () => {
    const path = tokenFile(dir);
    const all = readPrivate(path, FORMAT, REMEDY) ?? { format: FORMAT };
    const tokens = work(entriesIn(path, all));
    writePrivate(path, { ...all, tokens });
  });
}

function entriesOf(dir: string): Entry[] {
  const path = tokenFile(dir);
  const all = readPrivate(path, FORMAT, REMEDY);
  return all === undefined ? [] : entriesIn(path, all);
}

function entriesIn(path: string, { tokens = [] }: Stored): Entry[] {
  if (!Array.isArray(tokens)) throw damaged(path, "it has no list of tokens", REMEDY);
  const names = new Set<string>();
  return tokens.map((stored: unknown, i) => {
    const { data: record } = RECORD.safeParse(stored);
    if (record === undefined) throw damaged(path, `token ${i + 1} of it is invalid`, REMEDY);
    if (names.has(record.name)) throw damaged(path, `it has two tokens ${shown(record.name)}`, REMEDY);
    names.add(record.name);
    return { record, stored: stored as Stored };
  });
}

function toStored({ id, name, hash, created, expires, collections, readOnly, rowsMax, bytesMax }: TokenRecord): Stored {
  return {
    id,
    name,
    sha256: hash.toString("hex"),
    created: new Date(created).toISOString(),
    ...(expires !== undefined && { expires: new Date(expires).toISOString() }),
    ...(collections !== undefined && { collections }),
    ...(readOnly && { read_only: true }),
    ...(rowsMax !== undefined && { rows_max: rowsMax }),
    ...(bytesMax !== undefined && { bytes_max: bytesMax }),
  };
}

const count = z.optional(z.int().check(z.nonnegative()));
const time = z.pipe(
  z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text)))),
  z.transform((text: string) => Date.parse(text)),
);

/** What is stored of a token. A right that cannot be read must not become a larger one: the file is damaged then. */
const RECORD = z.pipe(
  z.looseObject({
    id: z.string().check(z.regex(/^[0-9a-f]{16}$/)),
    name: z.string().check(z.refine((name) => attempt(() => checkTokenName(name)) === name)),
    sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
    created: time,
    expires: z.optional(time),
    collections: z.optional(
      z.array(z.string().check(z.refine((one) => attempt(() => checkPattern(one)) !== undefined))),
    ),
    read_only: z._default(z.boolean(), false),
    rows_max: count,
    bytes_max: count,
  }),
  z.transform(
    ({ id, name, sha256, created, expires, collections, read_only, rows_max, bytes_max }): TokenRecord => ({
      ...{ id, name, hash: Buffer.from(sha256, "hex"), created, expires, collections },
      ...{ readOnly: read_only, rowsMax: rows_max, bytesMax: bytes_max },
    }),
  ),
);
