/**
 * An organisation's LICENSE keys, which its ledger keeps: the first is made or taken at the first start, each later one
 * is stated by the one before it. A server that runs signs with the new one from its next licence on.
 */
import { join } from "node:path";
import { readCapped, writeDurable } from "../../../durable.ts";
import { PermissionError, TimeoutError, ValueError } from "../../../errors.ts";
import { LICENSE_KEYS_MAX, SECRET_BYTES_MAX } from "../../../limits.ts";
import { svcHome } from "../../../paths.ts";
import { secretText } from "../../account/files.ts";
import { type LicenseKey, type LicenseKeys, licenseKeyOf, newKeyPem, signStatement } from "../keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LicenseKeyRecord, LicenseKeyRecords } from "../ledger/license-keys.ts";

/** A private key that the organisation brings, and the name of its file. */
export interface GivenKey {
  readonly pem: string;
  readonly name: string;
}

/** Who adds a key, and when, in milliseconds since 1970. */
interface Occasion {
  readonly actor: string;
  readonly now: number;
}

/** The keys of a ledger that has one. */
export function ledgerKeys(records: LicenseKeyRecords): LicenseKeys {
  let current: LicenseKey | undefined;
  return {
    current: () => {
      // A read by primary key, some microseconds beside the milliseconds of a signature; parsing the key takes longer.
      const record = records.current();
      if (record === undefined) throw new PermissionError("the ledger has no LICENSE key: restore a backup");
      if (current?.kid !== record.id) current = parsed(record);
      return current;
    },
    list: () =>
      records
        .list()
        .map(({ id, publicPem }) => ({ kid: id, publicKeyPem: publicPem }))
        .reverse(),
    statements: () => records.list().flatMap(({ statement }) => statement ?? []),
  };
}

/**
 * Gives a ledger without a key its first one: the given one, else `license_key.pem` in the data folder, else a new one.
 * Keeps a copy of the latest public half beside the ledger.
 * @param given must be a key that the ledger has, where it has any
 * @throws PermissionError for a key that cannot be used or that others can read; ValueError for another key than the
 *   ledger's; OSError
 */
export async function ensureLedgerKey(
  ledger: Ledger,
  data: string,
  { given, ...occasion }: Occasion & { readonly given?: GivenKey | undefined },
): Promise<void> {
  const records = ledger.licenseKeys;
  const wanted = given && licenseKeyOf(given.pem, `'${given.name}'`, "");
  if (records.current() === undefined) {
    const pem = given?.pem ?? secretText(svcHome(), join(data, "license_key.pem"));
    const key = wanted ?? licenseKeyOf(pem ?? (await newKeyPem()), "license_key.pem in the data folder", "");
    ledger.transaction(() => {
      if (records.current() === undefined) add(ledger, key, null, { ...occasion, imported: pem !== undefined });
    });
  }
  if (wanted && !records.list().some(({ id }) => id === wanted.kid))
    throw new ValueError(
      `'${given.name}' is another key than this authority's: start it without one, or take a new folder. ` +
        "'svc authority keys roll-over' makes a new key that machines trust",
    );
  copyPublic(data, records.current()!.publicPem);
}

/**
 * Makes a new key, stated by the current one, and signs with it from now on. Licences by the earlier keys stay valid.
 * @param leaveBehind whether machines may be left behind that trust a key which as many follow as a machine follows
 * @returns the new key's record
 * @throws PermissionError for a ledger without a key; ValueError where machines would be left behind;
 *   TimeoutError where another process has added one meanwhile; OSError
 */
export async function rollOver(
  ledger: Ledger,
  data: string,
  { leaveBehind = false, ...occasion }: Occasion & { readonly leaveBehind?: boolean },
): Promise<LicenseKeyRecord> {
  const last = ledger.licenseKeys.list().at(-1 - LICENSE_KEYS_MAX);
  if (last !== undefined && !leaveBehind)
    throw new ValueError(
      `${LICENSE_KEYS_MAX} keys have followed SHA256:${last.id}, and no machine follows more: those that trust it or an ` +
        "earlier one would get no licence by the next. Log them in with the latest key, then add --leave-behind",
    );
  const signer = ledgerKeys(ledger.licenseKeys).current();
  const next = licenseKeyOf(await newKeyPem());
  const statement = await signStatement(signer, next, Math.floor(occasion.now / 1000));
  ledger.transaction(() => {
    if (ledger.licenseKeys.current()?.id !== signer.kid)
      throw new TimeoutError("another process has just added a key: 'svc authority keys' lists them", "locked");
    add(ledger, next, statement, { ...occasion, imported: false });
  });
  copyPublic(data, next.publicKeyPem);
  return ledger.licenseKeys.current()!;
}

/** Adds a key and records that. The caller is in a transaction. */
function add(
  { licenseKeys, audit }: Ledger,
  key: LicenseKey,
  statement: string | null,
  { actor, now, imported }: Occasion & { imported: boolean },
): void {
  const privatePem = key.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  licenseKeys.add({ id: key.kid, privatePem, publicPem: key.publicKeyPem, createdAt: now, statement });
  audit.add({ at: now, event: "license_key_added", actor, detail: { key: key.kid, imported } });
}

function copyPublic(data: string, pem: string): void {
  const path = join(data, "license_key.pub.pem");
  // It is public: a mode that lets others read it is not a reason to end a start, or a roll-over that has been made.
  const kept = readCapped(path, SECRET_BYTES_MAX);
  if (kept === undefined || new TextDecoder().decode(kept) !== pem) writeDurable(path, pem);
}

function parsed({ privatePem }: LicenseKeyRecord): LicenseKey {
  return licenseKeyOf(privatePem, "a LICENSE key in the ledger", "");
}
