/** A machine that is a member of an organisation, which a test can have answer what it likes. */
import { readFileSync, writeFileSync } from "node:fs";
import { accountPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { type LoginOptions, login } from "../../../src/trust/account/login/login.ts";
import { renewByConsent, settleConsent } from "../../../src/trust/account/login/renewal.ts";
import { authorityIn, facesOf, fakeServer, goodClaims, LICENSE_PUBLIC_PEM, newHome, signed } from "./helpers.ts";

export const DAY = 86_400;
export const NOW = Math.floor(Date.now() / 1000);
/** A build that trusts the key of the tests. */
export const BUILD = { licensePublicKey: LICENSE_PUBLIC_PEM, authority: null };
const read = (path: string) => readFileSync(path, "utf8").trim();
/** Those of a renewal. */
export const REQUESTS = ["/v1/device/nonce", "/v1/device/register"];

/** Answers in the place of the authority; undefined: it answers itself. */
export type Instead = (path: string) => Response | undefined | Promise<Response | undefined>;

/** A machine that is logged in at an organisation, whose requests are counted, with a licence that is two thirds old. */
export async function member({ consent = true, began = 61, life = 90 } = {}) {
  const organisation = newHome();
  const authority = await authorityIn(organisation, { approve: "yes", licenseDays: 90, offlineGraceDays: 0 });
  let instead: Instead = () => undefined;
  const server = fakeServer(async (request, path) => {
    const body = await request.text();
    const { method, headers } = request;
    return (await instead(path)) ?? fetch(authority.url + path, { method, headers, body });
  });
  const home = newHome();
  const paths = accountPaths(home);
  const enter = (url = server.url, more: Partial<LoginOptions> = {}) =>
    login({ home, env: {}, endpoints: facesOf(url), build: BUILD, ...more });
  const { apiKey, license } = await enter();
  if (consent) await settleConsent(home, { wanted: true, api: server.url, apiKey });
  const licenseOf = (days: number, of: number, pem?: string) => {
    const issued = NOW - days * DAY;
    const claims = { ...goodClaims(license.deviceThumbprint, issued), exp: issued + of * DAY };
    return signed(claims, { alg: "RS256" }, pem);
  };
  const age = async (days = began, of = life) => {
    const jwt = await licenseOf(days, of);
    writeFileSync(paths.license, `${jwt}\n`, { mode: 0o600 });
    return jwt;
  };
  await age();
  server.paths.length = 0;
  const renew = async (options: { now?: number; env?: Record<string, string>; signal?: AbortSignal } = {}) => {
    const { env = {}, now = NOW, signal } = options;
    const known = await requireLogin(home, {}, { build: BUILD, now });
    return renewByConsent(home, env, known, { now, signal, build: BUILD });
  };
  const answers = (given: Instead) => {
    instead = given;
  };
  const before = () => read(paths.license);
  return { organisation, home, paths, server, apiKey, enter, renew, age, licenseOf, answers, before };
}
