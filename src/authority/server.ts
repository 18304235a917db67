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
import { deviceNonce, deviceRegister, onboard, runtimeBundle } from "./api.ts";
import { approvalDecision, approvalPage, deviceCode, deviceToken } from "./authorization.ts";
import { type Authority, answerError, type BundleSource, type Call } from "./context.ts";
import { Ledger } from "./database.ts";
import { Guesses, type GuessLimits } from "./guesses.ts";
import { ensureApprovalCode, ensureLicenseKey } from "./keys.ts";

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
  /** The address for browsers and devices, where it is behind a proxy. */
  readonly publicUrl?: string;
  readonly tier?: string;
  readonly features?: readonly string[];
  /** Days until a licence expires; ten years, because a login is meant to be needed once. */
  readonly licenseDays?: number;
  readonly offlineGraceDays?: number;
  /** Seconds until a code expires (600) and seconds between polls (1). */
  readonly codeSeconds?: number;
  readonly intervalSeconds?: number;
  /** Bits of a LICENSE key made now (3072); tests take fewer. */
  readonly modulusBits?: number;
  readonly guessLimits?: GuessLimits;
  /** Milliseconds since 1970, for tests. */
  readonly now?: () => number;
}

export interface RunningAuthority {
  /** Base address of accounts, api and packages. */
  readonly url: string;
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
  if (!isLoopback(hostname) && options.tls === undefined && !publicUrl?.startsWith("https:")) {
    throw new ValueError(
      `listening on ${hostname} needs a certificate, or an https public address of a proxy in front`,
    );
  }
  const key = await ensureLicenseKey(home, options.modulusBits);
  const ledger = new Ledger(authorityPaths(home).ledger, home);
  let url = "";
  const authority: Authority = {
    ledger,
    key,
    approve,
    guesses: new Guesses(options.guessLimits),
    approvalCode: reachable ? await ensureApprovalCode(home) : undefined,
    bundle: options.bundle,
    codeSeconds: options.codeSeconds ?? 600,
    intervalSeconds: options.intervalSeconds ?? 1,
    tier: options.tier ?? "community",
    features: options.features ?? COMMUNITY_FEATURES,
    licenseDays: options.licenseDays ?? 3650,
    offlineGraceDays: options.offlineGraceDays ?? 30,
    formSecret: randomBytes(32),
    publicUrl: () => url,
    now: options.now ?? Date.now,
  };
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
      fetch: (request, self) => answer(authority, request, self.requestIP(request)?.address ?? "unknown"),
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
    licensePublicKeyPem: key.publicKeyPem,
    asksApprovalCode: reachable,
    stop: async () => {
      await Promise.race([server.stop(), Bun.sleep(STOP_MS_MAX)]);
      await server.stop(true);
      ledger.close();
    },
  };
}

type Handler = (authority: Authority, call: Call) => Response | Promise<Response>;

const ROUTES: Record<string, Handler> = {
  "POST /oauth/device/code": deviceCode,
  "POST /oauth/device/token": deviceToken,
  "GET /device": approvalPage,
  "POST /device": approvalDecision,
  "POST /v1/svc/onboard": onboard,
  "POST /v1/device/nonce": deviceNonce,
  "POST /v1/device/register": deviceRegister,
};

function answer(authority: Authority, request: Request, address: string): Response | Promise<Response> {
  const url = new URL(request.url);
  // DNS rebinding (an attacker's name for loopback) shows in Host; with an approval code it is harmless.
  if (authority.approvalCode === undefined && !isLoopback(url.hostname)) return answerError(421, "misdirected_request");
  const call = { request, url, address };
  const handler = ROUTES[`${request.method} ${url.pathname}`];
  if (handler) return handler(authority, call);
  const reads = request.method === "GET" || request.method === "HEAD";
  if (reads && url.pathname.startsWith("/runtime/")) return runtimeBundle(authority, call);
  const known = Object.keys(ROUTES).some((route) => route.endsWith(` ${url.pathname}`));
  return answerError(known ? 405 : 404, known ? "method_not_allowed" : "not_found");
}

/** The host in addresses for others: for a wildcard address the machine's name. */
function hostPart(hostname: string): string {
  if (hostname === "0.0.0.0" || hostname === "::") return machineName();
  return hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
}
