import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { keyId } from "../../../src/trust/account/license/license-token.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { type AuthorityFlags, loginTarget } from "../../../src/trust/account/login/login-target.ts";
import { preflight } from "../../../src/trust/account/login/preflight.ts";
import type { Front } from "./front.ts";
import { LOCAL_BUILD, newHome } from "./helpers.ts";

export interface Where {
  env?: Env;
  build?: { authority: string | null; licensePublicKey: string | null };
}

/** A login as the command makes it. */
export async function enter(home: string, flags: AuthorityFlags = {}, { env = {}, build = LOCAL_BUILD }: Where = {}) {
  const target = await loginTarget({ home, env, build }, flags);
  if (target === undefined) return undefined;
  const { pin, notes } = await preflight(target);
  const result = await login({ home, env, build, endpoints: target.endpoints, pin });
  return { ...result, notes };
}

/** Whether tool calls would accept the login. */
export const good = (home: string, { env = {}, build = LOCAL_BUILD }: Where = {}) => requireLogin(home, env, { build });
/** The fingerprint of a key. */
export const fingerprint = (pem: string) =>
  `SHA256:${keyId(Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64"))}`;

/** A file with some text, below a home. */
export function fileOf(home: string, name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

/** The flags that pin an authority. */
export const flagsOf = (front: Pick<Front, "url" | "publicPem">): AuthorityFlags => ({
  authority: front.url,
  licensePubkey: fileOf(newHome(), "key.pem", front.publicPem),
});

/** Whether a person, or anything that a person has, was asked for. */
export const askedFor = ({ paths }: Pick<Front, "paths">) =>
  paths.filter((path) => /^\/(oauth|v1\/(?!license-keys))/.test(path));
