/**
 * Credentials in texts that are to be stored: refused, or masked. Only well-known formats of tokens and private keys are
 * known (src/repo/secret-content.ts): a password is not.
 */
import { shown } from "../checks/kinds.ts";
import type { Metadata } from "../checks/values.ts";
import { ValueError } from "../errors.ts";
import { findSecret, type Secret } from "../repo/secret-content.ts";

/** What becomes of a text with a credential: it is refused with all of its call, or the credential is cut out. */
export type SecretPolicy = "refuse" | "mask";

/** Rows of a call. */
interface Given {
  texts: readonly string[];
  ids?: readonly string[] | null | undefined;
  metadata?: readonly (Metadata | null | undefined)[] | undefined;
}

/**
 * The rows as they may be stored. Strings of metadata at any depth count, and its keys and ids, which are always refused:
 * without them a row would be another one.
 * @returns with `mask` the masked rows, and how many credentials were cut out
 * @throws ValueError naming the text and the kind of credential, never the credential
 */
export function guardSecrets<T extends Given>(policy: SecretPolicy, rows: T): { rows: T; masked: number } {
  const { ids } = rows;
  for (const [i, id] of ids?.entries() ?? []) refuse(id, `id ${i}`, TAKE_OUT);
  // An id is named where it holds none itself.
  const nameOf = (i: number) => (ids ? `text ${i} (id ${shown(ids[i]!)})` : `text ${i}`);
  let masked = 0;
  const guard = (text: string, name: string): string => {
    if (policy === "refuse") return refuse(text, name);
    const result = maskSecrets(text);
    masked += result.masked;
    return result.text;
  };
  const texts = rows.texts.map((text, i) => guard(text, nameOf(i)));
  const metadata = rows.metadata?.map(
    (object, i) => guarded(object, `the metadata of ${nameOf(i)}`, guard) as Metadata,
  );
  return { rows: { ...rows, texts, ...(metadata ? { metadata } : {}) }, masked };
}

/** A text with `[KIND removed]` in place of each credential; the same one where it holds none. */
export function maskSecrets(text: string): { text: string; masked: number } {
  const bytes = Buffer.from(text);
  const parts: Uint8Array[] = [];
  let [from, masked] = [0, 0];
  for (let found = findSecret(bytes); found; found = findSecret(bytes, found.end)) {
    parts.push(bytes.subarray(from, found.start), Buffer.from(markOf(found)));
    from = found.end;
    masked++;
  }
  if (masked === 0) return { text, masked };
  // What stands behind a credential begins a word now, and may be one itself.
  const rest = maskSecrets(Buffer.concat([...parts, bytes.subarray(from)]).toString());
  return { text: rest.text, masked: masked + rest.masked };
}

const markOf = ({ kind }: Secret) => `[${kind} removed]`;

const TAKE_OUT = "take it out";
const MASK = `${TAKE_OUT}, or store it with secrets masked (--secrets mask)`;

/** @throws ValueError for a string that holds a credential */
function refuse(text: string, name: string, remedy = MASK): string {
  const found = findSecret(Buffer.from(text));
  if (found === undefined) return text;
  throw new ValueError(`${name} holds a credential (${found.kind}): ${remedy}; nothing was written`);
}

/** A JSON value with its strings guarded; the same one where none is another. */
function guarded(value: unknown, name: string, guard: (text: string, name: string) => string): unknown {
  if (typeof value === "string") return guard(value, name);
  if (Array.isArray(value)) return value.map((item) => guarded(item, name, guard));
  if (typeof value !== "object" || value === null) return value;
  // Not by assignment, which would make a key `__proto__` the prototype.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [refuse(key, `a key in ${name}`, TAKE_OUT), guarded(item, name, guard)]),
  );
}
