/** `--tls self`: the certificate that this machine makes for its servers, kept so that its fingerprint stays. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { makeDirectory, readSecret, withLock, writeDurable } from "../../../durable.ts";
import { PermissionError } from "../../../errors.ts";
import { SECRET_BYTES_MAX } from "../../../limits.ts";
import { serveTlsPaths } from "../../../paths.ts";
import type { CertificateAndKey } from "./certificates.ts";
import { selfSigned } from "./self-signed.ts";

/**
 * The certificate and its key, both PEM; made where there is none.
 * @throws PermissionError where others can read the file, or it is damaged; OSError; TimeoutError
 */
export async function ownCertificate(home: string): Promise<CertificateAndKey> {
  const { certificate: path, lock } = serveTlsPaths(home);
  const found = read(path, home);
  if (found !== undefined) return found;
  makeDirectory(home);
  // Of two servers that start at once, the second one takes the certificate of the first.
  return withLock(lock, () => {
    const made = read(path, home);
    if (made !== undefined) return made;
    writeDurable(path, selfSigned());
    return read(path, home)!;
  });
}

function read(path: string, home: string): CertificateAndKey | undefined {
  const bytes = readSecret(path, SECRET_BYTES_MAX, home);
  if (bytes === undefined) return undefined;
  const text = new TextDecoder().decode(bytes);
  const [key, cert] = text.match(/-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----\n/g) ?? [];
  try {
    if (key && cert && new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key };
  } catch {
    // It is refused below.
  }
  throw new PermissionError(
    "serve_tls.pem under SVC_HOME is damaged: put the file back, or delete it; then --tls self makes another " +
      "certificate, and clients have to pin its fingerprint instead",
  );
}
