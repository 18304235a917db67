/**
 * `svc login`: once per machine. Starts the local authority where no other is configured and gives its address to the
 * account layer; then installs the runtime and verifies it.
 */

import { errorMessage, RuntimeError } from "../../errors.ts";
import { type Env, svcHome } from "../../paths.ts";
import { requireLogin } from "../../trust/account/license/credentials.ts";
import { day, type License } from "../../trust/account/license/license.ts";
import type { DeviceCode } from "../../trust/account/login/device-flow.ts";
import { type LoginResult, login } from "../../trust/account/login/login.ts";
import type { LoginTarget } from "../../trust/account/login/login-target.ts";
import type { Endpoints } from "../../trust/account/trusted/endpoints.ts";
import { withLocalAuthority } from "../access/local-authority.ts";
import { describeInstall } from "../runtime/install.ts";
import { type Provisioned, provision } from "../runtime/provision.ts";
import { command, JSON_FLAG } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { fit } from "../terminal/width.ts";
import { approvalOf } from "./approval.ts";
import {
  AUTHORITY_FLAGS,
  type AuthorityValues,
  checkAuthority,
  describeTarget,
  notePin,
  targetOf,
} from "./authority.ts";
import { sayNext } from "./next.ts";
import { showCode } from "./prompt.ts";
import { settleRenewal } from "./renewal.ts";
import { namesSecret, readSecrets, SECRET_FLAGS, type SecretValues } from "./secrets.ts";

export default command({
  details:
    "Signs this machine in, stores the free community licence, then installs and verifies the native runtime. A\n" +
    "runtime that is newer than the one svc brings is kept. Afterwards everything works offline. Repeating it renews\n" +
    "the licence.\n\n" +
    "It shows an address and a code to confirm in a browser. Press Enter to open the browser here, or use any other\n" +
    "browser. Over SSH no browser is offered, because it would open on this machine; this machine's local authority\n" +
    "then needs --yes.\n\n" +
    "If no person can answer (stdin or stderr is not a terminal, or CI is set), it prints what to do instead and ends\n" +
    "with 1. For this machine's local authority give --yes. For an organisation's authority give --token - or\n" +
    "SVC_TOKEN. For jobs and many machines, --enroll-key - takes a key that 'svc authority enroll' made. --no-browser\n" +
    "waits all the same.\n\n" +
    "--authority with --license-pubkey logs in at an organisation's authority. Its address, key, certificate and\n" +
    "clock are checked before anyone is asked. Later, 'svc login' alone goes to the same authority; 'svc logout\n" +
    "--forget' ends that.\n\n" +
    "A licence of this machine's local authority renews itself here, without network. 'svc login' renews an\n" +
    "organisation's licence. After --auto-renew, svc mcp and svc mem renew it too, in the last third of its life, at\n" +
    "most once a day.",
  examples: [
    "svc login",
    "svc login --yes",
    "svc login --yes --no-install --json",
    "svc login --authority https://svc.example.org --license-pubkey license_key.pub.pem",
    "svc login --authority https://svc.example.org --license-pubkey SHA256:… --ca-file ca.pem --auto-renew",
    "svc login --no-browser",
    "svc login --token - < token.txt",
    "svc login --enroll-key - --device-name 'build 7' < key.txt",
  ],
  args: {
    ...AUTHORITY_FLAGS,
    ...SECRET_FLAGS,
    browser: {
      type: "boolean",
      default: true,
      description: "offer to open the browser",
      negativeDescription: "only print address and code, and wait, even without a terminal",
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
      negativeDescription: "stop renewing it by itself",
    },
    yes: { type: "boolean", description: "approve at once, without a browser (this machine's local authority only)" },
    json: JSON_FLAG,
  },
  async run({ args, env, signal }) {
    const { result, target } = await signIn(args, env, signal);
    for (const warning of result.license.warnings) note(`note: ${warning}`);
    if (!args.json)
      print(fit(`logged in with a ${oneLine(result.license.tier)} licence until ${day(result.license.expiresAt)}`));
    notePin(target);
    await renewCopy(env, result.license.jwt);
    const renewal = await settleRenewal(env, args["auto-renew"], result.apiKey);
    const installed = args.install ? await installAndVerify(env, result.license, signal) : undefined;
    if (args.json) return printJson({ ...asJson(result, target, installed), auto_renew: renewal });
    if (installed) print(fit(`${describeInstall(installed)}; verified`));
    else print("the runtime was left as it is: 'svc runtime install' installs it");
    await sayNext({ env, signal, isUsable: installed !== undefined });
  },
});

interface SignInFlags extends AuthorityValues, SecretValues {
  readonly yes?: boolean | undefined;
  readonly browser: boolean;
}

/** Everything that can be wrong with the command, the machine or the authority is found before a person is asked. */
async function signIn(flags: SignInFlags, env: Env, signal: AbortSignal) {
  const { yes = false, browser } = flags;
  const target = await targetOf(env, flags);
  const isLocal = target === undefined;
  if (yes && !isLocal) note("--yes is for this machine's local authority; the configured one has to approve");
  const hasSecret = namesSecret(flags) || [env.SVC_TOKEN, env.SVC_API_KEY].some((secret) => secret?.trim());
  const approval = approvalOf({ env, isLocal, yes, browser, hasSecret });
  const secrets = await readSecrets(flags, isLocal, signal);
  const checked = target && (await checkAuthority(target, signal));
  // A block's end, however it is left, ends the waiting for Enter.
  using prompt = new DisposableStack();
  const onCode = (code: DeviceCode) => {
    if (approval !== "none") prompt.use(showCode(code, { env, isLocal, offered: approval === "offered" }));
  };
  const home = svcHome(env);
  const from = (endpoints: Endpoints) => login({ home, env, endpoints, pin: checked?.pin, ...secrets, signal, onCode });
  const result = target ? await from(target.endpoints) : await withLocalAuthority(home, yes ? "yes" : "browser", from);
  return { result, target };
}

/** The licence beside the libraries follows the login's. Nothing is decided by it, so that a failure is only noted. */
async function renewCopy(env: Env, jwt: string): Promise<void> {
  const { renewLicenseCopy } = await import("../../trust/runtime/license-copy.ts");
  try {
    await renewLicenseCopy(svcHome(env), jwt);
  } catch (error) {
    note(
      `note: the copy of the licence in the runtime folder stays as it was; nothing reads it (${errorMessage(error)})`,
    );
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
  const { verifyInstalled } = await import("../../trust/runtime/verify.ts");
  const failed = (await verifyInstalled({ home, env })).checks.find(({ ok }) => !ok);
  if (!failed) return installed;
  const otherwise = "if that cannot be mended, 'svc runtime install --allow-downgrade' replaces it";
  throw new RuntimeError(`the newer runtime was kept but ${failed.name} failed: ${failed.detail}; ${otherwise}`);
}

function asJson(
  { deviceId, license }: LoginResult,
  target: LoginTarget | undefined,
  installed: Provisioned | undefined,
) {
  return {
    logged_in: true,
    authority: target === undefined ? null : describeTarget(target),
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
