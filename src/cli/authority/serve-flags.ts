/** The flags of `svc authority serve` that take more than a look: addresses, the key that it brings, certificates. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { basename } from "node:path";
import { shown } from "../../checks/kinds.ts";
import { readCapped, readSecret } from "../../durable.ts";
import { OSError, ValueError } from "../../errors.ts";
import { CERTIFICATE_BYTES_MAX, SECRET_BYTES_MAX } from "../../limits.ts";
import { secureBase } from "../../trust/account/trusted/endpoints.ts";
import { proxiesOf } from "../../trust/authority/addresses.ts";
import type { GivenKey } from "../../trust/authority/organisation/key-ring.ts";
import { asUsage, UsageError } from "../terminal/command.ts";

/** The public address and the proxies, checked. @throws UsageError, ValueError, PermissionError */
export function publicSideOf(publicUrl: string | undefined, trustedProxies: readonly string[]) {
  if (publicUrl !== undefined) asUsage(() => secureBase(publicUrl, "--public-url"));
  asUsage(() => proxiesOf(trustedProxies));
  return { publicUrl, trustedProxies };
}

/** The LICENSE key that an organisation brings. @throws OSError; PermissionError where others can read it */
export function licenseKeyOf(path: string | undefined): GivenKey | undefined {
  if (path === undefined) return undefined;
  const bytes = readSecret(path, SECRET_BYTES_MAX);
  if (bytes === undefined) throw new OSError(`--license-key: there is no file ${shown(path)}`);
  return { pem: new TextDecoder().decode(bytes), name: basename(path) };
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** What the operator should know of it. */
  readonly notes: readonly string[];
}

/** Days before its end from which a certificate is worth a note. */
const ENDS_SOON_DAYS = 14;

/**
 * The certificate and its key, if both were given.
 * @param host the host of the public address
 * @throws UsageError where one of the two is missing; OSError; ValueError for a file that is not what it should be, a key
 *   of another certificate, and a certificate that is not valid now
 */
export function certificateOf(
  certFile: string | undefined,
  keyFile: string | undefined,
  host?: string,
  now = Date.now(),
): Certificate | undefined {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new UsageError("--tls-cert and --tls-key belong together: give both");
  const cert = readPem("tls-cert", certFile);
  const key = readPem("tls-key", keyFile);
  const x509 = parseCertificate(cert, certFile);
  if (!x509.checkPrivateKey(parseKey(key, keyFile))) {
    throw new ValueError(`--tls-key: ${shown(keyFile)} is not the key of the first certificate in ${shown(certFile)}`);
  }
  const [from, to] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)];
  const when = (time: number) => new Date(time).toISOString();
  if (now > to) throw new ValueError(`--tls-cert: ${shown(certFile)} expired on ${when(to)}: renew it`);
  if (now < from)
    throw new ValueError(
      `--tls-cert: ${shown(certFile)} is valid from ${when(from)}, and this machine's clock says ${when(now)}`,
    );
  return { cert, key, notes: notesOn(x509, certFile, { host, now, to }) };
}

function notesOn(x509: X509Certificate, file: string, at: { host: string | undefined; now: number; to: number }) {
  const notes: string[] = [];
  const daysLeft = Math.floor((at.to - at.now) / 86_400_000);
  if (daysLeft < ENDS_SOON_DAYS) notes.push(`the certificate in ${shown(file)} expires in ${daysLeft} days`);
  const host = at.host?.replace(/^\[|\]$/g, "");
  if (host !== undefined && (isIP(host) === 0 ? x509.checkHost(host) : x509.checkIP(host)) === undefined)
    notes.push(`the certificate in ${shown(file)} is not for '${host}': machines will refuse it`);
  return notes;
}

function readPem(flag: string, path: string): string {
  let bytes: Uint8Array | undefined;
  try {
    bytes = readCapped(path, CERTIFICATE_BYTES_MAX);
  } catch (error) {
    throw new OSError(`--${flag}: ${(error as Error).message}`);
  }
  if (bytes === undefined) throw new OSError(`--${flag}: there is no file ${shown(path)}`);
  return new TextDecoder().decode(bytes);
}

function parseCertificate(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new ValueError(`--tls-cert: ${shown(path)} holds no certificate in PEM`);
  }
}

function parseKey(pem: string, path: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    const isEncrypted = pem.includes("ENCRYPTED");
    throw new ValueError(
      isEncrypted
        ? `--tls-key: ${shown(path)} is encrypted: 'openssl pkey -in FILE -out FILE' removes the passphrase`
        : `--tls-key: ${shown(path)} holds no private key in PEM`,
    );
  }
}
