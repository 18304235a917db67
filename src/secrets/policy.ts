/**
 * Credentials in texts that are to be stored: refused, or masked. Only well-known formats of tokens and private keys
 * are known (src/secrets/content.ts): a password is not.
 */
import { shown } from "../checks/kinds.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import { findSecret, type Secret } from "./content.ts";

/** What keeps credentials out: a text with one is refused with all of its call, or the credential is cut out. */
export type SecretGuard = "refuse" | "mask";

/** What becomes of a text with a credential; `store`: it is stored, and the answer names it (`stored.ts`). */
export const SECRET_POLICIES = ["store", "refuse", "mask"] as const;
export type SecretPolicy = (typeof SECRET_POLICIES)[number];

/** Rows of a call. */
export interface GivenRows {
  texts: readonly string[];
  ids?: readonly string[] | null | undefined;
  metadata?: readonly (Metadata | null | undefined)[] | undefined;
}

/**
 * The rows as they may be stored. Strings of metadata at any depth count, and its keys and ids, which are always
 * refused: without them a row would be another one.
 * @returns with `mask` the masked rows, and how many credentials were cut out
 * @throws ValueError naming the text and the kind of credential, never the credential
 */
export function guardSecrets<T extends GivenRows>(policy: SecretGuard, rows: T): { rows: T; masked: number } {
  const { ids } = rows;
  const guard = new Guard(policy);
  const texts = rows.texts.map((text, i) => {
    if (ids) refuse(ids[i]!, `the id of text ${i + 1}`, TAKE_OUT);
    return guard.text(text, nameOf(i));
  });
  const metadata = rows.metadata?.map((object, i) => guard.metadata(object, nameOf(i)));
  return { rows: { ...rows, texts, ...(metadata ? { metadata } : {}) }, masked: guard.masked };

  // Its id holds none itself, or was refused.
  function nameOf(i: number): string {
    return ids ? `text ${i + 1} (id ${shown(ids[i]!)})` : `text ${i + 1}`;
  }
}

/** A row that is guarded by itself. */
interface GuardedRow {
  id: string;
  text: string | undefined;
  metadata: Metadata | null | undefined;
}

/** The same of one row, whose place the caller names. */
export function guardRow(policy: SecretGuard, { id, text, metadata }: GuardedRow): GuardedRow & { masked: number } {
  const guard = new Guard(policy);
  refuse(id, "its id", TAKE_OUT);
  return {
    id,
    text: text === undefined ? undefined : guard.text(text, "its text"),
    metadata: guard.metadata(metadata, "its text"),
    masked: guard.masked,
  };
}

class Guard {
  masked = 0;

  constructor(private readonly policy: SecretGuard) {}

  text(text: string, name: string): string {
    if (this.policy === "refuse") return refuse(text, name);
    const result = maskSecrets(text);
    this.masked += result.masked;
    return result.text;
  }

  /** @param name of the row's text */
  metadata(object: Metadata | null | undefined, name: string): Metadata | null | undefined {
    return this.value(object, `the metadata of ${name}`) as Metadata | null | undefined;
  }

  /** @param key whose value it is, or one of its values */
  private value(value: unknown, name: string, key?: string): unknown {
    if (typeof value === "string") return key === undefined ? this.text(value, name) : this.valueOf(key, value, name);
    if (Array.isArray(value)) return value.map((item) => this.value(item, name, key));
    if (typeof value !== "object" || value === null) return value;
    // Not by assignment, which would make a key `__proto__` the prototype.
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        refuse(key, `a key in ${name}`, TAKE_OUT),
        this.value(item, name, key),
      ]),
    );
  }

  /** Some secrets have no form of their own: what is written before them tells, which may be their key. */
  private valueOf(key: string, value: string, name: string): string {
    const before = Buffer.byteLength(key) + 1;
    const found = findSecret(Buffer.from(`${key}=${value.slice(0, KEYED_UNITS)}`));
    if (found === undefined || found.start >= before || found.end <= before) return this.text(value, name);
    if (this.policy === "refuse") throw refusal(found, name);
    this.masked++;
    return this.text(
      maskOf(found) +
        Buffer.from(value)
          .subarray(found.end - before)
          .toString(),
      name,
    );
  }
}

/** A text with `[KIND removed]` in place of each credential; the same one where it holds none. */
export function maskSecrets(text: string): { text: string; masked: number } {
  const bytes = Buffer.from(text);
  const parts: Uint8Array[] = [];
  let [from, masked] = [0, 0];
  for (let found = findSecret(bytes); found; found = findSecret(bytes, found.end)) {
    parts.push(bytes.subarray(from, found.start), Buffer.from(maskOf(found)));
    from = found.end;
    masked++;
  }
  if (masked === 0) return { text, masked };
  // What stands after a credential begins a word now, and may be one itself.
  const rest = maskSecrets(Buffer.concat([...parts, bytes.subarray(from)]).toString());
  return { text: rest.text, masked: masked + rest.masked };
}

const maskOf = ({ kind }: Secret) => `[${kind} removed]`;

/** More than a secret has that its key tells. */
const KEYED_UNITS = 512;

const TAKE_OUT = "take it out";
const MASK = `${TAKE_OUT}, or store it with secrets masked (--secrets mask)`;

/** @throws ValueError for a string that holds a credential */
function refuse(text: string, name: string, remedy = MASK): string {
  const found = findSecret(Buffer.from(text));
  if (found === undefined) return text;
  throw refusal(found, name, remedy);
}

function refusal({ kind }: Secret, name: string, remedy = MASK): ValueError {
  return new ValueError(`${name} holds a credential (${kind}): ${remedy}; nothing was written`);
}
