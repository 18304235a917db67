/** `svc authority serve`: where the machines of an organisation log in, until it is interrupted. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildInfo, embeddedBundle } from "../../build-info.ts";
import { shellPath } from "../../durable.ts";
import type { Log } from "../../log.ts";
import { authorityFiles, authorityPaths, organisationPath, platformTag, svcHome } from "../../paths.ts";
import { isLoopback } from "../../trust/account/trusted/endpoints.ts";
import { type BundleFolder, examineBundles } from "../../trust/authority/bundle-folder.ts";
import { type RunningAuthority, startAuthority } from "../../trust/authority/server/server.ts";
import { checkPort } from "../serve/flags.ts";
import { serveLog } from "../serve/log.ts";
import { command, number, string, strings } from "../terminal/command.ts";
import { interrupted } from "../terminal/interrupt.ts";
import { noteWhole, print, printJson, unlessClosed } from "../terminal/output.ts";
import { DATA, dataFolder } from "./data.ts";
import { daysOf, TERMS_FLAGS, termsOf } from "./license-flags.ts";
import { certificateOf, licenseKeyOf, publicSideOf } from "./serve-flags.ts";

export default command({
  details:
    "Serves accounts, API and packages under one address; docs/authority.md explains it step by step. The data folder\n" +
    "holds all state in one file, including the LICENSE keys. 'svc authority backup' copies it while the server runs.\n\n" +
    "Other machines need https. Give --tls-cert and --tls-key, or put a proxy in front and name it with --public-url\n" +
    "and --trusted-proxy. X-Forwarded-For is read only from a trusted proxy.\n\n" +
    "Ctrl-C and SIGTERM end it with exit code 0, as soon as the requests under way are answered, after ten seconds at\n" +
    "most.",
  examples: [
    "svc authority serve --port 8470",
    "svc authority serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem --public-url https://svc.example.org",
    "svc authority serve --port 8470 --public-url https://svc.example.org --trusted-proxy 127.0.0.1",
    "svc authority serve --data /var/lib/svc --port 8470 --license-days 7 --tier staff --log-format json",
  ],
  args: {
    data: DATA,
    host: string("HOST", "address to listen on (127.0.0.1)"),
    port: number("PORT", "port to listen on; 0 takes a free one (0)"),
    "tls-cert": string("FILE", "certificate in PEM, followed by the certificates that sign it"),
    "tls-key": string("FILE", "its private key in PEM"),
    "public-url": string("URL", "address that machines and browsers use, if it differs from the one listened on"),
    "trusted-proxy": strings("ADDRESS|CIDR", "a proxy in front, whose X-Forwarded-For is trusted"),
    "license-days": number("N", "days until a licence ends; it is renewed in the last third of them (30)"),
    ...TERMS_FLAGS,
    "license-key": string("FILE", "LICENSE key in PEM for the first start (a new one is made)"),
    bundles: string(
      "DIR",
      "folder with further runtime bundles, as <version>/<tag>.bundle (bundles in the data folder)",
    ),
    "log-format": { type: "enum", options: ["text", "json"], description: "format of the lines on stderr (text)" },
    json: { type: "boolean", description: "print one JSON object when it listens" },
  },
  async run({ args, env, signal, patient }) {
    const home = svcHome(env);
    const data = dataFolder(args.data, env);
    const { publicUrl, trustedProxies } = publicSideOf(args["public-url"], args["trusted-proxy"]);
    const host = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
    const certificate = certificateOf(args["tls-cert"], args["tls-key"], host);
    const license = { ...termsOf(args), licenseDays: daysOf("license-days", args["license-days"]) ?? 30 };
    const licenseKey = licenseKeyOf(args["license-key"]);
    const port = checkPort(args.port);
    const folder = args.bundles ?? bundlesIn(data);
    const bundles = folder === undefined ? undefined : await examineBundles(folder);
    const isLogJson = args["log-format"] === "json";
    const log = serveLog(isLogJson);
    const isNew = !existsSync(authorityFiles(data).ledger);
    const running = await startAuthority({
      home,
      data,
      log,
      hostname: args.host,
      port,
      tls: certificate,
      publicUrl,
      trustedProxies,
      licenseKey,
      bundle: [...(folder === undefined ? [] : [folder]), ownBundle],
      ...license,
    });
    patient("the authority is answering the requests under way");
    try {
      greet(running, {
        home,
        data,
        isDefault: data === organisationPath(home),
        log,
        isLogJson,
        asJson: args.json === true,
      });
      for (const text of certificate?.notes ?? []) warn(log, "certificate", text);
      if (
        publicUrl !== undefined &&
        certificate === undefined &&
        trustedProxies.length === 0 &&
        !isLoopback(host ?? "")
      )
        warn(log, "no_proxy", "no --trusted-proxy: every request counts as one of the proxy's own address");
      if (isNew && existsSync(authorityPaths(home).ledger))
        warn(
          log,
          "new_records",
          `new records; --data ${shellPath(authorityPaths(home).dir, home)} continues with the earlier ones`,
        );
      await sayBundles(log, bundles);
      await interrupted(signal);
    } finally {
      await running.stop();
    }
  },
});

interface Greeted {
  readonly home: string;
  readonly data: string;
  /** Whether commands find the data folder without `--data`. */
  readonly isDefault: boolean;
  readonly log: Log;
  /** Whether stderr is for programs, which take lines of JSON only. */
  readonly isLogJson: boolean;
  readonly asJson: boolean;
}

/** What people need, and where it is. */
function greet({ url, licensePublicKeyPem, licenseKeyId }: RunningAuthority, to: Greeted): void {
  const fingerprint = `SHA256:${licenseKeyId}`;
  const login = `svc login --authority ${url} --license-pubkey ${fingerprint}`;
  const approvalCode = authorityFiles(to.data).approvalCode;
  const add = `svc authority admin add NAME${to.isDefault ? "" : ` --data ${shellPath(to.data, to.home)}`}`;
  const facts = { url, data: to.data, license_key_fingerprint: fingerprint, login, approval_code_file: approvalCode };
  const listening = `listening on ${url}`;
  const json = { ...facts, license_public_key: licensePublicKeyPem, asks_approval_code: true };
  unlessClosed(() => (to.asJson ? printJson(json) : print(listening)));
  if (to.isLogJson) to.log({ level: "info", event: "listening", message: listening, fields: facts });
  else if (!to.asJson) {
    noteWhole(`data folder:  ${to.data}`);
    noteWhole(`LICENSE key:  ${fingerprint}`);
    noteWhole(`to log in:    ${login}`);
    noteWhole(`to approve:   ${url}/device with the code in ${approvalCode}`);
    noteWhole(`to manage:    ${url}/admin with a code from: ${add}`);
  }
}

function warn(log: Log, event: string, message: string): void {
  log({ level: "warn", event, message });
}

async function sayBundles(log: Log, folder: BundleFolder | undefined): Promise<void> {
  for (const fault of folder?.faults ?? []) warn(log, "bundle_refused", `bundle ${fault}`);
  const own = (await embeddedBundle()) === undefined ? [] : [`${buildInfo().version} for ${platformTag()} (own)`];
  const offered = [...(folder?.offered ?? []), ...own];
  const message = offered.length === 0 ? "offers no bundles" : `offers bundles: ${offered.join(", ")}`;
  log({ level: "info", event: "bundles", message, fields: { count: offered.length } });
}

/** Bundles that were put into the data folder. */
function bundlesIn(data: string): string | undefined {
  const dir = join(data, "bundles");
  return existsSync(dir) ? dir : undefined;
}

/** Machines of the same kind and version can take the bundle that this executable came with. */
async function ownBundle(version: string, tag: string): Promise<Uint8Array | undefined> {
  return version === buildInfo().version && tag === platformTag() ? embeddedBundle() : undefined;
}
