/**
 * `svc login`: once per machine. Starts the local authority where no other is configured and gives its address to the
 * account layer; then installs the runtime and verifies it.
 */
import { requireLogin } from "../account/credentials.ts";
import type { DeviceCode } from "../account/device-flow.ts";
import { configuredEndpoints, type Endpoints } from "../account/endpoints.ts";
import { day, type License } from "../account/license.ts";
import { type LoginResult, login } from "../account/login.ts";
import type { RunningAuthority } from "../authority/server.ts";
import { errorLine, RuntimeError } from "../errors.ts";
import { type Env, svcHome } from "../paths.ts";
import { command, string } from "./command.ts";
import { approvalOf } from "./login-approval.ts";
import { showCode } from "./login-prompt.ts";
import { settleRenewal } from "./login-renewal.ts";
import { givenToken } from "./login-token.ts";
import { note, oneLine, print, printJson } from "./output.ts";
import { type Provisioned, provision } from "./provision.ts";
import { describeInstall } from "./runtime-install.ts";

export default command({
  details:
    "Signs this machine in, stores the free community licence, then installs and verifies the native runtime; one that is\n" +
    "newer than what svc brings is kept. Afterwards everything works offline. Repeating it is safe, and renews the licence.\n\n" +
    "Shows an address and a code, to be confirmed in a browser: Enter opens it, and any other browser will do. Where no\n" +
    "person can answer (stdin or stderr is not a terminal, or CI is set) it says what to do instead and ends with 1: --yes\n" +
    "for this machine's own authority, --token - or SVC_TOKEN for an organisation's, --no-browser to wait all the same.\n" +
    "Over SSH no browser is offered, as it would open on this machine, and its own authority needs --yes.\n\n" +
    "A licence of this machine's own authority is renewed here by itself, without network. An organisation's is renewed by\n" +
    "this command; after --auto-renew also by svc mcp and svc mem, in the last third of its life, at most once a day.",
  examples: [
    "svc login",
    "svc login --yes",
    "svc login --yes --no-install --json",
    "SVC_ACCOUNTS_URL=https://svc.example.org svc login --no-browser",
    "SVC_ACCOUNTS_URL=https://svc.example.org svc login --token - < token.txt",
    "SVC_ACCOUNTS_URL=https://svc.example.org svc login --auto-renew",
  ],
  args: {
    token: string(
      "TOKEN",
      "an access token obtained elsewhere; - reads it from stdin (SVC_TOKEN), as others can see a value",
    ),
    browser: {
      type: "boolean",
      default: true,
      description: "offer to open the browser",
      negativeDescription: "only print address and code, and wait, without a terminal too",
    },
    install: {
      type: "boolean",
      default: true,
      description: "install the runtime",
      negativeDescription: "log in only, leave the runtime as it is",
    },
    "auto-renew": {
      type: "boolean",
      description: "renew an organisation's licence by itself from now on, at the same address",
      negativeDescription: "take that back",
    },
    yes: { type: "boolean", description: "approve at once, without a browser (this machine's own authority only)" },
    json: { type: "boolean", description: "print one JSON object" },
  },
  async run({ args, env, signal }) {
    const result = await signIn(args, env, signal);
    for (const warning of result.license.warnings) note(`note: ${warning}`);
    if (!args.json)
      print(`logged in with a ${oneLine(result.license.tier)} licence until ${day(result.license.expiresAt)}`);
    await renewCopy(env, result.license.jwt);
    const renewal = await settleRenewal(env, args["auto-renew"], result.apiKey);
    const installed = args.install ? await installAndVerify(env, result.license, signal) : undefined;
    if (args.json) return printJson({ ...asJson(result, installed), auto_renew: renewal });
    if (installed) print(`${describeInstall(installed)}; verified`);
    else print("the runtime was left as it is: 'svc runtime install' installs it");
    note('next: svc mem add notes "a first note", then svc mem search notes "first"');
    note('      or give your agent the MCP server {"command": "svc", "args": ["mcp"]}');
  },
});

interface SignInFlags {
  readonly yes?: boolean;
  readonly token?: string;
  readonly browser: boolean;
}

async function signIn({ yes = false, browser, ...flags }: SignInFlags, env: Env, signal: AbortSignal) {
  const isLocal = configuredEndpoints(env) === undefined;
  if (yes && !isLocal) note("--yes is for this machine's own authority; the configured one has to approve");
  const hasSecret = [flags.token, env.SVC_TOKEN, env.SVC_API_KEY].some((secret) => secret?.trim());
  const approval = approvalOf({ env, isLocal, yes, browser, hasSecret });
  const token = await givenToken(flags.token, signal);
  // A block's end, however it is left, ends the waiting for Enter.
  using prompt = new DisposableStack();
  const onCode = (code: DeviceCode) => {
    if (approval !== "none") prompt.use(showCode(code, { env, isLocal, offered: approval === "offered" }));
  };
  return await withAuthority(env, yes, (endpoints) => {
    return login({ home: svcHome(env), env, endpoints, token, signal, onCode });
  });
}

/** Runs `action` against the configured authority, or against a local one that lives as long as it takes. */
async function withAuthority<T>(env: Env, approve: boolean, action: (endpoints: Endpoints) => Promise<T>): Promise<T> {
  const configured = configuredEndpoints(env);
  if (configured) return action(configured);
  const { startAuthority } = await import("../authority/server.ts");
  const local: RunningAuthority = await startAuthority({
    home: svcHome(env),
    approve: approve ? "yes" : "browser",
    privateApi: true,
  });
  try {
    return await action({ accounts: local.apiUrl, api: local.apiUrl });
  } finally {
    await local.stop();
  }
}

/** The licence beside the libraries follows the login's. Nothing is decided by it, so that a failure is only noted. */
async function renewCopy(env: Env, jwt: string): Promise<void> {
  const { renewLicenseCopy } = await import("../runtime/license-copy.ts");
  try {
    await renewLicenseCopy(svcHome(env), jwt);
  } catch (error) {
    note(`note: the copy of the licence in the runtime folder stays as it was; nothing reads it (${errorLine(error)})`);
  }
}

/**
 * Installs the runtime after the login. Installing verifies it; one that is kept is verified here.
 * @throws PermissionError where a tool call would refuse the login; RuntimeError naming the first failed check
 */
async function installAndVerify(env: Env, known: License, signal: AbortSignal): Promise<Provisioned> {
  const home = svcHome(env);
  const license = await requireLogin(home, env, { known });
  const installed = await provision({ env, signal, license, keepNewer: true });
  if (!installed.declined) return installed;
  const { verifyInstalled } = await import("../runtime/verify.ts");
  const failed = (await verifyInstalled({ home, env })).checks.find(({ ok }) => !ok);
  if (!failed) return installed;
  const otherwise = "if that cannot be mended, 'svc runtime install --allow-downgrade' replaces it";
  throw new RuntimeError(`the newer runtime was kept but ${failed.name} failed: ${failed.detail}; ${otherwise}`);
}

function asJson({ deviceId, license }: LoginResult, installed: Provisioned | undefined) {
  return {
    logged_in: true,
    device_id: deviceId,
    tier: license.tier,
    features: license.features,
    expires_at: new Date(license.expiresAt * 1000).toISOString(),
    runtime: installed ? { ...installed, ...keptJson(installed), verified: true } : null,
  };
}

/** Where a newer runtime was kept, it did not come from the bundle: `declined` is what was offered instead. */
function keptJson({ declined, source }: Provisioned) {
  return { source: declined ? null : source, kept: declined !== undefined, declined: declined ?? null };
}
