/**
 * The control plane: device authorization with a web page, API keys, devices, licences, bundles. For one machine it
 * runs on a loopback port during a login; for an organisation as `svc authority serve`, with the same endpoints.
 */
import { randomBytes } from "node:crypto";
import { hostname as machineName } from "node:os";
import { basename } from "node:path";
import { buildInfo } from "../../../build-info.ts";
import { attempt, OSError, ValueError } from "../../../errors.ts";
import { AUTHORITY_IDLE_S, AUTHORITY_REQUEST_BYTES_MAX, AUTHORITY_STOP_MS } from "../../../limits.ts";
import type { Log } from "../../../log.ts";
import { FEATURES } from "../../account/license/features.ts";
import { isLoopback, secureBase } from "../../account/trusted/endpoints.ts";
import { type Proxies, proxiesOf } from "../addresses.ts";
import { type Authority, answerError, type BundleSource } from "../context.ts";
import { Decisions } from "../decisions.ts";
import { GUESS_LIMITS, Guesses, type GuessLimits } from "../guesses.ts";
import { LICENSE_DAYS } from "../keys.ts";
import { statementError } from "../ledger/errors.ts";
import type { GivenKey } from "../organisation/key-ring.ts";
import { Sessions } from "../sessions.ts";
import { openLocal, openOrganisation, type Records } from "./records.ts";
import { answering } from "./requests.ts";
import type { Room } from "./room.ts";
import { localRoutes, organisationRoutes } from "./routes.ts";

export interface AuthorityOptions {
  readonly home: string;
  /**
   * The data folder of an organisation's authority, with administrators and records of changes. Without it, it is
   * the local authority, under `SVC_HOME/authority`.
   */
  readonly data?: string;
  /** The LICENSE key of an organisation, for its first start; without it one is made. */
  readonly licenseKey?: GivenKey;
  /** Where events go; nowhere by default. */
  readonly log?: Log;
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** 127.0.0.1 by default. Anything beyond loopback needs `tls`, or a trusted proxy with a `publicUrl` on https. */
  readonly hostname?: string;
  /** `browser` (default) waits for approval on the page; `yes` approves at once and is for loopback only. */
  readonly approve?: "browser" | "yes";
  /** With several, the first that has what was requested. */
  readonly bundle?: BundleSource | readonly BundleSource[];
  /** Certificate and private key, PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The address for browsers and devices, where it is not the one that this listens on. */
  readonly publicUrl?: string;
  /** Addresses and networks of proxies, which say in X-Forwarded-For for whom they ask. Of others it is not read. */
  readonly trustedProxies?: readonly string[];
  /** Whether only the caller can reach the endpoints: their address has an unguessable part. For loopback only. */
  readonly privateApi?: boolean;
  readonly tier?: string;
  readonly features?: readonly string[];
  /** Days until a licence expires (`LICENSE_DAYS`). */
  readonly licenseDays?: number;
  readonly offlineGraceDays?: number;
  /** Seconds until a code expires (600) and seconds between polls (1). */
  readonly codeSeconds?: number;
  readonly intervalSeconds?: number;
  readonly guessLimits?: GuessLimits;
  /** Further limits, as tests have them: see `Arrival`, and `AUTHORITY_IDLE_S`. */
  readonly room?: Room;
  readonly missesOfAddress?: number;
  readonly idleSeconds?: number;
  /** Milliseconds since 1970, for tests. */
  readonly now?: () => number;
}

export interface RunningAuthority {
  /** Base address for browsers: the approval page is below it. */
  readonly url: string;
  /** Base address of accounts, api and packages: `url`, with `privateApi` followed by a secret. Not to be printed. */
  readonly apiUrl: string;
  /** The LICENSE key's public half, for `SVC_LICENSE_PUBKEY` or a build's `--license-pubkey`. */
  readonly licensePublicKeyPem: string;
  /** The id of that key: SHA-256 over its SPKI, as base64url. */
  readonly licenseKeyId: string;
  /** Whether approvers must type the code in the file `approval_code` beside the ledger. */
  readonly asksApprovalCode: boolean;
  /**
   * Accepts no further requests, waits for those in flight, of an organisation's for ten seconds at most and of a
   * login's for one, then closes the ledger.
   */
  stop(): Promise<void>;
}

/**
 * Starts an authority; its LICENSE key and ledger are made on first use.
 * @throws ValueError for options that would license anyone or expose tokens to the network; OSError if the port is
 * taken, or the data folder served by another process; PermissionError if others can read the authority's secrets.
 */
export async function startAuthority(options: AuthorityOptions): Promise<RunningAuthority> {
  const { home, hostname = "127.0.0.1", approve, publicUrl } = options;
  const isReachable = !isLoopback(hostname) || publicUrl !== undefined;
  if (publicUrl !== undefined) secureBase(publicUrl, "the public address");
  if (isReachable && approve === "yes") throw new ValueError("approving without asking is for loopback only");
  if (isReachable && options.privateApi) throw new ValueError("a private api is for loopback only");
  const proxies = proxiesOf(options.trustedProxies ?? []);
  const isBehindTls = proxies !== undefined && publicUrl?.startsWith("https:");
  if (!isLoopback(hostname) && options.tls === undefined && !isBehindTls) {
    throw new ValueError(
      `listening on ${hostname} needs a certificate, or a trusted proxy in front with an https public address`,
    );
  }
  const now = options.now ?? Date.now;
  const records =
    options.data === undefined
      ? await openLocal(home)
      : await openOrganisation(options.data, home, { given: options.licenseKey, now: now() });
  try {
    return await listen(options, records, { isReachable, proxies });
  } catch (error) {
    records.close();
    throw options.data === undefined ? error : statementError(error, basename(records.ledger.path));
  }
}

interface Checked {
  readonly isReachable: boolean;
  readonly proxies: Proxies | undefined;
}

async function listen(
  options: AuthorityOptions,
  records: Records,
  { isReachable, proxies }: Checked,
): Promise<RunningAuthority> {
  const { hostname = "127.0.0.1", publicUrl, tls, port = 0, privateApi = false } = options;
  const { ledger, keys } = records;
  let url = "";
  const authority: Authority = {
    organisation: options.data !== undefined,
    ledger,
    keys,
    approve: options.approve ?? "browser",
    // The local authority has one code: all 19,000 answers a second for ten minutes hit it with probability .0005. Without a
    // pause no other user of the machine can hold up the person.
    guesses: new Guesses({ ...(options.guessLimits ?? GUESS_LIMITS), ...(privateApi && { chance: Infinity }) }),
    decisions: new Decisions(),
    sessions: new Sessions(),
    issued: privateApi ? [] : undefined,
    // An organisation's on loopback may be behind a proxy that it does not know of.
    approvalCode: isReachable || options.data !== undefined ? await records.approvalCode() : undefined,
    bundles: [options.bundle ?? []].flat(),
    codeSeconds: options.codeSeconds ?? 600,
    intervalSeconds: options.intervalSeconds ?? 1,
    tier: options.tier ?? "community",
    features: options.features ?? FEATURES,
    licenseDays: options.licenseDays ?? LICENSE_DAYS,
    offlineGraceDays: options.offlineGraceDays ?? 30,
    formSecret: randomBytes(32),
    publicUrl: () => url,
    now: options.now ?? Date.now,
    log: options.log ?? (() => {}),
    audit: (event, entry) => {
      if (authority.organisation) ledger.audit.add({ at: authority.now(), event, ...entry });
    },
  };
  const apiPath = privateApi ? `/${randomBytes(24).toString("base64url")}` : "";
  const routes = authority.organisation ? await organisationRoutes() : localRoutes();
  const answer = answering(authority, { ...options, proxies, isEncrypted: tls !== undefined, routes, apiPath });
  let server: Bun.Server<undefined>;
  try {
    server = Bun.serve({
      hostname,
      port,
      tls,
      development: false,
      // Outside development Bun's default shares the port: a second authority would get half of the requests.
      reusePort: false,
      idleTimeout: options.idleSeconds ?? AUTHORITY_IDLE_S,
      maxRequestBodySize: AUTHORITY_REQUEST_BYTES_MAX,
      fetch: (request, self) => answer(request, self.requestIP(request)?.address),
      error: () => answerError(500, "server_error"),
    });
  } catch (error) {
    const code = (error as { code?: string }).code ?? "refused";
    throw new OSError(`cannot listen on ${hostname}:${port} (${code}): ${LISTEN_REMEDIES[code] ?? OTHER_REMEDY}`);
  }
  url = (publicUrl ?? `${tls ? "https" : "http"}://${hostPart(hostname)}:${server.port}`).replace(/\/+$/, "");
  try {
    authority.audit("server_started", { actor: "server", detail: { address: url, version: buildInfo().version } });
  } catch (error) {
    await server.stop(true);
    throw error;
  }
  let ended: Promise<void> | undefined;
  const end = async () => {
    // One process asks the local authority, and has its answers; others on the machine must not hold up its end.
    await lastRequests(server, authority.organisation ? AUTHORITY_STOP_MS : LOGIN_STOP_MS);
    await server.stop(true);
    for (const code of authority.issued?.splice(0) ?? []) ledger.codes.withdrawCode(code);
    // On a full disk the server ends all the same.
    attempt(() => authority.audit("server_stopped", { actor: "server" }));
    records.close();
  };
  const key = keys.current();
  return {
    url,
    apiUrl: url + apiPath,
    licensePublicKeyPem: key.publicKeyPem,
    licenseKeyId: key.kid,
    asksApprovalCode: authority.approvalCode !== undefined,
    stop: () => {
      ended ??= end();
      return ended;
    },
  };
}

/** The host in addresses for others: for a wildcard address the machine's name. */
function hostPart(hostname: string): string {
  if (hostname === "0.0.0.0" || hostname === "::") return machineName();
  return hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
}

/**
 * Stops accepting, and waits for requests in flight. Connections without one, which Bun waits for too, are not a
 * reason.
 */
async function lastRequests(server: Bun.Server<undefined>, mostMs: number): Promise<void> {
  const isOver = server.stop().then(() => true);
  const latest = performance.now() + mostMs;
  while (server.pendingRequests > 0 && performance.now() < latest) {
    if (await Promise.race([isOver, Bun.sleep(LOOK_MS).then(() => false)])) return;
  }
}

const LISTEN_REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: "another server listens there: stop it, or name another port",
  EACCES: "a port below 1024 needs root or the capability CAP_NET_BIND_SERVICE: choose a higher port",
};
const OTHER_REMEDY = "is it an address of this machine?";

const LOOK_MS = 10;
const LOGIN_STOP_MS = 1000;
