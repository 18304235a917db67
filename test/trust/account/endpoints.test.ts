import { expect, test } from "bun:test";
import { PermissionError, ValueError } from "../../../src/errors.ts";
import type { Env } from "../../../src/paths.ts";
import { licenseAnchor, requireFixedKeys } from "../../../src/trust/account/trusted/anchors.ts";
import { configuredEndpoints, isLoopback } from "../../../src/trust/account/trusted/endpoints.ts";
import { writePin } from "../../../src/trust/account/trusted/pin.ts";
import { testKey } from "../../keys.ts";
import { failure, LICENSE_PUBLIC_PEM, LOCAL_BUILD, newHome } from "./helpers.ts";

const A = "https://accounts.example";
const PIN = { issuer: A, licenseKey: LICENSE_PUBLIC_PEM, ca: null, successors: [], pinnedAt: 1 };

const none = newHome();
const configured = (env: Env, home = none) => configuredEndpoints(env, home, LOCAL_BUILD);

test("no address means the local authority", () => {
  expect(configured({})).toBeUndefined();
  expect(configured({ SVC_PACKAGES_URL: A })).toBeUndefined();
});

test("the environment names a remote one", async () => {
  expect(configured({ SVC_ACCOUNTS_URL: A })).toEqual({ accounts: A, api: A, packages: undefined });
  const three = {
    SVC_ACCOUNTS_URL: A,
    SVC_API_URL: "https://api.example",
    SVC_PACKAGES_URL: "https://packages.example",
  };
  expect(configured(three)).toEqual({
    accounts: A,
    api: "https://api.example",
    packages: "https://packages.example",
  });
  expect(await failure(() => configured({ SVC_API_URL: A }))).toBeInstanceOf(ValueError);
});

test("without the environment the pinned one is asked, with its CA; the environment goes before it", () => {
  const home = newHome();
  writePin(home, { ...PIN, ca: "certificates" });
  const ca = { origin: A, pem: "certificates" };
  expect(configured({}, home)).toEqual({ accounts: A, api: A, packages: A, ca });
  const packages = "https://packages.example";
  expect(configured({ SVC_PACKAGES_URL: packages }, home)).toEqual({ accounts: A, api: A, packages, ca });
  const other = "https://other.example";
  expect(configured({ SVC_ACCOUNTS_URL: other }, home)).toMatchObject({ accounts: other, api: other });
  // What is only remembered of a built-in authority is not one.
  writePin(home, { ...PIN, licenseKey: null });
  expect(configured({}, home)).toBeUndefined();
});

test("a build made for one authority uses no other", async () => {
  const build = { authority: A, licensePublicKey: LICENSE_PUBLIC_PEM };
  expect(configuredEndpoints({}, none, build)).toEqual({ accounts: A, api: A, packages: A });
  const error = await failure(() => configuredEndpoints({ SVC_API_URL: "https://evil.example" }, none, build));
  expect(error).toBeInstanceOf(PermissionError);
  expect(error.message).toBe("this build trusts only https://accounts.example: unset SVC_API_URL");
  const home = newHome();
  writePin(home, { ...PIN, issuer: "https://evil.example" });
  expect(configuredEndpoints({}, home, build)).toMatchObject({ accounts: A, api: A, packages: A });
});

test("a build made for one authority keeps its keys", async () => {
  const build = { authority: A, licensePublicKey: LICENSE_PUBLIC_PEM };
  for (const name of [
    "SVC_LICENSE_PUBKEY",
    "SVC_LICENSE_PUBKEY_FILE",
    "SVC_RELEASE_PUBKEY",
    "SVC_RELEASE_PUBKEY_FILE",
  ]) {
    const error = await failure(() => requireFixedKeys({ [name]: "x" }, build), PermissionError);
    expect(error.message).toBe(`this build's keys are fixed: unset ${name}`);
    requireFixedKeys({ [name]: "" }, build);
    requireFixedKeys({ [name]: "x" }, LOCAL_BUILD);
  }
  const given = { SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
  expect((await failure(() => licenseAnchor(none, given, build))).message).toContain("unset SVC_LICENSE_PUBKEY");
  // A key that is pinned replaces none either.
  const home = newHome();
  writePin(home, { ...PIN, licenseKey: testKey("foreign").publicPem });
  expect(licenseAnchor(home, {}, build)).toMatchObject({ source: "built-in", publicKeyPem: LICENSE_PUBLIC_PEM });
});

test("loopback is this machine and no name that merely looks like it", () => {
  for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1"]) expect(isLoopback(host)).toBe(true);
  for (const host of ["127.0.0.1.example.com", "localhost.example", "0.0.0.0", "[::]", "10.0.0.1", "128.0.0.1"]) {
    expect(isLoopback(host)).toBe(false);
  }
});
