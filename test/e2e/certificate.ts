/** A certificate that only its own key has signed: RFC 5280, the shortest that a TLS server takes. */
import { generateKeyPairSync, sign } from "node:crypto";

/** For `localhost`, valid until 2049. */
export function selfSigned(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
  const commonName = sequence(Buffer.from("0603550403", "hex"), value(0x0c, Buffer.from("localhost")));
  const name = sequence(value(0x31, commonName));
  const times = ["200101000000Z", "491231235959Z"].map((time) => value(0x17, Buffer.from(time)));
  const body = sequence(
    value(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(...times),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = value(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  const der = sequence(body, ecdsaWithSha256, signature).toString("base64");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** A DER value: tag, length, content. */
function value(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return value(0x30, ...parts);
}
