/** Certificates of an organisation's own CA, from a file that a flag such as `--ca-file` names. */
import { X509Certificate } from "node:crypto";
import { ValueError } from "../../errors.ts";
import { CA_BYTES_MAX } from "../../limits.ts";
import { readGiven } from "./given-file.ts";

/**
 * The certificates of a PEM file and nothing else of it: what other programs print between them is left out.
 * @throws ValueError where there is no such file, no certificate in it, an invalid one, or a private key; OSError
 */
export function readCaFile(path: string, flag = "--ca-file"): string {
  const bytes = readGiven(flag, path, CA_BYTES_MAX);
  const text = new TextDecoder().decode(bytes);
  if (text.includes("PRIVATE KEY-----"))
    throw new ValueError(`${flag}: the file holds a private key; only certificates belong there`);
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new ValueError(`${flag}: there is no certificate in PEM in '${path}'`);
  return found.map((pem, index) => readable(pem, index + 1, flag)).join("");
}

/** Bun would only say that no socket could be opened. */
function readable(pem: string, place: number, flag: string): string {
  try {
    return new X509Certificate(pem).toString();
  } catch {
    throw new ValueError(`${flag}: certificate ${place} of the file cannot be read`);
  }
}
