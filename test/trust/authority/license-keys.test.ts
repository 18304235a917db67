/** What an authority says of the keys that sign its licences. */
import { expect, test } from "bun:test";
import { createPublicKey, createVerify } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accountPaths, authorityPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { renewByConsent, settleConsent } from "../../../src/trust/account/login/renewal.ts";
import { type Pin, readPin } from "../../../src/trust/account/trusted/pin.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { rollOver } from "../../../src/trust/authority/organisation/key-ring.ts";
import { testKey } from "../../keys.ts";
import { authorityIn, facesOf, LICENSE_PUBLIC_PEM, LOCAL_BUILD, newHome } from "../account/helpers.ts";
import { idOf } from "../account/statements.ts";

const KID = idOf(testKey("license"));

interface Told {
  readonly keys: Record<string, string>[];
  readonly statements: string[];
}

test("everyone is answered its public keys, with the id that its licences name", async () => {
  const home = newHome();
  const { url } = await authorityIn(home, { approve: "yes" });
  const told = (await (await fetch(`${url}/v1/license-keys`)).json()) as Told;
  const { n, e } = createPublicKey(LICENSE_PUBLIC_PEM).export({ format: "jwk" });
  expect(told).toEqual({ keys: [{ kty: "RSA", n, e, alg: "RS256", use: "sig", kid: KID } as never], statements: [] });

  await login({ home, env: {}, endpoints: facesOf(url), build: LOCAL_BUILD });
  const [header = "", claims = "", signature = ""] = readFileSync(accountPaths(home).license, "utf8").trim().split(".");
  expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({ alg: "RS256", typ: "JWT", kid: KID });
  // As a program does that knows no more of licences than JOSE.
  const key = createPublicKey({ key: told.keys[0] as never, format: "jwk" });
  expect(createVerify("sha256").update(`${header}.${claims}`).verify(key, signature, "base64url")).toBeTrue();
});

test("a server that runs signs with a key that another process has added, and its machines follow", async () => {
  const server = newHome();
  let now = Date.now() / 1000;
  const clock = () => now * 1000;
  const options = { organisation: true, approve: "yes", licenseDays: 90, now: clock } as const;
  const { url } = await authorityIn(server, options);
  const { dir: data, ledger: path } = authorityPaths(server);
  const home = newHome();
  const pin: Pin = { issuer: url, licenseKey: LICENSE_PUBLIC_PEM, ca: null, successors: [], pinnedAt: 0 };
  const enter = (at: string, of: Pin | undefined) =>
    login({ home: at, env: {}, endpoints: facesOf(url), build: LOCAL_BUILD, pin: of, now });
  const { license: old, apiKey } = await enter(home, pin);
  await settleConsent(home, { wanted: true, api: url, apiKey });

  const other = new Ledger(path, server);
  const { id } = await rollOver(other, data, { actor: "eve", now: clock() });
  other.close();
  const told = (await (await fetch(`${url}/v1/license-keys`)).json()) as Told;
  expect(told.keys.map(({ kid }) => kid)).toEqual([id, KID]);
  expect(told.statements).toHaveLength(1);
  const jwks = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as Pick<Told, "keys">;
  expect(jwks.keys).toEqual(told.keys);

  const check = (of = home) => requireLogin(of, {}, { build: LOCAL_BUILD, now });
  expect((await check()).jwt).toBe(old.jwt);
  now += 61 * 86_400;
  const renewed = await renewByConsent(home, {}, old, { now, build: LOCAL_BUILD });
  expect(headerOf(renewed!.jwt).kid).toBe(id);
  expect(readPin(home)?.successors).toEqual(told.statements);
  expect((await check()).jwt).toBe(renewed!.jwt);
  // A machine that comes now may be given either key.
  for (const licenseKey of [LICENSE_PUBLIC_PEM, readFileSync(join(data, "license_key.pub.pem"), "utf8")]) {
    const fresh = newHome();
    expect(headerOf((await enter(fresh, { ...pin, licenseKey })).license.jwt).kid).toBe(id);
    expect((await check(fresh)).tier).toBeString();
  }
});

function headerOf(jwt: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt.split(".")[0]!, "base64url").toString());
}
