/** The certificates of `svc serve`: read before it listens, and again at SIGHUP. */
import type { Log } from "../../log.ts";
import { Certificates, type TlsFiles } from "../../remote/server/tls/certificates.ts";
import { ownCertificate } from "../../remote/server/tls/own-certificate.ts";

/**
 * Reads them.
 * @param home where `--tls self` keeps its certificate
 * @throws OSError, ValueError, PermissionError, which name the file that is wrong
 */
export async function openTls(files: Omit<TlsFiles, "log">, home: string, log: Log): Promise<Certificates> {
  const own = files.pair ? undefined : await ownCertificate(home);
  return new Certificates({ ...files, log }, own);
}
