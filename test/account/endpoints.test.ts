import { expect, test } from "bun:test";
import { configuredEndpoints, isLoopback } from "../../src/account/endpoints.ts";
import { PermissionError, ValueError } from "../../src/errors.ts";
import { failure } from "./helpers.ts";

const A = "https://accounts.example";

test("no address means the local authority", () => {
  expect(configuredEndpoints({}, null)).toBeUndefined();
  expect(configuredEndpoints({ SVC_PACKAGES_URL: A }, null)).toBeUndefined();
});

test("the environment names a remote one", async () => {
  expect(configuredEndpoints({ SVC_ACCOUNTS_URL: A }, null)).toEqual({ accounts: A, api: A, packages: undefined });
  const three = {
    SVC_ACCOUNTS_URL: A,
    SVC_API_URL: "https://api.example",
    SVC_PACKAGES_URL: "https://packages.example",
  };
  expect(configuredEndpoints(three, null)).toEqual({
    accounts: A,
    api: "https://api.example",
    packages: "https://packages.example",
  });
  expect(await failure(() => configuredEndpoints({ SVC_API_URL: A }, null))).toBeInstanceOf(ValueError);
});

test("a build made for one authority uses no other", async () => {
  expect(configuredEndpoints({}, A)).toEqual({ accounts: A, api: A, packages: A });
  const error = await failure(() => configuredEndpoints({ SVC_API_URL: "https://evil.example" }, A));
  expect(error).toBeInstanceOf(PermissionError);
  expect(error.message).toBe("this build trusts only https://accounts.example: unset SVC_API_URL");
});

test("loopback is this machine and no name that merely looks like it", () => {
  for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1"]) expect(isLoopback(host)).toBe(true);
  for (const host of ["127.0.0.1.example.com", "localhost.example", "0.0.0.0", "[::]", "10.0.0.1", "128.0.0.1"]) {
    expect(isLoopback(host)).toBe(false);
  }
});
