/** A server's certificate and its key, from the files that `--tls-cert` and `--tls-key` name. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { shown } from "../../checks/kinds.ts";
import { readCapped } from "../../durable.ts";
import { OSError, ValueError } from "../../errors.ts";
import { CERTIFICATE_BYTES_MAX } from "../../limits.ts";

/** A certificate and its key, PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** What the operator should know of it. */
  readonly notes: readonly string[];
}

/** Days before its end from which a certificate is worth a note. */
const ENDS_SOON_DAYS = 14;

/**
 * Reads and checks both.
 * @param host the host that clients use
 * @throws OSError; ValueError for a file that is not what it should be, a key of another certificate, and a certificate
 *   that is not valid now
 */
export function readCertificate(certFile: string, keyFile: string, host?: string, now = Date.now()): Certificate {
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
