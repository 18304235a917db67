/** `svc authority serve`: device authorization with a web page, keys, devices, licences and bundles, for more than one machine. */
import { readFileSync } from "node:fs";
import { startAuthority } from "../authority/server.ts";
import { buildInfo, embeddedBundle } from "../build-info.ts";
import { OSError } from "../errors.ts";
import { platformTag, svcHome } from "../paths.ts";
import { command, UsageError } from "./command.ts";
import { numberFlag } from "./flags.ts";
import { note, print, printJson } from "./output.ts";

export default command({
  summary: "run the control plane until interrupted",
  details:
    "Serves accounts, API and packages under one address. Its LICENSE key and ledger are kept under SVC_HOME/authority.\n" +
    "Machines log in to it with SVC_ACCOUNTS_URL set to its address and SVC_LICENSE_PUBKEY_FILE to its public key.",
  examples: [
    "svc authority serve --port 8470",
    "svc authority serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem --bundles /srv/bundles",
    "svc authority serve --port 8470 --public-url https://svc.example.org",
  ],
  args: {
    host: { type: "string", valueHint: "HOST", description: "address to listen on (127.0.0.1)" },
    port: { type: "string", valueHint: "PORT", description: "port to listen on; 0 takes a free one (0)" },
    "tls-cert": { type: "string", valueHint: "FILE", description: "certificate in PEM; needed beyond loopback" },
    "tls-key": { type: "string", valueHint: "FILE", description: "its private key in PEM" },
    "public-url": { type: "string", valueHint: "URL", description: "address of an https proxy in front" },
    bundles: {
      type: "string",
      valueHint: "DIR",
      description: "runtime bundles as <version>/<tag>.bundle; without it the embedded one is offered",
    },
    json: { type: "boolean", description: "print one JSON object once it listens" },
  },
  async run({ args, env, signal }) {
    const running = await startAuthority({
      home: svcHome(env),
      hostname: args.host,
      port: port(args.port),
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
      if (asksApprovalCode)
        note("whoever approves a login types the code kept in authority/approval_code under SVC_HOME");
      await interrupted(signal);
    } finally {
      await running.stop();
    }
  },
});

// ---------------------------------------------------------------------------------------------------------------------

function port(value: string | undefined): number | undefined {
  const number = numberFlag("port", value);
  if (number === undefined || (Number.isInteger(number) && number >= 0 && number <= 65_535)) return number;
  throw new UsageError(`--port: '${value}' is not a port`);
}

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
