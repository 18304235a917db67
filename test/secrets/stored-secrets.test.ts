/** Credentials in rows that are stored: the rows are named, the credentials never. No string here has their form. */
import { expect, test } from "bun:test";
import { packStrings } from "../../ffi/packing.ts";
import { BEGINNINGS } from "../../src/secrets/content.ts";
import { holders, storedSecretsNotice } from "../../src/secrets/stored.ts";
import { native } from "../fixture.ts";
import { random } from "../random.ts";

const GITHUB = `${"gh" + "p_"}${"aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC3fG6"}`;
const NPM = `${"np" + "m_"}${"aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC3fG6"}`;
const AWS_KEY = "aws_secret_access" + "_key";
const AWS_SECRET = "q7Zt4Lw9Xv2Bn8Mk3Pd6Hs1Gf5Jc0Ry/Ua+Ei7To";

const notice = (rows: { texts: string[]; ids?: string[]; metadata?: (Record<string, unknown> | null)[] }) => {
  const text = storedSecretsNotice("notes", holders(rows), rows.ids ?? rows.texts.map((_, i) => `made-${i}`));
  for (const secret of [GITHUB, NPM, AWS_SECRET]) expect(text ?? "").not.toContain(secret.slice(6, 20));
  return text;
};

test("a row is named with its id, the kind, and a command that removes it", () => {
  expect(notice({ texts: ["plain", "none"] })).toBeUndefined();
  expect(notice({ texts: [] })).toBeUndefined();
  expect(notice({ texts: ["a", `use ${GITHUB} here`], ids: ["one", "two"] })).toBe(
    "stored with a credential: text 2 (id 'two', GitHub token). The user can remove it for good with " +
      "'svc mem delete notes two --purge', or start svc with --secrets mask",
  );
  expect(notice({ texts: [GITHUB] })).toContain("'svc mem delete notes made-0 --purge'");
  // A shell would not take this id as it is.
  expect(notice({ texts: [GITHUB], ids: ["$(x) y"] })).toContain("'svc mem delete notes ID --purge'");
});

test("the shortest credential counts", () => {
  const id = `AKI${"AQ7ZT4LW5XV2BN6MK"}`;
  expect(id).toHaveLength(20);
  expect(notice({ texts: [id] })).toContain("AWS key id");
  expect(notice({ texts: [""], metadata: [{ k: id }] })).toContain("AWS key id");
});

test("metadata and ids count, and an id with a credential is not shown", () => {
  expect(notice({ texts: ["a"], metadata: [{ deep: [{ token: NPM }] }] })).toContain(
    "the metadata of text 1 (id 'made-0', npm token)",
  );
  expect(notice({ texts: ["a"], metadata: [{ [GITHUB]: 1 }] })).toContain("the metadata of text 1");
  expect(notice({ texts: ["a"], metadata: [{ [AWS_KEY]: AWS_SECRET }] })).toContain("AWS secret key");
  expect(notice({ texts: ["a", "b"], ids: ["x", GITHUB] })).toStartWith(
    "stored with a credential: the id of text 2 (GitHub token). The user can remove it for good with " +
      "'svc mem delete notes ID --purge'",
  );
});

test("three rows are named, the others counted, wherever they stand", () => {
  const texts = Array.from(
    { length: 10_000 },
    (_, i) => `note ${i} about nothing in particular ${"x ".repeat(i % 90)}`,
  );
  for (const at of [0, 999, 5_000, 5_001, 9_999]) texts[at] = `${texts[at]} ${GITHUB}`;
  expect(notice({ texts })).toContain(
    "text 1 (id 'made-0', GitHub token), text 1000 (id 'made-999', GitHub token), " +
      "text 5001 (id 'made-5000', GitHub token) and 2 more. ",
  );
  const metadata = texts.map(() => ({ scope: "a", [NPM]: true }));
  expect(notice({ texts: texts.map(() => "t"), metadata })).toContain("and 9997 more");
});

test("texts side by side make no credential, and a text longer than what is looked at together has its own", () => {
  const half = Math.floor(GITHUB.length / 2);
  expect(notice({ texts: [GITHUB.slice(0, half), GITHUB.slice(half)] })).toBeUndefined();
  const long = `${"word ".repeat(200_000)}${NPM}`;
  expect(notice({ texts: ["a", long, `b ${GITHUB}`] })).toContain("text 2 (id 'made-1', npm token) and text 3 ");
  expect(notice({ texts: ["word ".repeat(3_000_000)] })).toBeUndefined();
  expect(notice({ texts: [`\ud800 \u{1f512}${"\u00e9".repeat(90_000)} ${GITHUB}`] })).toContain("text 1 ");
});

test("the places where texts hold one of some strings are found, whatever is beside them", async () => {
  const { env } = await native();
  const next = random(7);
  const letters = (most: number, least = 0) =>
    Array.from({ length: least + Math.floor(next() * (most - least)) }, () => "abé"[Math.floor(next() * 3)]).join("");
  for (let round = 0; round < 300; round++) {
    const strings = Array.from({ length: Math.floor(next() * 5) }, () => letters(7, 3));
    const texts = Array.from({ length: 20 }, () => letters(30));
    const wanted = texts.flatMap((text, i) => {
      const bytes = Buffer.from(text);
      const places = Array.from(bytes, (_, at) => at);
      return strings.flatMap((string) =>
        places.filter((at) => bytes.subarray(at).indexOf(string) === 0).map((at) => `${i} ${at}`),
      );
    });
    const found = env.occurrences(packStrings(texts), packStrings(strings))!;
    const pairs = Array.from({ length: found.length / 2 }, (_, i) => `${found[2 * i]} ${found[2 * i + 1]}`);
    expect(pairs.toSorted()).toEqual(wanted.toSorted());
    expect(pairs.map((pair) => Number.parseInt(pair, 10))).toEqual(wanted.map((pair) => Number.parseInt(pair, 10)));
  }
  const one = packStrings(["a".repeat(9000)]);
  for (const beginning of BEGINNINGS) expect(beginning.length).toBeGreaterThanOrEqual(3);
  expect(env.occurrences(one, packStrings(["aaa"]))).toBeUndefined();
  expect(() => env.occurrences(one, packStrings(["aa"]))).toThrow("fewer than three bytes");
  expect(() => env.occurrences(one, packStrings(Array(256).fill("abc")))).toThrow("more than 255");
});

test("many texts are searched at once: the same rows are found", async () => {
  const { env } = await native();
  const rows = {
    texts: Array.from({ length: 400 }, (_, i) => `${"é".repeat(i % 7)} note ${i} ${"x ".repeat(i % 90)}`),
  };
  for (const [i, beginning] of BEGINNINGS.entries()) rows.texts[i * 3] += `${i % 2 ? " " : "_"}${beginning}`;
  for (const at of [1, 200, 399])
    rows.texts[at] = `${rows.texts[at]}\n${[GITHUB, NPM, `${AWS_KEY}=${AWS_SECRET}`][at % 3]}`;
  let searched = 0;
  const occurrences = (strings: ReturnType<typeof packStrings>) => {
    searched++;
    return env.occurrences(packStrings(rows.texts), strings);
  };
  expect(holders(rows, occurrences)).toEqual(holders(rows));
  expect(holders(rows)).toHaveLength(3);
  expect(holders({ texts: [GITHUB] }, occurrences)).toHaveLength(1);
  expect(searched).toBe(1);
  const fails = () => {
    throw new Error("no memory");
  };
  expect(holders(rows, fails)).toHaveLength(3);
  expect(holders(rows, () => undefined)).toHaveLength(3);
});
