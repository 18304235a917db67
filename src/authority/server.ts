/**
 * The control plane: device authorization with a web page, API keys, devices, licences, bundles. For one machine it
 * runs on a loopback port during a login; for an organisation as `svc authority serve`, with the same endpoints.
 */
import { randomBytes } from "node:crypto";
import { hostname as machineName } from "node:os";
import { isLoopback, secureBase } from "../account/endpoints.ts";
import { OSError, ValueError } from "../errors.ts";
import { AUTHORITY_REQUEST_BYTES_MAX } from "../limits.ts";
import { authorityPaths } from "../paths.ts";
import { clientAddress } from "./addresses.ts";
import { type Authority, answerError, type BundleSource } from "./context.ts";
import { Ledger } from "./database.ts";
import { Decisions } from "./decisions.ts";
import { GUESS_LIMITS, Guesses, type GuessLimits } from "./guesses.ts";
import { ensureApprovalCode, ensureLicenseKey, LICENSE_DAYS } from "./keys.ts";
import { answer } from "./routes.ts";

export interface AuthorityOptions {
  readonly home: string;
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** 127.0.0.1 by default. Anything beyond loopback needs `tls`, or a `publicUrl` on https in front of it. */
  readonly hostname?: string;
  /** `browser` (default) waits for approval on the page; `yes` approves at once and is for loopback only. */
  readonly approve?: "browser" | "yes";
  readonly bundle?: BundleSource;
  /** Certificate and private key, PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The address for browsers and devices, where it is behind a proxy, which says for whom in X-Forwarded-For. */
  readonly publicUrl?: string;
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
  /** Whether approvers must type the code in `authority/approval_code` under SVC_HOME. */
  readonly asksApprovalCode: boolean;
  /** Waits for requests in flight, for a second at most, then closes the ledger. */
  stop(): Promise<void>;
}

export const COMMUNITY_FEATURES = ["memory", "mcp", "repo", "serve"] as const;
const STOP_MS_MAX = 1000;

/**
 * Starts an authority; its LICENSE key and ledger are made under `SVC_HOME/authority` on first use.
 * @throws ValueError for options that would license anyone or expose tokens to the network; OSError if the port is
 * taken; PermissionError if others can read the authority's secrets.
 */
export async function startAuthority(options: AuthorityOptions): Promise<RunningAuthority> {
  const { home, hostname = "127.0.0.1", approve = "browser", publicUrl } = options;
  const reachable = !isLoopback(hostname) || publicUrl !== undefined;
  if (publicUrl !== undefined) secureBase(publicUrl, "the public address");
  if (reachable && approve === "yes") throw new ValueError("approving without asking is for loopback only");
  if (reachable && options.privateApi) throw new ValueError("a private api is for loopback only");
  if (!isLoopback(hostname) && options.tls === undefined && !publicUrl?.startsWith("https:")) {
    throw new ValueError(
      `listening on ${hostname} needs a certificate, or an https public address of a proxy in front`,
    );
  }
  const key = await ensureLicenseKey(home);
  const ledger = new Ledger(authorityPaths(home).ledger, home);
  let url = "";
  const authority: Authority = {
    ledger,
    key,
    approve,
    // A login's own has one code: all 19,000 answers a second for ten minutes hit it with probability .0005. Without a
    // pause no other user of the machine can hold up the person.
    guesses: new Guesses({ ...(options.guessLimits ?? GUESS_LIMITS), ...(options.privateApi && { chance: Infinity }) }),
    decisions: new Decisions(),
    issued: options.privateApi ? [] : undefined,
    approvalCode: reachable ? await ensureApprovalCode(home) : undefined,
    bundle: options.bundle,
    codeSeconds: options.codeSeconds ?? 600,
    intervalSeconds: options.intervalSeconds ?? 1,
    tier: options.tier ?? "community",
    features: options.features ?? COMMUNITY_FEATURES,
    licenseDays: options.licenseDays ?? LICENSE_DAYS,
    offlineGraceDays: options.offlineGraceDays ?? 30,
    formSecret: randomBytes(32),
    publicUrl: () => url,
    now: options.now ?? Date.now,
  };
  const apiPath = options.privateApi ? `/${randomBytes(24).toString("base64url")}` : "";
  let server: Bun.Server<undefined>;
  try {
    server = Bun.serve({
      hostname,
      port: options.port ?? 0,
      tls: options.tls,
      development: false,
      // Outside development Bun's default shares the port: a second authority would get half of the requests.
      reusePort: false,
      idleTimeout: 30,
      maxRequestBodySize: AUTHORITY_REQUEST_BYTES_MAX,
      fetch: (request, self) => {
        const peer = self.requestIP(request)?.address;
        return answer(authority, apiPath, request, clientAddress(peer, request.headers, publicUrl !== undefined));
      },
      error: () => answerError(500, "server_error"),
    });
  } catch (error) {
    ledger.close();
    throw new OSError(
      `cannot listen on ${hostname}:${options.port ?? 0}: ${(error as { code?: string }).code ?? "refused"}`,
    );
  }
  url = (publicUrl ?? `${options.tls ? "https" : "http"}://${hostPart(hostname)}:${server.port}`).replace(/\/+$/, "");
  return {
    url,
    apiUrl: url + apiPath,
    licensePublicKeyPem: key.publicKeyPem,
    asksApprovalCode: reachable,
    stop: async () => {
      await Promise.race([server.stop(), Bun.sleep(STOP_MS_MAX)]);
      await server.stop(true);
      for (const code of authority.issued?.splice(0) ?? []) ledger.withdrawCode(code);
      ledger.close();
    },
  };
}

/** The host in addresses for others: for a wildcard address the machine's name. */
function hostPart(hostname: string): string {
  if (hostname === "0.0.0.0" || hostname === "::") return machineName();
  return hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
}
