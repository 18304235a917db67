/**
 * `svc authority serve`: device authorization with a web page, keys, devices, licences and bundles, for more than one
 * machine.
 */
import { readFileSync } from "node:fs";
import { startAuthority } from "../authority/server.ts";
import { buildInfo, embeddedBundle } from "../build-info.ts";
import { OSError } from "../errors.ts";
import { platformTag, svcHome } from "../paths.ts";
import { command, number, string, UsageError } from "./command.ts";
import { note, print, printJson } from "./output.ts";
import { checkPort } from "./serve-flags.ts";

export default command({
  details:
    "Serves accounts, API and packages under one address. Its LICENSE key and ledger are kept under SVC_HOME/authority.\n" +
    "Machines log in to it with SVC_ACCOUNTS_URL set to its address and SVC_LICENSE_PUBKEY_FILE to its public key.",
  examples: [
    "svc authority serve --port 8470",
    "svc authority serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem --bundles /srv/bundles",
    "svc authority serve --port 8470 --public-url https://svc.example.org",
  ],
  args: {
    host: string("HOST", "address to listen on (127.0.0.1)"),
    port: number("PORT", "port to listen on; 0 takes a free one (0)"),
    "tls-cert": string("FILE", "certificate in PEM; needed beyond loopback"),
    "tls-key": string("FILE", "its private key in PEM"),
    "public-url": string("URL", "address of an https proxy in front, which adds X-Forwarded-For"),
    bundles: string("DIR", "runtime bundles as <version>/<tag>.bundle; without it the embedded one is offered"),
    json: { type: "boolean", description: "print one JSON object once it listens" },
  },
  async run({ args, env, signal }) {
    const running = await startAuthority({
      home: svcHome(env),
      hostname: args.host,
      port: checkPort(args.port),
      tls: tls(args["tls-cert"], args["tls-key"]),
      publicUrl: args["public-url"],
      bundle: args.bundles ?? ownBundle,
    });
    try {
      const { url, licensePublicKeyPem, asksApprovalCode } = running;
      if (args.json) printJson({ url, license_public_key: licensePublicKeyPem, asks_approval_code: asksApprovalCode });
      else print(`listening on ${url}`);
      note(`machines log in with SVC_ACCOUNTS_URL=${url}`);
      note("and SVC_LICENSE_PUBKEY_FILE naming a copy of authority/license_key.pub.pem under SVC_HOME");
      if (asksApprovalCode) note("approving a login takes the code kept in authority/approval_code under SVC_HOME");
      await interrupted(signal);
    } finally {
      await running.stop();
    }
  },
});

function tls(cert: string | undefined, key: string | undefined): { cert: string; key: string } | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new UsageError("--tls-cert and --tls-key belong together");
  return { cert: pem("tls-cert", cert), key: pem("tls-key", key) };
}

function pem(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new OSError(`--${flag}: cannot read '${path}': ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Machines of the same kind and version can take the bundle that this executable came with. */
async function ownBundle(version: string, tag: string): Promise<Uint8Array | undefined> {
  return version === buildInfo().version && tag === platformTag() ? embeddedBundle() : undefined;
}

/** An interruption is how a server ends, not how it fails. */
function interrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
