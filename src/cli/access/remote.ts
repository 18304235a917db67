/** A memory that `svc serve` has, for `svc mcp --remote` and `svc mem --remote`. */
import { OSError } from "../../errors.ts";
import type { Verbs } from "../../memory/requests.ts";
import { type Env, svcHome } from "../../paths.ts";
import { parseAddress } from "../../remote/client/address.ts";
import type { TlsOptions } from "../../remote/client/tls.ts";
import type { SecretPolicy } from "../../secrets/policy.ts";
import { type Args, asUsage, string, UsageError } from "../terminal/command.ts";

/** A model waits for the answer: an unreachable server is reported quickly. */
export const CONNECT_MS = 2_000;

/** Flags of commands that accept a served memory. */
export const REMOTE = {
  remote: string("ADDRESS", "a memory that 'svc serve' has, instead of one here (SVC_REMOTE); needs no login"),
  "token-file": string("FILE", "file with the access token for --remote (else SVC_ACCESS_TOKEN)"),
  "tls-ca": string("FILE", "certificates in PEM that sign the one of --remote tls://…; not needed with a fingerprint"),
  "tls-cert": string("FILE", "this client's certificate in PEM, for a server with --client-ca"),
  "tls-key": string("FILE", "its private key in PEM"),
} as const satisfies Args;

/** The flags that name the memory. */
interface MemoryFlags {
  path?: string | undefined;
  remote?: string | undefined;
  "token-file"?: string | undefined;
  "tls-ca"?: string | undefined;
  "tls-cert"?: string | undefined;
  "tls-key"?: string | undefined;
}

/** The flags about TLS, by what they are in the options of `connect`. */
const TLS_FLAGS = { ca: "tls-ca", cert: "tls-cert", key: "tls-key" } as const;

/** A memory that `svc serve` has. */
export interface RemoteMemory {
  address: string;
  tls: TlsOptions | undefined;
  /**
   * The token, if there is one. A file is read with each call: its token may be replaced while this process runs.
   * @throws OSError for a file that is not there or empty; PermissionError for one that others can read
   */
  token(): Promise<string | undefined>;
}

/**
 * The memory elsewhere that flags or environment name; undefined for one on this machine. `--path` is stronger than
 * `SVC_REMOTE`. The token is in a file, or in `SVC_ACCESS_TOKEN`: as an argument it would be in the list of processes.
 * @throws UsageError for flags that contradict each other, and for no address
 */
export function remoteMemory(flags: MemoryFlags, env: Env): RemoteMemory | undefined {
  const { path, remote, "token-file": file } = flags;
  const tls = tlsIn(flags);
  if (remote !== undefined && path !== undefined)
    throw new UsageError("--path is a memory on this machine and --remote one of a server: give one of them");
  const address = remote ?? (path === undefined ? env.SVC_REMOTE || undefined : undefined);
  if (address === undefined) {
    if (file !== undefined) throw new UsageError("--token-file is the token for a server: give --remote too");
    if (tls !== undefined) throw new UsageError(`--${tls.first} is for the TLS of a server: give --remote too`);
    return undefined;
  }
  const place = asUsage(() => parseAddress(address));
  if (tls !== undefined && (place.kind === "unix" || place.tls === undefined))
    throw new UsageError(`--${tls.first} is for an address that begins with tls://`);
  return {
    address,
    tls: tls?.options,
    token: async () => (file === undefined ? env.SVC_ACCESS_TOKEN || undefined : tokenIn(file, env)),
  };
}

/** What the flags say about TLS, and the first of them; undefined without any. @throws UsageError */
function tlsIn(flags: MemoryFlags): { options: TlsOptions; first: string } | undefined {
  const given = Object.entries(TLS_FLAGS).filter(([, flag]) => flags[flag] !== undefined);
  const [first] = given;
  if (first === undefined) return undefined;
  if ((flags["tls-cert"] === undefined) !== (flags["tls-key"] === undefined))
    throw new UsageError("--tls-cert and --tls-key belong together: give both");
  return { options: Object.fromEntries(given.map(([name, flag]) => [name, flags[flag]])), first: first[1] };
}

/**
 * Refuses a served memory for commands that need the memory's files.
 * @throws UsageError where a flag or the environment names a memory elsewhere
 */
export function refuseRemote(flags: MemoryFlags, name: string, env: Env): void {
  const there = remoteMemory(flags, env);
  if (there === undefined) return;
  throw new UsageError(
    `'${name}' needs the files of the memory, which are where ${there.address} runs: run it there, or give --path for a ` +
      "memory here (--remote and SVC_REMOTE name one elsewhere)",
  );
}

async function tokenIn(file: string, env: Env): Promise<string> {
  const { secretText } = await import("../../trust/account/files.ts");
  const token = secretText(svcHome(env), file);
  if (token) return token;
  throw new OSError(`there is no token in '${file}'${token === undefined ? ": there is no such file" : ""}`);
}

/**
 * Opens the verbs of a memory elsewhere; those about files of this machine are opened with the first call of one.
 * @throws as `connect`
 */
export async function openRemote(
  memory: RemoteMemory,
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
  const { address, token, tls } = memory;
  return openRemoteVerbs({ address, token, tls, timeoutMs: CONNECT_MS, secrets, local });
}
