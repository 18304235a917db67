/**
 * The authority that a login has pinned: its address, its LICENSE key, the CA of its certificate. `authority.json`
 * holds it, and the statements by which a LICENSE key named the one after it.
 *
 * A login at another authority changes the pin and the licence, which are two files. The new pin is staged beside the
 * old one with the digest of the licence that belongs to it, and counts from the moment on that this licence is the
 * stored one: whenever the login is killed, pin and licence belong together.
 */
import { renameSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { spkiOf } from "../../../checks/rsa-key.ts";
import { parseStrictJson } from "../../../checks/strict-json.ts";
import { diskError, readSecret, syncDirectory, writeDurable } from "../../../durable.ts";
import { attempt, PermissionError } from "../../../errors.ts";
import { CA_BYTES_MAX, LICENSE_KEYS_MAX, PIN_BYTES_MAX, SECRET_BYTES_MAX } from "../../../limits.ts";
import { accountPaths } from "../../../paths.ts";

/** What a machine remembers of its authority. */
export interface Pin {
  /** The authority's base address without a slash at its end; null where it is built in or of the environment. */
  readonly issuer: string | null;
  /** Its LICENSE key, SPKI in PEM; null where that is built in or of the environment. */
  readonly licenseKey: string | null;
  /** The certificates in PEM that its own has to lead to, instead of those of the system; null: those of the system. */
  readonly ca: string | null;
  /** Statements (JWS) that lead from the key to later ones, oldest first; believed only where that is verified. */
  readonly successors: readonly string[];
  /** Seconds since 1970. */
  readonly pinnedAt: number;
}

/** A pin by which an authority is chosen. */
export type AuthorityPin = Pin & { readonly issuer: string; readonly licenseKey: string };

/** Whether it names an authority, rather than holding what is remembered of a built-in one or the environment's. */
export function namesAuthority(pin: Pin | undefined): pin is AuthorityPin {
  return pin !== undefined && pin.issuer !== null && pin.licenseKey !== null;
}

/**
 * What is pinned; undefined where nothing is.
 * @throws PermissionError where the file is damaged or others can reach it; OSError
 */
export function readPin(home: string): Pin | undefined {
  const paths = accountPaths(home);
  const staged = read(home, paths.nextPin);
  if (isDue(home, staged)) return staged.pin;
  const stored = read(home, paths.pin);
  if (stored === undefined) return undefined;
  if (stored.pin !== undefined) return stored.pin;
  throw new PermissionError(
    `${basename(paths.pin)} is damaged: pin the authority again by 'svc login --authority URL --license-pubkey FILE', ` +
      "or forget it by 'svc logout --forget'",
  );
}

/** Replaces the pin. The caller holds the login's lock. @throws OSError */
export function writePin(home: string, pin: Pin): void {
  writeDurable(accountPaths(home).pin, encoded(pin));
}

/** Stages the pin of a login: it counts once `jwt` is the stored licence. The caller holds the login's lock. */
export function stagePin(home: string, pin: Pin, jwt: string): void {
  writeDurable(accountPaths(home).nextPin, encoded(pin, digestOf(jwt)));
}

/**
 * Puts a staged pin in its place where its licence is stored, and removes it otherwise: the login did not come to its
 * end. It is the first thing under the login's lock, so that the licence is not replaced before. By a rename, which
 * needs no space on a full disk.
 * @throws OSError
 */
export function settlePin(home: string): void {
  const { pin, nextPin } = accountPaths(home);
  const staged = attempt(() => read(home, nextPin));
  try {
    if (isDue(home, staged)) renameSync(nextPin, pin);
    else unlinkSync(nextPin);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw diskError(error, "write", pin);
  }
  syncDirectory(home);
}

/**
 * Remembers the statements that lead to the authority's latest LICENSE key, in place of those before. The caller has
 * verified them (license-chain.ts) and holds the login's lock. Without a pin, where the key is built in or of the
 * environment, a file is made that holds these alone.
 * @throws PermissionError where the file is damaged; OSError
 */
export function addSuccessors(home: string, statements: readonly string[]): void {
  const pin = readPin(home) ?? {
    issuer: null,
    licenseKey: null,
    ca: null,
    successors: [],
    pinnedAt: Math.floor(Date.now() / 1000),
  };
  if (statements.join() !== pin.successors.join()) writePin(home, { ...pin, successors: statements });
}

/** A pin that was read: undefined if the text is invalid; with a staged one the digest of its licence. */
interface Stored {
  readonly pin: Pin | undefined;
  readonly license: unknown;
}

function read(home: string, path: string): Stored | undefined {
  const bytes = readSecret(path, PIN_BYTES_MAX, home);
  if (bytes === undefined) return undefined;
  const value = attempt(() => parseStrictJson(bytes)) as Record<string, unknown> | undefined;
  return { pin: parsed(value), license: value?.license };
}

function parsed(value: Record<string, unknown> | undefined): Pin | undefined {
  if (typeof value !== "object" || value === null || value.format !== 1) return undefined;
  const { issuer, license_key: licenseKey, ca, successors, pinned_at: pinnedAt } = value;
  if (issuer !== null && !(typeof issuer === "string" && /^https?:\/\/[^/]/.test(issuer) && URL.canParse(issuer)))
    return undefined;
  if (licenseKey !== null && !(typeof licenseKey === "string" && spkiOf(licenseKey) !== undefined)) return undefined;
  if (ca !== null && !(typeof ca === "string" && ca.length <= CA_BYTES_MAX && ca !== "")) return undefined;
  if (!Array.isArray(successors) || successors.length > LICENSE_KEYS_MAX) return undefined;
  if (!successors.every((one) => typeof one === "string" && one.length <= SECRET_BYTES_MAX)) return undefined;
  if (typeof pinnedAt !== "number" || !Number.isFinite(pinnedAt)) return undefined;
  return { issuer, licenseKey, ca, successors, pinnedAt };
}

function encoded({ issuer, licenseKey, ca, successors, pinnedAt }: Pin, license?: string): string {
  const fields = { format: 1, issuer, license_key: licenseKey, ca, successors, pinned_at: pinnedAt, license };
  return `${JSON.stringify(fields)}\n`;
}

/** Whether a staged pin is of the stored licence. What is wrong with that one is said where it is checked. */
function isDue(home: string, staged: Stored | undefined): staged is Stored & { readonly pin: Pin } {
  if (staged?.pin === undefined) return false;
  const stored = attempt(() => readSecret(accountPaths(home).license, SECRET_BYTES_MAX, home));
  return stored !== undefined && staged.license === digestOf(new TextDecoder().decode(stored).trim());
}

/** `Bun.CryptoHasher` needs no import: this runs before first tool calls. */
function digestOf(jwt: string): string {
  return new Bun.CryptoHasher("sha256").update(jwt).digest("hex");
}
