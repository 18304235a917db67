/**
 * The text of an enrolment key, `sve_<id>_<secret>`: an id of 12 hex digits, which lists, logs and errors may show, and 43
 * characters of base64url. These are 224 random bits and a checksum over all that comes before it, so that a key that was
 * mistyped or cut off is refused before anything is sent; the authority checks the same before it looks a key up.
 */
import { ValueError } from "../../errors.ts";

/** A key's public name and its whole text, which is the secret. */
export interface EnrollKeyText {
  readonly id: string;
  readonly text: string;
}

const SHAPE = /^sve_([0-9a-f]{12})_([\w-]{43})$/;
const LENGTH = "sve_".length + 12 + 1 + 43;
const RANDOM_BYTES = 28;

/** A fresh key. */
export function newEnrollKey(): EnrollKeyText {
  const id = randomOf(6).toString("hex");
  const random = randomOf(RANDOM_BYTES);
  return { id, text: `sve_${id}_${Buffer.concat([random, checksum(id, random)]).toString("base64url")}` };
}

/** The id of a key whose checksum is right; undefined for every other text. */
export function enrollKeyId(text: string): string | undefined {
  const [, id = "", secret = ""] = SHAPE.exec(text) ?? [];
  const bytes = Buffer.from(secret, "base64url");
  // The last character has two bits that no byte needs: of the four that decode alike one is the key.
  if (bytes.length !== 32 || bytes.toString("base64url") !== secret) return undefined;
  return checksum(id, bytes.subarray(0, RANDOM_BYTES)).equals(bytes.subarray(RANDOM_BYTES)) ? id : undefined;
}

/**
 * The key that a person or a job gave.
 * @throws ValueError that says what is wrong with it, as far as that can be known, and never quotes it
 */
export function givenEnrollKey(text: string): EnrollKeyText {
  const id = enrollKeyId(text);
  if (id !== undefined) return { id, text };
  throw new ValueError(`the enrolment key ${wrongWith(text)}: nothing was sent; copy it again, whole`);
}

function wrongWith(text: string): string {
  if (/^sv[tk]_/.test(text)) return "is an access token or an API key, not a text that begins with sve_";
  if (!text.startsWith("sve_")) return "does not begin with sve_";
  if (text.length !== LENGTH) return `has ${text.length} characters, not ${LENGTH}`;
  return SHAPE.test(text) ? "is mistyped: its checksum is wrong" : "has characters that no enrolment key has";
}

function randomOf(count: number): Buffer {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(count)));
}

function checksum(id: string, random: Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256").update(`svc-enroll-key:v1:${id}:`).update(random).digest().subarray(0, 4);
}
