/** Files that hold credentials are known by their content. No string here has the form of one: all are put together. */
import { describe, expect, test } from "bun:test";
import { findSecret, holdsSecret } from "../../src/secrets/content.ts";
import { random } from "../random.ts";

const next = random(16);
/** Characters drawn by chance, the same in every run. */
function drawn(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
}

const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdef`;
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const WORD = `${DIGITS}${UPPER}${UPPER.toLowerCase()}`;
const BASE64 = `${WORD}+/`;
const holds = (text: string) => holdsSecret(new TextEncoder().encode(text));

const dashes = "-".repeat(5);
/** A key in PEM whose body is drawn by chance. */
function pem(kind: string, body = `${drawn(BASE64, 64)}\n${drawn(BASE64, 64)}\n${drawn(BASE64, 20)}==`): string {
  return `${dashes}BEGIN ${kind}${dashes}\n${body}\n${dashes}END ${kind}${dashes}\n`;
}
const KEY = "PRIVATE" + " KEY";
/** As `base64` writes it. */
const wrapped = (text: string) => text.replace(/.{76}/g, "$&\n");

const TOKENS: Record<string, string> = {
  "an AWS id": "AKI" + "A" + drawn(`${UPPER}234567`, 16),
  "a temporary AWS id": "ASI" + "A" + drawn(`${UPPER}234567`, 16),
  "an AWS secret": "aws_secret_access" + `_key = ${drawn(BASE64, 40)}`,
  "an AWS secret in the environment": "AWS_SECRET_ACCESS" + `_KEY=${drawn(BASE64, 40)}`,
  "an AWS secret of Terraform": "TF_VAR_aws_secret_access" + `_key="${drawn(BASE64, 40)}"`,
  "an AWS secret in JSON": "Secret" + `AccessKey": "${drawn(BASE64, 40)}"`,
  "an AWS secret in escaped JSON": "aws_secret_access" + `_key\\": \\"${drawn(BASE64, 40)}\\"`,
  "an AWS secret in XML": "<Secret" + `AccessKey>${drawn(BASE64, 40)}</SecretAccessKey>`,
  "an AWS secret of a shell": "aws configure set aws_secret_access" + `_key ${drawn(BASE64, 40)}`,
  "an AWS secret of a manifest": "name: AWS_SECRET_ACCESS" + `_KEY\n  value: ${drawn(BASE64, 40)}`,
  "an AWS secret in a sentence": "AWS secret access" + ` key is ${drawn(BASE64, 40)}`,
  "an AWS secret of a prompt": "AWS Secret Access" + ` Key [None]: ${drawn(BASE64, 40)}`,
  "a GitHub token": "gh" + `p_${drawn(WORD, 36)}`,
  "a GitHub app's token": "gh" + `s_${drawn(WORD, 36)}`,
  "a fine-grained GitHub token": "github" + `_pat_${drawn(WORD, 22)}_${drawn(WORD, 59)}`,
  "a GitLab token": "gl" + `pat-${drawn(WORD, 20)}`,
  "a Slack bot's token": "xo" + `xb-${drawn(DIGITS, 12)}-${drawn(DIGITS, 12)}-${drawn(WORD, 24)}`,
  "a Slack user's token": "xo" + `xp-${[11, 11, 12].map((n) => drawn(DIGITS, n)).join("-")}-${drawn(HEX, 32)}`,
  "a Slack hook": "https://hooks.slack" + `.com/services/T${drawn(DIGITS, 8)}/B${drawn(DIGITS, 8)}/${drawn(WORD, 24)}`,
  "a Stripe key": "sk_" + `live_${drawn(WORD, 24)}`,
  "a Google key": "AI" + `za${drawn(`${WORD}_`, 35)}`,
  "an OpenAI project's key": "sk-" + `proj-${drawn(WORD, 64)}`,
  "an OpenAI key": "sk-" + drawn(WORD, 20) + "T3Blbk" + "FJ" + drawn(WORD, 20),
  "an Anthropic key": "sk-" + `ant-api03-${drawn(WORD, 93)}AA`,
  "an npm token": "np" + `m_${drawn(WORD, 36)}`,
  "a PyPI token": "py" + "pi-AgEIcHlwaS5vcmc" + drawn(WORD, 80),
  "a SendGrid key": "S" + `G.${drawn(WORD, 22)}.${drawn(WORD, 43)}`,
  "a Twilio key": "S" + `K${drawn(HEX, 32)}`,
  "a Telegram bot's token": `${drawn("123456789", 9)}:A` + `A${drawn(WORD, 33)}`,
  "a Vault token": "hv" + `s.${drawn(WORD, 92)}`,
  "a DigitalOcean token": "do" + `p_v1_${drawn(HEX, 64)}`,
  "a Hugging Face token": "h" + `f_${drawn(UPPER + UPPER.toLowerCase(), 34)}`,
  "an Azure storage key": "Account" + `Key=${drawn(BASE64, 86)}==`,
  "an age key": "AGE-SECRET" + `-KEY-1${drawn("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)}`,
  "a PEM key": pem(KEY),
  "an RSA key": pem(`RSA ${KEY}`),
  "an encrypted key": pem(`ENCRYPTED ${KEY}`),
  "an OpenSSH key": pem(`OPENSSH ${KEY}`),
  // Its first line is that of all of them, and has a run of one letter.
  "an OpenSSH key as it is": pem(
    `OPENSSH ${KEY}`,
    `b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n${drawn(BASE64, 70)}\n${drawn(BASE64, 70)}`,
  ),
  "a PGP key": pem(`PGP ${KEY} BLOCK`, `Version: X\n\n${drawn(BASE64, 64)}\n${drawn(BASE64, 64)}\n=abcd`),
  "an RSA key with headers": pem(`RSA ${KEY}`, `Proc-Type: 4,ENCRYPTED\nDEK-Info: A,00\n\n${drawn(BASE64, 64)}`),
  "an Ed25519 key": pem(KEY, drawn(BASE64, 64)),
  "a key in JSON": JSON.stringify({ private_key: pem(KEY) }),
  "a key in source": pem(KEY)
    .split("\n")
    .map((line) => `  "${line}\\n" +`)
    .join("\n"),
  "a key in base64": Buffer.from(pem(KEY)).toString("base64"),
  "a key in base64 of several lines": wrapped(Buffer.from(pem(KEY)).toString("base64")),
  "a key in base64 after its curve": Buffer.from(
    `${dashes}BEGIN EC PARAMETERS${dashes}\nBggqhkjOPQMBBw==\n${dashes}END EC PARAMETERS${dashes}\n${pem(`EC ${KEY}`)}`,
  ).toString("base64"),
  "a PuTTY key": "PuTTY-User-Key" + "-File-3: ssh-rsa\nEncryption: none\nComment: x\nPrivate" + "-Lines: 14\nAAAA\n",
};

describe("a file with", () => {
  for (const [what, token] of Object.entries(TOKENS)) {
    test(`${what} is found`, () => {
      for (const text of [token, `x = "${token}"\n`, `${"a".repeat(70_000)}\nKEY: ${token}\r\nmore`]) {
        expect({ what, found: holds(text) }).toEqual({ what, found: true });
      }
    });
  }
});

describe("a file is not a credential with", () => {
  const PLAIN: Record<string, string> = {
    "an AWS id of the documentation": "AKI" + "AIOSFODNN7EXAMPLE",
    "an AWS secret of the documentation": "aws_secret_access" + "_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "a commit": `commit ${drawn(HEX, 40)}`,
    "a commit after the name of an AWS secret": `${"aws_secret_access" + "_key"} = ${drawn(HEX, 40)}`,
    "a commit in a sentence about it": `the ${"AWS secret access" + " key"} was rotated in ${drawn(HEX, 40)}`,
    "40 characters without the name": `${drawn(BASE64, 40)} = access_key`,
    "an AWS secret that is too short": "aws_secret_access" + `_key = ${drawn(BASE64, 39)}`,
    "an AWS secret that goes on": "aws_secret_access" + `_key = ${drawn(BASE64, 40)}a`,
    "a file with an AWS secret": "AWS_SECRET_ACCESS" + `_KEY_FILE=${drawn(BASE64, 40)}`,
    "a path beside its name": "AWS_SECRET_ACCESS" + "_KEY (vault/kv/prod7/billing/aws/keys/billing1)",
    "where an AWS secret comes from": "secret" + "AccessKey: process.env.AWS_SECRET_ACCESS_KEY",
    "words about it": "the AWS secret access" + " key belongs into the vault, never into a note or a commit",
    "stars in place of it": "aws_secret_access" + `_key = ${"*".repeat(40)}`,
    "a run of one letter": "gh" + `p_${"x".repeat(36)}`,
    "letters in their order": "gh" + `p_${WORD.slice(0, 36)}`,
    "a word for the reader": "gl" + "pat-your_token_goes_right_here",
    "two letters in turn": "np" + `m_${"ab".repeat(18)}`,
    "a token that is too short": "gh" + `p_${drawn(WORD, 30)}`,
    "a token within a word": `a${"S" + `K${drawn(HEX, 32)}`}`,
    "a token that goes on": "S" + `K${drawn(HEX, 33)}`,
    "a header without a key": `if (text.startsWith("${dashes}BEGIN ${KEY}${dashes}")) {\n  parse(text)\n}\n`,
    "a key that is cut off": `${dashes}BEGIN ${KEY}${dashes}\nMIIEvQIBADANBg...\n${dashes}END ${KEY}${dashes}`,
    "a public key": pem("PUBLIC" + " KEY"),
    "a certificate": pem("CERTIFICATE"),
    "a hash": drawn(HEX, 64),
    "a data address": `data:image/png;base64,${drawn(BASE64, 4096)}`,
    "a time": "12345678:AA",
    nothing: "",
    dashes: "-".repeat(4096),
  };
  for (const [what, text] of Object.entries(PLAIN)) {
    test(what, () => expect(holds(text)).toBe(false));
  }
});

test("every place of a text is looked at, at its very end too", () => {
  const token = TOKENS["a GitHub token"]!;
  for (let before = 0; before < 40; before++) expect(holds(`${" ".repeat(before)}${token}`)).toBe(true);
  // Bytes are looked at in pairs: each beginning at even and odd places, of bytes at even and odd addresses.
  for (const [what, each] of Object.entries(TOKENS)) {
    for (const before of [1, 2, 3, 4]) {
      const all = new TextEncoder().encode(`${" ".repeat(before)}${each}`);
      for (const from of [0, 1, before]) {
        expect({ what, before, from, found: holdsSecret(all.subarray(from)) }).toMatchObject({ found: true });
      }
    }
  }
  for (const length of [0, 1, 2, 3])
    expect(holdsSecret(new Uint8Array(8).fill(45).subarray(5, 5 + length))).toBe(false);
  const bytes = new TextEncoder().encode(`###${token}###`);
  expect(holdsSecret(bytes.subarray(3, bytes.length - 3))).toBe(true);
  expect(holdsSecret(bytes.subarray(3, bytes.length - 4))).toBe(false);
});

test("what is found of a credential is all of it, and nothing beside it", () => {
  for (const [what, token] of Object.entries(TOKENS)) {
    const before = "Notes \u{1f511}: ";
    const after = "\n\nand more.";
    const bytes = new TextEncoder().encode(before + token + after);
    const { start, end } = findSecret(bytes)!;
    const left = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]).toString();
    expect(left.startsWith(before) && left.endsWith(after), what).toBe(true);
    // A host, the number of a bot, quotes and JSON around a key are not a secret; keys have line ends after them.
    const beside = left.slice(before.length, -after.length);
    expect(beside.length, what).toBeLessThanOrEqual(32);
    expect(holds(beside), what).toBe(false);
    expect(findSecret(bytes, end), what).toBeUndefined();
    expect(findSecret(bytes, start)?.start, what).toBe(start);
  }
});
