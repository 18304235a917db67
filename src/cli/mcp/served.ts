/** `svc mcp install --remote ADDRESS`: entries whose memory a server has, `svc serve`. */
import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget } from "../../clients/ssh.ts";
import { writeDurable } from "../../durable.ts";
import { errorLine } from "../../errors.ts";
import { type Env, svcHome, tokenPath } from "../../paths.ts";
import { ensurePrivateDirectory } from "../../trust/account/files.ts";
import { CONNECT_MS, remoteMemory } from "../access/remote.ts";
import { oneLine } from "../terminal/output.ts";
import { flagValue } from "./entry-flags.ts";

/** Characters of the digest of an address that name the file of its token. */
const DIGEST_LENGTH = 16;

/** The flags of such an entry. */
export interface ServedFlags {
  readonly remote?: string | undefined;
  readonly "token-file"?: string | undefined;
  readonly "tls-ca"?: string | undefined;
}

/** The flags as an entry has them, and what has to be written before it works. */
export interface Served {
  readonly flags: ServedFlags;
  /** Writes the token where the flags name it. @throws OSError */
  storeToken(): void;
}

/**
 * The flags as an entry has them: a client starts its servers in any folder, so that paths are absolute.
 * A token of the environment goes into a file that only this user can read: others may read a client's configuration.
 * @throws UsageError for flags that contradict each other or no address; OSError for a file that cannot be read
 */
export async function servedFlags(
  flags: ServedFlags & { readonly path?: string | undefined },
  env: Env,
): Promise<Served> {
  const given = remoteMemory(flags, env);
  const storeToken = () => {};
  if (given === undefined) return { flags: {}, storeToken };
  const { address } = given;
  const token = await given.token();
  const remote = /^\.\//.test(address) ? `unix://${resolve(address)}` : address;
  const [file, ca] = [flags["token-file"], flags["tls-ca"]];
  const served = { remote, ...(ca === undefined ? {} : { "tls-ca": resolve(ca) }) };
  if (file !== undefined) return { flags: { ...served, "token-file": resolve(file) }, storeToken };
  if (token === undefined) return { flags: served, storeToken };
  const home = svcHome(env);
  const kept = tokenPath(home, createHash("sha256").update(remote).digest("hex").slice(0, DIGEST_LENGTH));
  return {
    flags: { ...served, "token-file": kept },
    storeToken() {
      ensurePrivateDirectory(dirname(kept), home);
      writeDurable(kept, `${token}\n`);
    },
  };
}

/** The address of the memory of an entry; undefined for a memory on this machine. */
export function addressIn(args: readonly string[]): string | undefined {
  return flagValue(args, "--remote");
}

/** The host or the address whose memory an entry uses; undefined for a memory on this machine. */
export function otherMachine(server: ServerEntry): string | undefined {
  return sshTarget(server)?.host ?? addressIn(server.args);
}

/** Connects as the entry's server will. @returns why it cannot, without the subject of the sentence */
export async function tryServed({ args }: ServerEntry, env: Env): Promise<string | undefined> {
  const [file, ca] = [flagValue(args, "--token-file"), flagValue(args, "--tls-ca")];
  const flags = { remote: addressIn(args), "token-file": file, "tls-ca": ca };
  try {
    const there = remoteMemory(flags, env)!;
    const { connect } = await import("../../remote/client/client.ts");
    await using memory = await connect(there.address, {
      token: await there.token(),
      tls: there.tls,
      timeoutMs: CONNECT_MS,
    });
    await memory.ping();
    return undefined;
  } catch (error) {
    return `does not reach its memory: ${oneLine(errorLine(error))}`;
  }
}

/** What is to be known of a memory that a server has. */
export function servedNote(address: string): string {
  return `the memory is the one at ${oneLine(address)}; svc_repo_search reads the files of this machine`;
}
