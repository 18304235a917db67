/** DER, as far as a certificate needs it: each value is a tag, a length and its content (X.690). */

/** A value of a tag. */
export function value(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length];
  return Buffer.concat([Buffer.from(head), content]);
}

/** A SEQUENCE. */
export function sequence(...parts: Uint8Array[]): Buffer {
  return value(0x30, ...parts);
}

/** The values in a certificate, by what they hold. */
export const fields = {
  /** Its bytes are positive and without a leading 0. */
  integer: (bytes: Uint8Array) => value(0x02, bytes),
  bits: (bytes: Uint8Array) => value(0x03, Buffer.from([0]), bytes),
  octets: (bytes: Uint8Array) => value(0x04, bytes),
  /** An object identifier, as the bytes of its encoding. */
  oid: (hex: string) => value(0x06, Buffer.from(hex, "hex")),
  utf8: (text: string) => value(0x0c, Buffer.from(text)),
  /**
   * A date of a certificate, as YYYYMMDDHHMMSSZ: UTCTime up to 2049, then GeneralizedTime (RFC 5280 §4.1.2.5).
   */
  time: (text: string) => (text < "2050" ? value(0x17, Buffer.from(text.slice(2))) : value(0x18, Buffer.from(text))),
  set: (...parts: Uint8Array[]) => value(0x31, ...parts),
  dnsName: (text: string) => value(0x82, Buffer.from(text)),
  version3: () => value(0xa0, value(0x02, Buffer.from([2]))),
  extensions: (...parts: Uint8Array[]) => value(0xa3, sequence(...parts)),
};

/** A certificate in PEM. */
export function pem(der: Buffer): string {
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
