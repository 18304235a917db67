/** A process that stays for months renews its licence too. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths } from "../../../src/paths.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { authorityIn, facesOf, goodClaims, LOCAL_BUILD, newHome, signed } from "../../trust/account/helpers.ts";
import { FAKE_BUILD } from "../support.ts";

/** Says that it has checked the licence, and stays. */
const STAYS = `
const { checkStoredLicense } = await import("${join(import.meta.dir, "../../../src/trust/account/license/license-check.ts")}");
const { keepRenewed } = await import("${join(import.meta.dir, "../../../src/cli/access/renewal.ts")}");
const license = await checkStoredLicense(process.env.SVC_HOME, {});
console.log("licensed");
keepRenewed(license, { env: process.env, network: false, warn: console.error });
setInterval(() => {}, 1000);
`;

/** A home after a login with its local authority, and what starts a process that stays in it. */
async function machine() {
  const home = newHome();
  const authority = await authorityIn(home, { approve: "yes" });
  const { license } = await login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
  await authority.stop();
  const program = join(home, "stays.ts");
  writeFileSync(program, STAYS);
  const words = ["--preload", FAKE_BUILD, "--preload", join(import.meta.dir, "../look-often.ts"), program];
  const env = { PATH: process.env.PATH, HOME: home, SVC_HOME: home };
  const stays = () => Bun.spawn([process.execPath, ...words], { env, stdout: "pipe", stderr: "inherit" });
  return { license, paths: accountPaths(home), stays };
}

test("it looks again, and renews a licence whose last third begins while it runs", async () => {
  const { license, paths, stays } = await machine();
  // The last third begins in a second or two: after the first look.
  const issued = Math.floor(Date.now() / 1000) - 60 + 2;
  const jwt = await signed({ ...goodClaims(license.deviceThumbprint, issued), exp: issued + 90 });
  writeFileSync(paths.license, `${jwt}\n`);
  await using child = stays();
  const stored = () => readFileSync(paths.license, "utf8").trim();
  for (let i = 0; i < 1000 && stored() === jwt && child.exitCode === null; i++) await Bun.sleep(20);
  expect(stored()).not.toBe(jwt);
  const renewed = JSON.parse(Buffer.from(stored().split(".")[1]!, "base64url").toString());
  expect(renewed.iat).toBeGreaterThanOrEqual(issued + 60);
});

test("its clock is not in doubt after a year: the latest time seen moves with it", async () => {
  const { paths, stays } = await machine();
  await using child = stays();
  const mark = () => Number(readFileSync(paths.clock, "utf8"));
  // What a process would find that began so long ago, and was the only one since.
  const began = Math.floor(Date.now() / 1000) - 360 * 86_400;
  await child.stdout.getReader().read();
  writeFileSync(paths.clock, `${began}\n`);
  for (let i = 0; i < 1000 && mark() === began && child.exitCode === null; i++) await Bun.sleep(20);
  expect(mark()).toBeGreaterThan(began);
});
