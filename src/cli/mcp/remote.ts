/** Where `svc mcp --remote` finds its memory, and the token for it. */
import { readFileSync } from "node:fs";
import { OSError } from "../../errors.ts";
import type { Verbs } from "../../memory/requests.ts";
import type { Env } from "../../paths.ts";
import { parseAddress } from "../../remote/client/address.ts";
import { readTls, type TlsOptions } from "../../remote/client/tls.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import { asUsage, UsageError } from "../terminal/command.ts";

/** A client waits for its model: a server that is away is said at once. */
const CONNECT_MS = 2_000;

/** The flags that name the memory. */
interface MemoryFlags {
  path?: string | undefined;
  remote?: string | undefined;
  "token-file"?: string | undefined;
  "tls-ca"?: string | undefined;
}

/** A memory that `svc serve` has. */
export interface RemoteMemory {
  address: string;
  token: string | undefined;
  tls: TlsOptions | undefined;
}

/**
 * The memory elsewhere that flags or environment name; undefined for one on this machine. `--path` is stronger than
 * `SVC_REMOTE`. The token is in a file, or in `SVC_ACCESS_TOKEN`: as an argument it would be in the list of processes.
 * @throws UsageError for flags that contradict each other; OSError for a file that cannot be read
 */
export function remoteMemory(flags: MemoryFlags, env: Env): RemoteMemory | undefined {
  const { path, remote, "token-file": file, "tls-ca": ca } = flags;
  if (remote !== undefined && path !== undefined)
    throw new UsageError("--path is a memory on this machine and --remote one of a server: give one of them");
  const address = remote ?? (path === undefined ? env.SVC_REMOTE || undefined : undefined);
  if (address === undefined) {
    if (file !== undefined) throw new UsageError("--token-file is the token for a server: give --remote too");
    if (ca !== undefined) throw new UsageError("--tls-ca is for the certificate of a server: give --remote too");
    return undefined;
  }
  const tls = ca === undefined ? undefined : { ca };
  asUsage(() => readTls(parseAddress(address), tls));
  return { address, token: file === undefined ? env.SVC_ACCESS_TOKEN || undefined : tokenIn(file), tls };
}

function tokenIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new OSError(`the token cannot be read from '${file}' (${code})`);
  }
}

/**
 * Opens the verbs of a memory elsewhere; those about files of this machine are opened with the first call of one.
 * @throws as `connect`
 */
export async function openRemote(
  { address, token, tls }: RemoteMemory,
  secrets: SecretPolicy | undefined,
  openLocal: () => Promise<Verbs>,
): Promise<{ verbs: Verbs; close(): Promise<void> }> {
  const { openRemoteVerbs } = await import("../../remote/client/verbs.ts");
  let opening: Promise<Verbs> | undefined;
  const local = () => {
    opening ??= openLocal().catch((error) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return openRemoteVerbs({ address, token, tls, timeoutMs: CONNECT_MS, secrets, local });
}
