/** `svc runtime verify` opens no connection, whatever it finds and whatever the environment names. */
import { beforeAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyOfHome, emptyHome, SVC, signedIn } from "../e2e/home.ts";
import { recorder } from "./recorder.ts";

const record = await recorder();

type Home = Record<string, string>;
let original: Home;
beforeAll(async () => {
  original = await signedIn();
});

const ORGANISATION = {
  SVC_ACCOUNTS_URL: "https://accounts.invalid",
  SVC_PACKAGES_URL: "https://packages.invalid",
  SVC_TOKEN: "t",
  HTTPS_PROXY: "http://proxy.invalid:8080",
};
const spoilt = (name: string, text?: string): Home => {
  const env = copyOfHome(original);
  const path = join(env.SVC_HOME!, name);
  if (text === undefined) rmSync(path, { recursive: true });
  else writeFileSync(path, text, { mode: 0o600 });
  return env;
};
const HOMES: [string, () => Home, number][] = [
  ["a good home", () => copyOfHome(original), 0],
  ["a good home, and servers in the environment", () => ({ ...copyOfHome(original), ...ORGANISATION }), 0],
  ["no home, and servers in the environment", () => ({ ...emptyHome(), ...ORGANISATION }), 1],
  ["no runtime", () => ({ ...spoilt("runtime"), ...ORGANISATION }), 1],
  ["a licence that is not one", () => ({ ...spoilt("login_license.jwt", "x"), ...ORGANISATION }), 1],
  ["a damaged record of releases", () => ({ ...spoilt("releases.json", "{"), ...ORGANISATION }), 1],
];

test.skipIf(!record).each(HOMES)("%s (needs a Linux that hands over system calls)", async (_, make, code) => {
  const env = make();
  for (const command of ["verify", "verify --json", "env", "status"]) {
    const recorded = await record!([SVC, "runtime", ...command.split(" ")], env);
    expect(recorded.contacts).toEqual([]);
    if (command.startsWith("verify")) expect(recorded.code).toBe(code);
    if (command === "verify --json") expect(JSON.parse(recorded.out).ok).toBe(code === 0);
  }
});
