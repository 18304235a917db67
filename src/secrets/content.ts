/**
 * Files that hold credentials, by content: private keys, and tokens whose format names their issuer. Their names say
 * nothing (`names.ts` has those that do), and an index would copy the texts to another place on disk and to agents.
 *
 * Only formats that other text does not have count: a literal beginning, a shape after it, and characters that look
 * drawn by chance. Passwords, JWTs and hexadecimal strings without a beginning do not: too many are not credentials. A
 * placeholder (`AKIA…EXAMPLE`, a run of one letter) is not a credential; a key of a test is.
 */

interface Shape {
  /** What it is, for messages. */
  kind: string;
  /** What it begins with; bytes of ASCII. */
  prefix: string;
  /** Bytes that `test` sees, from the prefix on. */
  span: number;
  /** How many bytes of the text, from the prefix on, are a credential; 0: it holds none. */
  test: (text: string) => number;
  /** The same of a credential that may go on after the span, of much more text: one that `test` has seen. */
  whole?: (text: string) => number;
  /** The prefix may follow a letter, a digit or `_`. */
  inWord?: true;
  /** The characters that may follow a prefix of two. */
  next?: string;
}

/** A token: the shape after its prefix, and the entropy of that part in bits a character, at least. */
function token(kind: string, prefix: string, rest: string, bits = 3, span = 320): Shape {
  const pattern = new RegExp(`^(${rest})(?![A-Za-z0-9])`);
  return {
    kind,
    prefix,
    span,
    test: (text) => {
      const body = pattern.exec(text.slice(prefix.length))?.[1];
      return body !== undefined && isDrawn(body, bits) ? prefix.length + body.length : 0;
    },
  };
}

/**
 * The secret of an AWS access key: 40 characters without a beginning of their own, so that only a name before them tells.
 * After `=` or `:` they are a value; after anything else, as in a sentence or a shell's words, they must have what
 * neither a path nor a hash has: small letters, capitals and digits.
 */
function awsSecret(name: string): Shape {
  const test = (text: string): number => {
    const [all, key] = AWS_SECRET.exec(text.slice(name.length)) ?? [];
    return key !== undefined && isDrawn(key, 4) ? name.length + all!.length : 0;
  };
  return { kind: "AWS secret key", prefix: name, span: 320, test, inWord: true };
}

const AWS_SECRET = (() => {
  const key = "[A-Za-z0-9/+]{40}";
  const mixed = ["a-z", "A-Z", "0-9"].map((one) => `(?=[A-Za-z0-9/+]{0,39}[${one}])`).join("");
  const quote = "[\"'`\\\\]{0,2}";
  const assigned = String.raw`${quote}\s{0,16}(?:=>|:=|[=:])\s{0,16}${quote}`;
  const beside = "(?![_-])[^A-Za-z0-9/+]{1,24}(?:(?:is|None|value)[^A-Za-z0-9/+]{1,16})?";
  return new RegExp(`^(?:${assigned}|${beside}${mixed})(${key})(?![A-Za-z0-9])`);
})();

/** Longer than keys are: that much of what follows a beginning is read to find an end. */
const WHOLE_BYTES = 64 * 1024;

const WORD = "[A-Za-z0-9]";
const WORD_DASH = "[A-Za-z0-9_-]";

const SHAPES: readonly Shape[] = [
  { kind: "private key", prefix: "-----BEGIN ", span: 2048, test: privateKey, whole: wholePrivateKey, inWord: true },
  { kind: "private key", prefix: "LS0tLS1CRUdJTi", span: 400, test: encodedKey, whole: encodedKey },
  { kind: "private key", prefix: "PuTTY-User-Key-File-", span: 4096, test: puttyKey, whole: puttyKey },
  token("age key", "AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
  ...["AKIA", "ASIA"].map((prefix) => token("AWS key id", prefix, "[A-Z2-7]{16}")),
  ...["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "aws_secret_key", "AWS_SECRET_KEY"].map(awsSecret),
  ...["secret_access_key", "SECRET_ACCESS_KEY", "secret-access-key", "secretAccessKey", "SecretAccessKey"].map(
    awsSecret,
  ),
  ...["secret access key", "Secret access key", "Secret Access Key"].map(awsSecret),
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((prefix) => token("GitHub token", prefix, `${WORD}{36,255}`)),
  token("GitHub token", "github_pat_", "\\w{82}"),
  ...["glpat-", "gldt-", "glrt-", "glsoat-"].map((prefix) =>
    token("GitLab token", prefix, `${WORD_DASH}{20,300}`, 3.2),
  ),
  token("GitLab token", "glptt-", "[0-9a-f]{40}"),
  ...["xoxb-", "xoxp-", "xoxe-", "xoxa-", "xoxr-", "xoxs-"].map((prefix) =>
    token("Slack token", prefix, `(?:\\d+-){1,4}${WORD}{16,150}|${WORD}{24,150}`),
  ),
  token("Slack token", "xapp-", `\\d-[A-Z0-9]{8,14}-\\d{10,16}-[a-f0-9]{60,70}`),
  token("Slack webhook", "hooks.slack.com/services/", `T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/${WORD}{20,30}`),
  ...["sk_live_", "rk_live_"].map((prefix) => token("Stripe key", prefix, `${WORD}{16,250}`)),
  token("Google API key", "AIza", `${WORD_DASH}{35}(?!${WORD_DASH})`, 4),
  token("Anthropic key", "sk-ant-", `[a-z0-9]{3,10}-${WORD_DASH}{80,120}`, 4),
  ...["sk-proj-", "sk-svcacct-", "sk-admin-"].map((prefix) => token("OpenAI key", prefix, `${WORD_DASH}{40,250}`, 4)),
  token("OpenAI key", "sk-", `${WORD}{20}T3BlbkFJ${WORD}{20}`, 3.5),
  token("npm token", "npm_", `${WORD}{36}`),
  token("PyPI token", "pypi-AgE", `(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)${WORD_DASH}{50,1000}`, 3, 1100),
  token("SendGrid key", "SG.", `${WORD_DASH}{22}\\.${WORD_DASH}{43}`, 3.5),
  { ...token("Twilio key", "SK", "[0-9a-f]{32}"), next: "0123456789abcdef" },
  // A bot's number precedes it.
  { ...token("Telegram token", ":AA", `${WORD_DASH}{33}(?!${WORD_DASH})`, 4), inWord: true },
  token("Vault token", "hvs.", `${WORD_DASH}{90,300}`, 3.5),
  token("Vault token", "hvb.", `${WORD_DASH}{138,300}`, 3.5),
  ...["dop_v1_", "doo_v1_", "dor_v1_"].map((prefix) => token("DigitalOcean token", prefix, "[a-f0-9]{64}")),
  token("Hugging Face token", "hf_", "[A-Za-z]{34}", 3.5),
  token("Azure key", "AccountKey=", "[A-Za-z0-9+/]{86}==", 4),
  token("Shopify token", "shpat_", "[a-f0-9]{32}"),
  token("Databricks token", "dapi", "[a-f0-9]{32}"),
  token("Grafana token", "glsa_", `${WORD}{32}_[a-fA-F0-9]{8}`),
  token("RubyGems key", "rubygems_", "[a-f0-9]{48}"),
  token("Linear key", "lin_api_", `${WORD}{40}`),
  token("Postman key", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34}"),
];

/** What credentials begin with: a text without any of these holds none. ASCII, of three characters at least. */
export const BEGINNINGS: readonly string[] = SHAPES.flatMap(({ prefix, next = "" }) =>
  next === "" ? [prefix] : Array.from(next, (character) => prefix + character),
);

interface Candidate {
  shape: Shape;
  bytes: Uint8Array;
}

/** The shapes by the first two bytes of their prefix, a number of 16 bits: 0 for a pair that begins none, else an index
 * into {@link GROUPS} plus one. */
const PAIRS = new Uint8Array(65_536);
const GROUPS: Candidate[][] = [];
/** A later place in the prefixes of a group, the last that all of them have, and which bytes they have there: a line of
 * dashes begins a key's first five bytes at each of its places. */
const TELLING = new Uint8Array(256);
const TOLD = new Uint8Array(65_536);
/** What a pair of bytes, as two bytes in memory are read, may be of a prefix: its first two, its second and third. */
const BEGINS = 1;
const FOLLOWS = 2;
const PLACES = new Uint8Array(65_536);

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const pairOf = (first: number, second: number) => (first << 8) | second;
const inMemory = (first: number, second: number) => (IS_LITTLE_ENDIAN ? pairOf(second, first) : pairOf(first, second));

const ANY = Array.from({ length: 256 }, (_, byte) => byte);

for (const shape of SHAPES) {
  const bytes = new TextEncoder().encode(shape.prefix);
  const [first, second, third] = bytes as unknown as [number, number, number | undefined];
  const pair = pairOf(first, second);
  PAIRS[pair] ||= GROUPS.push([]);
  GROUPS[PAIRS[pair] - 1]!.push({ shape, bytes });
  PLACES[inMemory(first, second)]! |= BEGINS;
  const thirds = third === undefined ? ANY : [third];
  for (const byte of thirds) PLACES[inMemory(second, byte)]! |= FOLLOWS;
}
for (const [index, group] of GROUPS.entries()) {
  const place = Math.max(2, Math.min(...group.map(({ bytes }) => bytes.length)) - 1);
  TELLING[index + 1] = place;
  for (const { bytes } of group) {
    for (const byte of place < bytes.length ? [bytes[place]!] : ANY) TOLD[pairOf(index + 1, byte)] = 1;
  }
}

/** A credential in bytes. */
export interface Secret {
  /** Which kind, in words: "GitHub token". */
  kind: string;
  /** Its first byte, and the one after its last. */
  start: number;
  end: number;
}

/** Whether a file's bytes hold a private key or a token. Takes linear time, as `findSecret`. */
export function holdsSecret(bytes: Uint8Array): boolean {
  return findSecret(bytes) !== undefined;
}

/**
 * The first private key or token in bytes, from byte `from` on. Takes 1 to 2 ms a MB: a shape has more than two bytes,
 * so that of every two neighbours one is looked at as the beginning of one or as what follows it.
 */
export function findSecret(bytes: Uint8Array, from = 0): Secret | undefined {
  const skipped = bytes.byteOffset & 1;
  if (bytes.length < 2 + skipped) return undefined;
  const pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + skipped, (bytes.length - skipped) >> 1);
  for (let i = Math.max(0, from - skipped) >> 1; i < pairs.length; i++) {
    const place = PLACES[pairs[i]!]!;
    if (place === 0) continue;
    const at = skipped + 2 * i;
    // The second byte of the pair before may begin one that this pair goes on with.
    if ((place & FOLLOWS) !== 0 && at > from && mayBegin(bytes, at - 1)) {
      const found = secretAt(bytes, at - 1);
      if (found) return found;
    }
    if ((place & BEGINS) !== 0 && at >= from && mayBegin(bytes, at)) {
      const found = secretAt(bytes, at);
      if (found) return found;
    }
  }
  return undefined;
}

/** Whether a credential begins at `at`, where one of {@link BEGINNINGS} is. */
export function isSecretAt(bytes: Uint8Array, at: number): boolean {
  return secretAt(bytes, at) !== undefined;
}

function mayBegin(bytes: Uint8Array, at: number): boolean {
  const group = PAIRS[pairOf(bytes[at]!, bytes[at + 1]!)]!;
  return group !== 0 && TOLD[pairOf(group, bytes[at + TELLING[group]!]!)] !== 0;
}

function secretAt(bytes: Uint8Array, at: number): Secret | undefined {
  const group = GROUPS[PAIRS[pairOf(bytes[at]!, bytes[at + 1]!)]! - 1]!;
  for (const { shape, bytes: prefix } of group) {
    let same = 2;
    while (same < prefix.length && bytes[at + same] === prefix[same]) same++;
    if (same < prefix.length || (!shape.inWord && at > 0 && isWord(bytes[at - 1]!))) continue;
    if (shape.prefix === ":AA" && !followsNumber(bytes, at)) continue;
    const length = shape.test(textOf(bytes, at, shape.span));
    if (length === 0) continue;
    const whole = shape.whole?.(textOf(bytes, at, WHOLE_BYTES)) ?? 0;
    return { kind: shape.kind, start: at, end: at + Math.max(length, whole) };
  }
  return undefined;
}

function textOf({ buffer, byteOffset, length }: Uint8Array, at: number, most: number): string {
  return Buffer.from(buffer, byteOffset + at, Math.min(most, length - at)).toString("latin1");
}

/** Whether a number of 8 to 10 digits and nothing of a word before it ends at `at`. */
function followsNumber(bytes: Uint8Array, at: number): boolean {
  let from = at;
  while (from > 0 && at - from < 11 && bytes[from - 1]! >= 48 && bytes[from - 1]! <= 57) from--;
  return at - from >= 8 && at - from <= 10 && !(from > 0 && isWord(bytes[from - 1]!));
}

function isWord(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || (unit >= 48 && unit <= 57) || unit === 95;
}

const KEY_HEADER = /^-----BEGIN (?:[A-Z0-9 ]{0,40} )?PRIVATE KEY(?: BLOCK)?-----/;
/** Less than the shortest key, an Ed25519 one, has in its first line. */
const KEY_RUN = /[A-Za-z0-9+/]{40,}/;
const KEY_RUNS = new RegExp(KEY_RUN, "g");

/**
 * A header in a program that reads keys has no key after it. Any line may tell: the first of an OpenSSH key is the
 * same in all of them, and has a run of one letter.
 */
function privateKey(text: string): number {
  const header = KEY_HEADER.exec(text)?.[0];
  if (header === undefined) return 0;
  const rest = text.slice(header.length);
  const end = rest.indexOf("-----");
  for (const run of (end === -1 ? rest : rest.slice(0, end)).matchAll(KEY_RUNS)) {
    if (isDrawn(run[0].slice(0, 200), 3.5)) return header.length + run.index + run[0].length;
  }
  return 0;
}

const KEY_FOOTER = /^-----END (?:[A-Z0-9 ]{0,40} )?PRIVATE KEY(?: BLOCK)?-----/;
/**
 * Lines of a key that is cut off, with what stands between them where it is quoted, commented or in source: long ones
 * with capitals and digits, padded ones, and a last one that is a line by itself. Words are none of these.
 */
const KEY_LINES = (() => {
  const lineEnd = String.raw`(?:[>#*|"'+ \t.,]{0,8}(?:[\r\n]|\\[nr]){1,4}){1,3}[>#*|"' \t]{0,40}`;
  const [capital, digit, small] = ["A-Z", "0-9", "a-z"].map((one) => `(?=[A-Za-z0-9+/]*[${one}])`);
  const long = `${capital}${digit}[A-Za-z0-9+/]{24,}={0,2}|[A-Za-z0-9+/]{2,}={1,2}(?![A-Za-z0-9=])`;
  const alone = String.raw`${capital}${digit}${small}[A-Za-z0-9+/]{4,}(?=["' \t]*(?:[\r\n]|\\[nr]|$))`;
  return new RegExp(`^[A-Za-z0-9+/=]+(?:${lineEnd}(?:${long}|${alone})|[ \\t]{1,8}(?:${long}))*`);
})();

/** Up to its footer; of a key that is cut off, its lines. */
function wholePrivateKey(text: string): number {
  const header = KEY_HEADER.exec(text)![0].length;
  const next = text.indexOf("-----", header);
  const footer = next === -1 ? null : KEY_FOOTER.exec(text.slice(next, next + 80));
  if (footer) return next + footer[0].length;
  const first = KEY_RUN.exec(text.slice(header))!.index + header;
  return first + KEY_LINES.exec(text.slice(first))![0].length;
}

const ANY_KEY_HEADER = new RegExp(KEY_HEADER.source.slice(1));
const ANY_KEY_FOOTER = new RegExp(KEY_FOOTER.source.slice(1));
/** Base64 in one line or in several, as `base64` writes it; and of these the lines that words are not. */
const ENCODED = /^[A-Za-z0-9+/]+(?:(?:\r?\n|(?:\\r)?\\n)[ \t]{0,40}[A-Za-z0-9+/]+)*={0,2}/;
const ENCODED_LONG = /^[A-Za-z0-9+/]+(?:(?:\r?\n|(?:\\r)?\\n)[ \t]{0,40}[A-Za-z0-9+/]{40,})*={0,2}/;
const BETWEEN_ENCODED = /\\[nr]|[^A-Za-z0-9+/]/g;

/** A key in base64 once more, as Kubernetes writes it; parameters of its curve may precede it. Up to its footer. */
function encodedKey(text: string): number {
  const run = ENCODED.exec(text)![0];
  const letters = run.replace(BETWEEN_ENCODED, "");
  const decoded = Buffer.from(letters, "base64").toString("latin1");
  const header = ANY_KEY_HEADER.exec(decoded);
  if (letters.length <= 100 || header === null) return 0;
  const footer = ANY_KEY_FOOTER.exec(decoded.slice(header.index));
  if (footer === null) return ENCODED_LONG.exec(run)![0].length;
  let left = Math.ceil(((header.index + footer.index + footer[0].length) * 4) / 3);
  let at = 0;
  while (left > 0) {
    if (run[at] === "\\") at += 2;
    else if (BASE64.test(run[at++]!)) left--;
  }
  return at + /^[A-Za-z0-9+/]*={0,2}/.exec(run.slice(at))![0].length;
}

const BASE64 = /[A-Za-z0-9+/]/;

function puttyKey(text: string): number {
  if (!/^PuTTY-User-Key-File-\d: [\w@.-]+\r?\nEncryption: /.test(text)) return 0;
  const lines = /\nPrivate-Lines: (\d{1,4})/.exec(text);
  if (lines === null) return 0;
  const first = lines.index + lines[0].length;
  const body = new RegExp(
    `^\\d*\\r?\\n?(?:[A-Za-z0-9+/=]+\\r?\\n?){0,${lines[1]}}(?:Private-(?:MAC|Hash): [0-9a-fA-F]+)?`,
  );
  return first + body.exec(text.slice(first))![0].trimEnd().length;
}

const PLACEHOLDER =
  /example|sample|dummy|placeholder|change_?me|redacted|your[_-]|your(?:token|key|secret|api|access)|(.)\1{4}/i;

/** Whether a token's characters look drawn by chance: enough of them differ, and none spell a placeholder or a row. */
function isDrawn(body: string, bits: number): boolean {
  return !PLACEHOLDER.test(body) && !hasRow(body) && entropy(body) >= bits;
}

/** Whether six characters in a row ascend by one: `abcdef`, `123456`. */
function hasRow(text: string): boolean {
  let length = 1;
  for (let at = 1; at < text.length; at++) {
    length = text.charCodeAt(at) === text.charCodeAt(at - 1) + 1 ? length + 1 : 1;
    if (length === 6) return true;
  }
  return false;
}

/** Bits a character, by how often each occurs. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const unit of text) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  let sum = 0;
  for (const count of counts.values()) sum -= (count / text.length) * Math.log2(count / text.length);
  return sum;
}
