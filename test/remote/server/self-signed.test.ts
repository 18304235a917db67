/** The certificate of `--tls self`, as RFC 5280 has its dates. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { selfSigned } from "../../../src/remote/server/tls/self-signed.ts";

const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;

function certificateAt(date: string): X509Certificate {
  const text = selfSigned(Date.parse(date));
  return new X509Certificate(text.slice(text.indexOf("-----BEGIN CERTIFICATE-----")));
}

function holds({ raw }: X509Certificate, tag: number, text: string): boolean {
  return raw.includes(Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)]));
}

test("dates before 2050 are UTCTime, later ones GeneralizedTime", () => {
  const now = certificateAt("2026-03-02T01:02:03Z");
  expect(holds(now, UTC_TIME, "260301010203Z")).toBe(true);
  expect(holds(now, GENERALIZED_TIME, "99991231235959Z")).toBe(true);
  expect(Date.parse(now.validFrom)).toBe(Date.parse("2026-03-01T01:02:03Z"));
  expect(holds(certificateAt("2050-01-01T12:00:00Z"), UTC_TIME, "491231120000Z")).toBe(true);
  const later = certificateAt("2050-01-02T12:00:00Z");
  expect(holds(later, GENERALIZED_TIME, "20500101120000Z")).toBe(true);
  expect(Date.parse(later.validFrom)).toBe(Date.parse("2050-01-01T12:00:00Z"));
});
