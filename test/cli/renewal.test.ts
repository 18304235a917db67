/** A process that stays for months renews its licence too. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { login } from "../../src/account/login.ts";
import { accountPaths } from "../../src/paths.ts";
import { authorityIn, facesOf, goodClaims, LOCAL_BUILD, newHome, signed } from "../account/helpers.ts";
import { FAKE_BUILD } from "./support.ts";

/** Prints each licence that it finds when it looks again. */
const STAYS = `
const { checkStoredLicense } = await import("${join(import.meta.dir, "../../src/account/license-check.ts")}");
const { keepRenewed } = await import("${join(import.meta.dir, "../../src/cli/renewal.ts")}");
const license = await checkStoredLicense(process.env.SVC_HOME, {});
keepRenewed(license, { env: process.env, network: false, warn: console.error });
setInterval(() => {}, 1000);
`;

test("it looks again, and renews a licence whose last third begins while it runs", async () => {
  const home = newHome();
  const authority = await authorityIn(home, { approve: "yes" });
  const { license } = await login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
  await authority.stop();
  const path = accountPaths(home).license;
  // The last third begins in a second or two: after the first look.
  const issued = Math.floor(Date.now() / 1000) - 60 + 2;
  const jwt = await signed({ ...goodClaims(license.deviceThumbprint, issued), exp: issued + 90 });
  writeFileSync(path, `${jwt}\n`);
  const program = join(home, "stays.ts");
  writeFileSync(program, STAYS);
  const words = ["--preload", FAKE_BUILD, "--preload", join(import.meta.dir, "look-often.ts"), program];
  const env = { PATH: process.env.PATH, HOME: home, SVC_HOME: home };
  await using child = Bun.spawn([process.execPath, ...words], { env, stdout: "ignore", stderr: "inherit" });
  const stored = () => readFileSync(path, "utf8").trim();
  for (let i = 0; i < 1000 && stored() === jwt && child.exitCode === null; i++) await Bun.sleep(20);
  expect(stored()).not.toBe(jwt);
  const renewed = JSON.parse(Buffer.from(stored().split(".")[1]!, "base64url").toString());
  expect(renewed.iat).toBeGreaterThanOrEqual(issued + 60);
});
