/** A key, and a certificate that it signs itself: X.509 version 3 in DER (RFC 5280), for clients that pin it. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { fields, pem, sequence } from "./der.ts";

const ECDSA_WITH_SHA256 = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
/** Clients compare the fingerprint alone: an end would only break them. RFC 5280 §4.1.2.5 has this date for "none". */
const NO_END = "99991231235959Z";
const DAY_MS = 86_400_000;

/** An ECDSA P-256 key and its certificate, both PEM, in one text. */
export function selfSigned(now = Date.now()): string {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(fields.set(sequence(fields.oid("550403"), fields.utf8("svc serve"))));
  // A day earlier, for clients whose clocks are behind.
  const from = new Date(now - DAY_MS).toISOString().replace(/[-:T]|\.\d+/g, "");
  const altName = sequence(fields.oid("551d11"), fields.octets(sequence(fields.dnsName("localhost"))));
  const body = sequence(
    fields.version3(),
    fields.integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(fields.time(from), fields.time(NO_END)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    fields.extensions(altName),
  );
  const signature = fields.bits(sign("sha256", body, privateKey));
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return key + pem(sequence(body, ECDSA_WITH_SHA256, signature));
}
