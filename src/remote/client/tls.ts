/** TLS as a client sees it: what it shows, whom it trusts, and what is wrong with a server's certificate. */
import { isObject, wrongType } from "../../checks/kinds.ts";
import { readString } from "../../checks/strings.ts";
import { OSError, PermissionError, type SvcError, ValueError } from "../../errors.ts";
import { CERTIFICATE_BYTES_MAX } from "../../limits.ts";
import { readGiven } from "../../trust/account/given-file.ts";
import { certificateFault } from "../../trust/account/trusted/certificate-fault.ts";
import { fingerprintOf } from "../wire/fingerprint.ts";
import type { Address } from "./address.ts";

/** Certificates of a client. Each is the path of a file in PEM, or the PEM itself. */
export interface TlsOptions {
  /** The authorities that may have signed the server's certificate, instead of those of the system. */
  ca?: string | undefined;
  /** For a server with `--client-ca`: the client's certificate, and its key. */
  cert?: string | undefined;
  key?: string | undefined;
}

/** The options with their files read. @throws ValueError, OSError */
export function readTls(address: Address, options: TlsOptions | undefined): TlsOptions | undefined {
  const tls = address.kind === "tcp" ? address.tls : undefined;
  if (options === undefined) return tls && {};
  if (!isObject(options)) throw wrongType("tls", "an object with ca, cert and key", options);
  if (!tls) throw new ValueError(`tls is for an address that begins with tls://, and ${address.text} does not`);
  if (tls.pin !== undefined && options.ca !== undefined)
    throw new ValueError("the address has a fingerprint, and nothing else is checked: leave tls.ca out");
  if ((options.cert === undefined) !== (options.key === undefined))
    throw new ValueError("tls.cert and tls.key belong together: give both");
  const read = (name: "ca" | "cert" | "key") =>
    options[name] === undefined ? undefined : pemOf(`tls.${name}`, readString(options[name], `tls.${name}`));
  return { ca: read("ca"), cert: read("cert"), key: read("key") };
}

/** Bun would only say that it cannot connect. The import is late, as it costs more than a start may. */
async function checkPem({ ca, cert, key }: TlsOptions): Promise<void> {
  if (ca === undefined && cert === undefined) return;
  const { createPrivateKey, X509Certificate } = await import("node:crypto");
  if (ca !== undefined) parsed("tls.ca holds no certificate in PEM", () => new X509Certificate(ca));
  if (cert === undefined || key === undefined) return;
  const certificate = parsed("tls.cert holds no certificate in PEM", () => new X509Certificate(cert));
  const own = parsed("tls.key holds no private key in PEM, or one that is encrypted", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(own)) throw new ValueError("tls.key is not the key of tls.cert");
}

function parsed<T>(otherwise: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new ValueError(otherwise);
  }
}

function pemOf(name: string, given: string): string {
  const text = given.includes("-----BEGIN ")
    ? given
    : new TextDecoder().decode(readGiven(name, given, CERTIFICATE_BYTES_MAX));
  if (!text.includes("-----BEGIN ")) throw new ValueError(`${name}: '${given}' holds nothing in PEM`);
  return text;
}

let systemCa: string[] | undefined;

/** How the connection is encrypted, in PEM. */
export interface Encryption extends Omit<TlsOptions, "ca"> {
  ca?: string | string[] | undefined;
  rejectUnauthorized: boolean;
}

/** What `Bun.connect` takes for an address with TLS. @throws ValueError for what is not PEM, or does not fit */
export async function connectTls(pin: string | undefined, tls: TlsOptions): Promise<Encryption> {
  await checkPem(tls);
  const { cert, key } = tls;
  if (pin !== undefined) return { cert, key, rejectUnauthorized: false };
  if (tls.ca === undefined && !systemCa) {
    const { getCACertificates } = await import("node:tls");
    // Node 20 has its own list only, which counts without being given.
    if (getCACertificates) systemCa = [...new Set([...getCACertificates("default"), ...getCACertificates("system")])];
  }
  // Said explicitly: otherwise NODE_TLS_REJECT_UNAUTHORIZED decides.
  return { cert, key, ca: tls.ca ?? systemCa, rejectUnauthorized: true };
}

/** A connected socket, as far as its server's certificate is concerned. */
export interface Peer {
  readonly authorized: boolean;
  getPeerX509Certificate?(): { raw: Uint8Array } | undefined;
}

/** The faults of a certificate with which Bun reports a handshake that was completed as one that was not. */
const SELF_SIGNED: ReadonlySet<string> = new Set(["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN"]);

/**
 * What is wrong at the end of a handshake; undefined where the server is the one that the address names.
 * @param fault from Bun: of the protocol, or of the certificate
 */
export function handshakeFault(address: Address & { kind: "tcp" }, peer: Peer, isDone: boolean, fault: Error | null) {
  const code = codeOf(fault);
  const pin = address.tls?.pin;
  if (code === "ECONNRESET" || code === "EPROTO") return tlsError(address, fault!);
  if (pin === undefined) return isDone && !fault && peer.authorized ? undefined : untrusted(address, code);
  // A certificate is public: only the end of the handshake proves that the server has its key.
  if (!isDone && !SELF_SIGNED.has(code ?? ""))
    return tlsError(address, fault ?? new Error("the handshake was not completed"));
  const certificate = peer.getPeerX509Certificate?.();
  if (!certificate) return new OSError(`${address.text} showed no certificate`);
  const found = fingerprintOf(certificate.raw);
  if (found === pin) return undefined;
  return new PermissionError(
    `${address.text} has a certificate with the fingerprint ${found}, and the address that was given has ${pin}: if the ` +
      "server's operator has changed it, ask for the new address; if not, something else answers in its place",
  );
}

function untrusted({ text }: Address, code = "no reason was given"): PermissionError {
  const remedy =
    "give its authority's certificate as tls.ca (--tls-ca), or the address with the fingerprint that the server prints";
  return new PermissionError(
    `${text} is refused: its certificate ${certificateFault(code, remedy) ?? `fails (${code})`}`,
  );
}

/** A connection that was lost before anything could be applied: it may be tried again. */
export class LostBeforeAuth extends OSError {}

/** The error for TLS that fails in the handshake, or with the first bytes after it: a client's certificate is checked then. */
export function tlsError({ text }: Address, error: Error): SvcError {
  const { message } = error;
  if (/ALERT_.*CERTIFICATE|ALERT_UNKNOWN_CA/.test(message)) {
    return new PermissionError(
      `${text} refuses this client's certificate, or requires one (--client-ca): give one that its authority has signed, ` +
        "as tls.cert and tls.key (--tls-cert, --tls-key)",
    );
  }
  if (/WRONG_VERSION_NUMBER|HTTP_REQUEST/.test(message))
    // Anyone between can cause this: a client that then connects without TLS gives away its token.
    return new OSError(
      `${text} does not speak TLS, or something between answers in its place: check the address and the port; do not ` +
        "connect without TLS, which would show the token",
    );
  if (codeOf(error) === "ECONNRESET") return new LostBeforeAuth(`${text} closed the connection in the TLS handshake`);
  return new OSError(`no TLS connection to ${text}: ${message.replace(/^error:.*:/, "")}`);
}

/** The code of an error of the system or of TLS; undefined without one. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
