/** Credentials in texts: refused with the call, or masked, and nothing else is changed. No string here has their form. */
import { expect, test } from "bun:test";
import { holdsSecret } from "../../src/secrets/content.ts";
import { guardSecrets, maskSecrets } from "../../src/secrets/policy.ts";
import { random } from "../random.ts";

const next = random(21);
const WORD = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const drawn = (alphabet: string, length: number) =>
  Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
const dashes = "-".repeat(5);
const KEY = "PRIVATE" + " KEY";
const lines = (count: number) => Array.from({ length: count }, () => drawn(`${WORD}+/`, 64)).join("\n");

/** Makes a credential, and what it is called. */
const MADE: [string, () => string][] = [
  ["GitHub token", () => "gh" + `p_${drawn(WORD, 36)}`],
  ["AWS key id", () => "AKI" + "A" + drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)],
  ["npm token", () => "np" + `m_${drawn(WORD, 36)}`],
  ["Twilio key", () => "S" + `K${drawn("0123456789abcdef", 32)}`],
  ["Stripe key", () => "sk_" + `live_${drawn(WORD, 24)}`],
  ["private key", () => `${dashes}BEGIN ${KEY}${dashes}\n${lines(25)}\n${dashes}END ${KEY}${dashes}`],
  // Longer than what tells it, and cut off.
  ["private key", () => `${dashes}BEGIN RSA ${KEY}${dashes}\n${lines(60)}\n${dashes}END RSA ${KEY}${dashes}`],
  ["private key", () => `${dashes}BEGIN ${KEY}${dashes}\n${lines(50)}`],
  ["private key", () => Buffer.from(`${dashes}BEGIN ${KEY}${dashes}\n${lines(9)}\n`).toString("base64")],
];
const holds = (text: string) => holdsSecret(new TextEncoder().encode(text));
const make = () => {
  // Of what is drawn, little looks like a placeholder.
  for (;;) {
    const [kind, of] = MADE[Math.floor(next() * MADE.length)]!;
    const token = of();
    if (holds(token)) return { kind, token };
  }
};

test("no token is left, and no other byte is changed", () => {
  const BETWEEN = [
    " ",
    "\n\n",
    ", ",
    " \u{1f512} ",
    "\u00e9 ",
    "; x = ",
    ' "',
    "' ",
    ".\r\n",
    " ghp_ ",
    " -----BEGIN ",
    " \0 ",
  ];
  for (let round = 0; round < 300; round++) {
    let text = "";
    let expected = "";
    let count = 0;
    for (let part = Math.floor(next() * 6); part >= 0; part--) {
      const plain = drawn(`${WORD} .,\n`, Math.floor(next() * 40)) + BETWEEN[Math.floor(next() * BETWEEN.length)];
      const { kind, token } = make();
      text += plain;
      expected += plain;
      if (part === 0) continue;
      // Or what follows would belong to it.
      text += `${token}. `;
      expected += `[${kind} removed]. `;
      count++;
    }
    expect(maskSecrets(text), `round ${round}`).toEqual({ text: expected, masked: count });
    expect(holds(expected)).toBe(false);
  }
});

test("tokens side by side, within each other and cut at the end leave none", () => {
  for (let round = 0; round < 300; round++) {
    let text = "";
    for (let part = Math.floor(next() * 5); part >= 0; part--) {
      const { token } = make();
      text += next() < 0.3 ? token.slice(0, Math.floor(next() * token.length)) : token;
      if (next() < 0.5) text += drawn('-_=/+:".\n\u00e9', 1 + Math.floor(next() * 2));
    }
    const { text: masked, masked: count } = maskSecrets(text);
    expect(holds(masked)).toBe(false);
    expect(count > 0).toBe(holds(text));
    if (count === 0) expect(masked).toBe(text);
    expect(maskSecrets(masked)).toEqual({ text: masked, masked: 0 });
  }
});

test("a key goes as a whole, and what stands around it stays", () => {
  const [begin, end] = [`${dashes}BEGIN ${KEY}${dashes}`, `${dashes}END ${KEY}${dashes}`];
  const body = lines(4);
  const encoded = Buffer.from(`${begin}\n${body}\n${end}\n`).toString("base64").replace(/.{76}/g, "$&\n");
  const mark = "[private key removed]";
  for (const [text, left] of [
    // Cut off, before words.
    [`${begin}\n${body}\nplease rotate this key/today`, `${mark}\nplease rotate this key/today`],
    [`${begin}\n${body}\nkT9x\nplease`, `${mark}\nplease`],
    [`${begin}\n${body}\nabcd==\nplease`, `${mark}\nplease`],
    [`> ${begin}\n> ${body.replaceAll("\n", "\n> ")}\n> \n> please`, `> ${mark}\n> \n> please`],
    [`"${begin}\\n" +\n"${body.replaceAll("\n", '\\n" +\n"')}\\n" + other`, `"${mark}\\n" + other`],
    // In base64, over several lines.
    [`${encoded}\nplease rotate`, `${mark}\nplease rotate`],
    [`${encoded.replaceAll("\n", "\n  ")}\nplease rotate`, `${mark}\nplease rotate`],
    [`${encoded.replaceAll("\n", "\\n")}\nplease rotate`, `${mark}\nplease rotate`],
    [`${encoded.slice(0, 76 * 3 + 2)}\nplease rotate`, `${mark}\nplease rotate`],
  ] as const) {
    expect(maskSecrets(text).text).toBe(left);
  }
});

test("a key of metadata tells of a secret that has no form of its own", () => {
  const secret = drawn(`${WORD}+/`, 40);
  const name = "aws_secret_access" + "_key";
  const metadata = [{ [name]: secret, deep: { [name]: [secret, `${secret} of ours`] }, plain: secret }];
  const mark = "[AWS secret key removed]";
  const { rows, masked } = guardSecrets("mask", { texts: ["t"], metadata });
  expect(rows.metadata).toEqual([{ [name]: mark, deep: { [name]: [mark, `${mark} of ours`] }, plain: secret }]);
  expect(masked).toBe(3);
  expect(() => guardSecrets("refuse", { texts: ["t"], metadata })).toThrow("the metadata of text 1 holds a credential");
});

test("a text full of keys takes no time that grows with its square", () => {
  const key = MADE[5]![1]();
  const text = Array.from({ length: 2000 }, () => key).join("\n");
  expect(maskSecrets(text).masked).toBe(2000);
});

test("texts and the strings of metadata are masked; all else stays", () => {
  const [a, b] = [MADE[0]![1](), MADE[3]![1]()];
  const metadata = [{ scope: "x", n: 1.5, list: [true, null, { deep: `k ${b}` }] }, null, undefined];
  const rows = { collection: "c", texts: [`use ${a} and ${a}`, "plain", "more"], ids: ["1", "2", "3"], metadata };
  expect(guardSecrets("mask", rows)).toEqual({
    rows: {
      collection: "c",
      texts: ["use [GitHub token removed] and [GitHub token removed]", "plain", "more"],
      ids: ["1", "2", "3"],
      metadata: [{ scope: "x", n: 1.5, list: [true, null, { deep: "k [Twilio key removed]" }] }, null, undefined],
    },
    masked: 3,
  });
  const proto = JSON.parse('{"__proto__":{"a":"b"}}');
  const guarded = guardSecrets("mask", { texts: ["t"], metadata: [proto] }).rows.metadata[0];
  expect(JSON.stringify(guarded)).toBe('{"__proto__":{"a":"b"}}');
});

test("a refusal names the text and the kind, and never the credential", () => {
  const token = MADE[0]![1]();
  const refused = (rows: object, policy: "refuse" | "mask" = "refuse") => {
    try {
      guardSecrets(policy, { texts: ["a", "b"], ...rows });
    } catch (error) {
      const { message } = error as Error;
      expect(message).not.toContain(token.slice(4, 12));
      return message;
    }
    return undefined;
  };
  const rest =
    " holds a credential (GitHub token): take it out, or store it with secrets masked (--secrets mask); nothing was written";
  expect(refused({ texts: ["a", `x ${token}`] })).toBe(`text 2${rest}`);
  expect(refused({ texts: ["a", token], ids: ["one", "two"] })).toBe(`text 2 (id 'two')${rest}`);
  expect(refused({ ids: ["one", "two"], metadata: [{ deep: [{ x: token }] }, null] })).toBe(
    `the metadata of text 1 (id 'one')${rest}`,
  );
  // What names a row or a value cannot be masked.
  for (const policy of ["refuse", "mask"] as const) {
    expect(refused({ ids: ["one", token] }, policy)).toStartWith(
      "the id of text 2 holds a credential (GitHub token): take it out",
    );
    expect(refused({ metadata: [null, { [token]: 1 }] }, policy)).toStartWith(
      "a key in the metadata of text 2 holds a credential",
    );
  }
  expect(refused({})).toBeUndefined();
});
