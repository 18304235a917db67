/** A renewal by this machine's local authority is made without a network and without a port. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { accountPaths, authorityPaths } from "../../src/paths.ts";
import { SVC, signedIn } from "../e2e/home.ts";
import { goodClaims, signed } from "../trust/account/helpers.ts";
import { recorder } from "./recorder.ts";

const DAY = 86_400;
const record = await recorder();

test.skipIf(!record)("nothing is asked, sent or listened on (needs a Linux that hands over system calls)", async () => {
  const env = await signedIn();
  const { license } = accountPaths(env.SVC_HOME!);
  const pem = readFileSync(authorityPaths(env.SVC_HOME!).licenseKey, "utf8");
  const claims = JSON.parse(Buffer.from(readFileSync(license, "utf8").split(".")[1]!, "base64url").toString());
  for (const age of [70, 100, 5000]) {
    const issued = Math.floor(Date.now() / 1000) - age * DAY;
    const jwt = await signed({ ...goodClaims(claims.cnf.jkt, issued), exp: issued + 90 * DAY }, { alg: "RS256" }, pem);
    writeFileSync(license, `${jwt}\n`);
    const { code, contacts } = await record!([SVC, "mem", "list"], env);
    expect({ age, code, contacts }).toEqual({ age, code: 0, contacts: [] });
    expect(readFileSync(license, "utf8")).not.toBe(`${jwt}\n`);
  }
});
