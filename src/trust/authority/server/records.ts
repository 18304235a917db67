/** What an authority keeps, opened: the local one's under SVC_HOME/authority, an organisation's in its data folder. */
import { basename } from "node:path";
import { authorityFiles, authorityPaths } from "../../../paths.ts";
import { createOnce } from "../../account/files.ts";
import { approvalCodeIn, ensureApprovalCode, ensureLicenseKey, type LicenseKeys } from "../keys.ts";
import { statementError } from "../ledger/errors.ts";
import { Ledger } from "../ledger/ledger.ts";
import { localKeys } from "../license-keys.ts";
import type { GivenKey } from "../organisation/key-ring.ts";

export interface Records {
  readonly ledger: Ledger;
  readonly keys: LicenseKeys;
  /** The code that approvers type, made on first use. */
  approvalCode(): Promise<string>;
  /** Closes the ledger; another process may open an organisation's afterwards. */
  close(): void;
}

/** How long SQLite may wait for another process in an organisation's server: it answers nothing meanwhile. */
const BUSY_MS = 100;

/** @throws as `ensureLicenseKey` and `new Ledger` */
export async function openLocal(home: string): Promise<Records> {
  const key = await ensureLicenseKey(home);
  const ledger = new Ledger(authorityPaths(home).ledger, home);
  return {
    ledger,
    keys: localKeys(key),
    approvalCode: () => ensureApprovalCode(home),
    close: () => ledger.close(),
  };
}

/**
 * Takes the data folder, which is made where it is missing, for this process.
 * @param home for what messages call the folder
 * @param given a LICENSE key for the first start
 * @throws OSError where another process serves it; as `ensureLedgerKey` and `new Ledger`
 */
export async function openOrganisation(
  data: string,
  home: string,
  { given, now }: { readonly given?: GivenKey | undefined; readonly now: number },
): Promise<Records> {
  // A login at the local authority has no use for them.
  const { holdData, makeDataFolder, refuseLinked } = await import("../organisation/data.ts");
  const { ensureLedgerKey, ledgerKeys } = await import("../organisation/key-ring.ts");
  makeDataFolder(data);
  const release = holdData(data, home);
  let ledger: Ledger | undefined;
  try {
    refuseLinked(authorityFiles(data).ledger);
    ledger = new Ledger(authorityFiles(data).ledger, home, BUSY_MS, true);
    await ensureLedgerKey(ledger, data, { given, actor: "server", now });
  } catch (error) {
    ledger?.close();
    release();
    throw statementError(error, basename(authorityFiles(data).ledger));
  }
  const opened = ledger;
  return {
    ledger: opened,
    keys: ledgerKeys(opened.licenseKeys),
    approvalCode: () => {
      const path = authorityFiles(data).approvalCode;
      return approvalCodeIn(home, path, (text) => createOnce(path, text));
    },
    close: () => {
      opened.close();
      release();
    },
  };
}
