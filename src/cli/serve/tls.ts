/** The certificates of `svc serve`: read before it listens, and again at SIGHUP. */
import { X509Certificate } from "node:crypto";
import type { Log } from "../../log.ts";
import { Certificates, type TlsFiles } from "../../remote/server/tls/certificates.ts";
import { ownCertificate } from "../../remote/server/tls/own-certificate.ts";
import { fingerprintOf } from "../../remote/wire/fingerprint.ts";

/**
 * Reads them.
 * @param home where `--tls self` keeps its certificate
 * @throws OSError, ValueError, PermissionError, which name the file that is wrong
 */
export async function openTls(files: Omit<TlsFiles, "log">, home: string, log: Log): Promise<Certificates> {
  const own = files.pair ? undefined : await ownCertificate(home);
  return new Certificates({ ...files, log }, own);
}

/**
 * The fingerprint of the certificate of `--tls self`, which is made where there is none yet.
 * @throws as `ownCertificate`
 */
export async function ownFingerprint(home: string): Promise<string> {
  const { cert } = await ownCertificate(home);
  return fingerprintOf(new X509Certificate(cert).raw);
}
