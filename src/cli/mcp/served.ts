/**
 * `svc mcp install --remote ADDRESS`: entries whose memory a server has, `svc serve`.
 *
 * A client's configuration may be read by others: a token of the environment goes into a file of mode 0600 under
 * SVC_HOME, and the entry names the file. Entries share a file only if they have the same token.
 */
import { createHash } from "node:crypto";
import { basename, dirname, resolve } from "node:path";
import { CLIENTS } from "../../clients/clients.ts";
import { ownNames, readEntry } from "../../clients/plan.ts";
import type { ServerEntry } from "../../clients/shapes.ts";
import { sshTarget } from "../../clients/ssh.ts";
import { removeDurable, writeDurable } from "../../durable.ts";
import { errorFacts } from "../../errors.ts";
import { type Env, svcHome, tokenPath } from "../../paths.ts";
import { ensurePrivateDirectory } from "../../trust/account/files.ts";
import { CONNECT_MS, remoteMemory } from "../access/remote.ts";
import { oneLine } from "../terminal/output.ts";
import { type EntryFlags, flagValue, SERVED } from "./entry-flags.ts";
import type { Target } from "./targets.ts";

/** The flags of such an entry. */
export type ServedFlags = Pick<EntryFlags, (typeof SERVED)[number]>;

/** Those that name files of certificates. */
const CERTIFICATES = ["tls-ca", "tls-cert", "tls-key"] as const;

/** The flags of an entry, and the file that is written with it. */
export interface ServedEntry {
  readonly flags: ServedFlags;
  /** For a token of the environment. */
  readonly tokenFile?: TokenFile;
}

/**
 * The flags as an entry has them: a client starts its servers in any folder, so that paths are absolute.
 * @throws UsageError for flags that contradict each other or no address; OSError for a file that cannot be read
 */
export async function servedEntry(
  flags: ServedFlags & { readonly path?: string | undefined },
  target: Target,
  env: Env,
): Promise<ServedEntry> {
  const given = remoteMemory(flags, env);
  if (given === undefined) return { flags: {} };
  const { address } = given;
  const token = await given.token();
  const remote = /^\.\//.test(address) ? `unix://${resolve(address)}` : address;
  const file = flags["token-file"];
  const named = CERTIFICATES.filter((name) => flags[name] !== undefined);
  const served = { remote, ...Object.fromEntries(named.map((name) => [name, resolve(flags[name]!)])) };
  if (file !== undefined) return { flags: { ...served, "token-file": resolve(file) } };
  if (token === undefined) return { flags: served };
  const tokenFile = tokenFileFor(remote, token, target, env);
  return { flags: { ...served, "token-file": tokenFile.path }, tokenFile };
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
  const problem = await tryConnection(
    Object.fromEntries(SERVED.map((name) => [name, flagValue(args, `--${name}`)])),
    env,
  );
  return problem && `does not reach its memory: ${problem}`;
}

/** Connects to the memory that flags or SVC_REMOTE name, one of which must. @returns why it cannot, as a sentence */
export async function tryConnection(flags: ServedFlags, env: Env): Promise<string | undefined> {
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
    return oneLine(errorFacts(error).message);
  }
}

/** What is to be known of a memory that a server has. */
export function servedNote(address: string): string {
  return `the memory is the one at ${oneLine(address)}; svc_repo_search reads the files of this machine`;
}

/** Characters of the digest that names a file. */
const NAME_LENGTH = 16;

/** A token and the file that an entry names for it. */
export interface TokenFile {
  readonly path: string;
  readonly token: string;
}

/**
 * The file for a token; nothing is written. A project's entries have a file of their own: entries of other projects
 * cannot be found, and one that they share could never be removed.
 */
export function tokenFileFor(address: string, token: string, { scope, site }: Target, env: Env): TokenFile {
  const key = [address, token, ...(scope === "project" ? [site.project] : [])];
  const name = createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, NAME_LENGTH);
  return { path: tokenPath(svcHome(env), name), token };
}

/** @throws OSError where it cannot be written */
export function writeTokenFile({ path, token }: TokenFile, env: Env): void {
  ensurePrivateDirectory(dirname(path), svcHome(env));
  writeDurable(path, `${token}\n`);
}

/** The token file that an entry names; undefined without one, and for one on another host. */
export function tokenFileIn(server: ServerEntry): string | undefined {
  return sshTarget(server) === undefined ? flagValue(server.args, "--token-file") : undefined;
}

/**
 * Removes a file that an install wrote, once no entry names it. It stays where a client's file cannot be read, which may
 * have such an entry.
 */
export function removeUnusedTokenFile(path: string | undefined, { site }: Target, env: Env): void {
  if (path === undefined || path !== tokenPath(svcHome(env), basename(path)) || !NAME.test(basename(path))) return;
  if (!mayBeNamed(path, site)) removeDurable(path);
}

const NAME = new RegExp(`^[0-9a-f]{${NAME_LENGTH}}$`);

function mayBeNamed(path: string, site: Target["site"]): boolean {
  const scopes = site.project === undefined ? (["user"] as const) : (["user", "project"] as const);
  return scopes.some((scope) =>
    CLIENTS.filter((client) => client.scopes.includes(scope)).some((client) =>
      // A file that cannot be read has no names, and any name shows that.
      ["svc", ...ownNames(client, scope, site)].some((name) => {
        const entry = readEntry(client, scope, name, site);
        return entry.state === "unreadable" || (entry.state === "present" && tokenFileIn(entry.server) === path);
      }),
    ),
  );
}
