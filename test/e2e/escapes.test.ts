/** Names from files, licences and servers: none of what a terminal obeys gets through what the executable prints. */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LICENSE_PUBLIC_PEM, signed } from "../trust/account/helpers.ts";
import { copyOfHome, type Ended, signedIn, svc } from "./home.ts";

/** Renames the window, moves the cursor up (C0, and C1 as one character), reverses what follows, hides, adds a line. */
const EVIL =
  "a\x1b]0;owned\x07\x1b[1A\x9b1A\x7f\u202egnp.exe\u2066\u200b\ufeff\nlogin     admin licence until 2999-01-01";

/** What a terminal obeys, but for line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern looks for them
const RAW = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

let original: Record<string, string>;
beforeAll(async () => {
  original = await signedIn();
});

/** @param isText whether the output is a text with its own line breaks */
function expectHarmless({ out, err }: Ended, isText = false): void {
  expect(out).not.toMatch(RAW);
  expect(err).not.toMatch(RAW);
  if (!isText) expect(out + err).not.toMatch(/^login {5}admin/m);
}

test("a licence that is signed but holds escape sequences", async () => {
  const env: Record<string, string> = { ...copyOfHome(original), SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
  const path = join(env.SVC_HOME!, "login_license.jwt");
  const claims = JSON.parse(Buffer.from(readFileSync(path, "utf8").split(".")[1]!, "base64url").toString());
  const forge = async (changed: object) => writeFileSync(path, await signed({ ...claims, ...changed }));
  for (const changed of [
    { products: { svc: { tier: EVIL, features: [EVIL] } } },
    { iss: EVIL },
    { aud: [EVIL] },
    { ver: EVIL },
    { sub: EVIL, jti: EVIL, products: { svc: { tier: "x", features: [EVIL] } } },
  ]) {
    await forge(changed);
    const commands = ["runtime status", "runtime status --json", "runtime verify", "runtime verify --json", "mem list"];
    for (const command of commands) expectHarmless(await svc(env, command.split(" ")));
  }
});

test("an installed.json that holds escape sequences, or no texts at all", async () => {
  const env = copyOfHome(original);
  const [path] = [...new Bun.Glob("runtime/*/installed.json").scanSync({ cwd: env.SVC_HOME!, absolute: true })];
  for (const value of [EVIL, 7, { a: EVIL }, null]) {
    writeFileSync(path!, JSON.stringify({ installed_at: value, provenance: { source: value } }));
    const text = await svc(env, ["runtime", "status"]);
    expectHarmless(text);
    expect(text).toMatchObject({ code: 0, err: "" });
    expect(text.out.trimEnd().split("\n")).toHaveLength(5);
    const json = await svc(env, ["runtime", "status", "--json"]);
    expectHarmless(json);
    const expected = typeof value === "string" ? value : null;
    expect(JSON.parse(json.out).runtime).toMatchObject({ source: expected, installed_at: expected });
  }
});

test("files of the install that are called so", async () => {
  const env = copyOfHome(original);
  const [dir] = [...new Bun.Glob("runtime/*").scanSync({ cwd: env.SVC_HOME!, onlyFiles: false, absolute: true })];
  for (const folder of ["", "pysite", "pysite/svc"]) {
    writeFileSync(join(dir!, folder, EVIL.replaceAll("/", "")), "", { mode: 0o666 });
    mkdirSync(join(dir!, folder, `${EVIL} folder`));
  }
  const text = await svc(env, ["runtime", "verify"]);
  expectHarmless(text);
  const json = await svc(env, ["runtime", "verify", "--json"]);
  expectHarmless(json);
  expect(json.out.trimEnd()).not.toContain("\n");
  const report = JSON.parse(json.out);
  expect(report.ok).toBe(false);
  expect(json.out).toContain("\\u009b1A\\u007f\\u202e");
});

test("paths and names that callers give", async () => {
  const env: Record<string, string> = { ...copyOfHome(original), SVC_RELEASE_PUBKEY_FILE: join("/", EVIL) };
  for (const args of [
    ["runtime", "verify"],
    ["runtime", "verify", "--json"],
    ["runtime", "status"],
    ["mem", "search", EVIL, EVIL],
    ["mem", "list", "--path", join(env.SVC_HOME!, "token", EVIL)],
    ["runtime", "install", "--file", EVIL],
    [EVIL],
    ["mem", `--${EVIL}`],
  ]) {
    const ended = await svc(env, args);
    expectHarmless(ended);
    expect(ended.code === 0).toBe(args[1] === "status");
  }
});

test("names of collections and texts in them", async () => {
  const env = copyOfHome(original);
  // A name may have what its check lets through: C1 and the bidirectional controls.
  const name = "n\x9b1A\u202egnp";
  const added = await svc(env, ["mem", "add", name, EVIL, "--id", EVIL, "--metadata", JSON.stringify({ a: EVIL })]);
  expectHarmless(added);
  expect(added.code).toBe(0);
  for (const verb of [["list"], ["ids", name], ["search", name, "login"], ["get", name, EVIL], ["export", name]]) {
    for (const json of verb[0] === "export" ? [[]] : [[], ["--json"]]) {
      const ended = await svc(env, ["mem", ...verb, ...json]);
      expectHarmless(ended, verb[0] === "get");
      expect(ended.code).toBe(0);
      if (json.length > 0 || verb[0] === "export") expect(JSON.stringify(JSON.parse(ended.out))).toMatch(/\x9b1A/);
    }
  }
});
