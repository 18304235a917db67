/** A licence that is due for renewal. */
import { expect } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { accountPaths, authorityPaths, platformTag, runtimePaths } from "../../src/paths.ts";
import { signed } from "../trust/account/helpers.ts";
import type { Home } from "./home.ts";

const DAY = 86_400;

/** The text of a file without white space around it. */
export const read = (path: string) => readFileSync(path, "utf8").trim();

/** Where a home has its licence. */
export const licenseOf = (env: Home) => accountPaths(env.SVC_HOME!).license;

/** Where its runtime has a copy of the licence. */
export const copyOf = (env: Home) => runtimePaths(env.SVC_HOME!, platformTag()!).license;

/** Waits until something is true; fails after 20 seconds. */
export async function until(done: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !done(); i++) await Bun.sleep(20);
  expect(done()).toBe(true);
}

/** The claims of a home's licence, not verified. */
// biome-ignore lint/suspicious/noExplicitAny: claims are JSON, and a test reads what it expects of them
export function claimsIn(home: string): any {
  const payload = readFileSync(accountPaths(home).license, "utf8").split(".")[1]!;
  return JSON.parse(Buffer.from(payload, "base64url").toString());
}

/** Replaces a home's licence by one of its local authority of 365 days, 65 of which are left. @returns its claims */
export async function age(home: string) {
  const now = Math.floor(Date.now() / 1000);
  const claims = { ...claimsIn(home), iat: now - 300 * DAY, nbf: now - 300 * DAY, exp: now + 65 * DAY };
  const key = readFileSync(authorityPaths(home).licenseKey, "utf8");
  const jwt = await signed(claims, { alg: "RS256", typ: "JWT" }, key);
  writeFileSync(accountPaths(home).license, `${jwt}\n`, { mode: 0o600 });
  return claims;
}

/**
 * Replaces a home's licence by one of 90 days that an organisation's key signed so many days ago; no renewal was tried
 * since. @returns it
 */
export async function ageBy(days: number, home: string, privatePem: string): Promise<string> {
  const { license, renewal } = accountPaths(home);
  const head = JSON.parse(Buffer.from(readFileSync(license, "utf8").split(".")[0]!, "base64url").toString());
  const issued = Math.floor(Date.now() / 1000) - days * DAY;
  const claims = { ...claimsIn(home), iat: issued, nbf: issued, exp: issued + 90 * DAY };
  const jwt = await signed(claims, head, privatePem);
  writeFileSync(license, `${jwt}\n`, { mode: 0o600 });
  if (existsSync(renewal)) {
    const { tried: _, ...consent } = JSON.parse(readFileSync(renewal, "utf8"));
    writeFileSync(renewal, JSON.stringify(consent), { mode: 0o600 });
  }
  return jwt;
}
