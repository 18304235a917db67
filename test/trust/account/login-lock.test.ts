import { expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { authorityPaths } from "../../../src/paths.ts";
import { requireLogin } from "../../../src/trust/account/license/credentials.ts";
import { login } from "../../../src/trust/account/login/login.ts";
import { withLoginLock } from "../../../src/trust/account/login/login-lock.ts";
import { logout } from "../../../src/trust/account/login/logout.ts";
import { authorityIn, facesOf, failure, LOCAL_BUILD, newHome } from "./helpers.ts";

/** Temporary files as a killed run leaves them: of `writeDurable`, and of a file that is made once. */
const LEFT = [
  ".renewal.json.0badcafe.tmp",
  ".token.0badcafe.tmp",
  ".login_license.jwt.01234567.tmp",
  "device_key.pem.0123456789ab.new",
];
const LEFT_AUTHORITY = ["license_key.pem.0123456789ab.new", ".license_key.pub.pem.89abcdef.tmp"];
/** Files that only look like them. */
const OTHERS = [".notes.0badcafe.tmp", "token.new", ".token.0badcafe.tmp.txt", ".token.xyz.tmp", "id.0123456789ab.new"];

async function littered() {
  const home = newHome();
  const authority = await authorityIn(home, { approve: "yes" });
  const { dir } = authorityPaths(home);
  for (const name of [...LEFT, ...OTHERS]) writeFileSync(`${home}/${name}`, "x", { mode: 0o600 });
  for (const name of LEFT_AUTHORITY) writeFileSync(`${dir}/${name}`, "x", { mode: 0o600 });
  const left = () => [...readdirSync(home), ...readdirSync(dir)].filter((name) => /\.(tmp|new|txt)$/.test(name)).sort();
  const enter = () => login({ home, env: {}, endpoints: facesOf(authority.url), build: LOCAL_BUILD });
  return { home, left, enter };
}

test("a login removes the temporary files of killed runs, and no other file", async () => {
  const { left, enter } = await littered();
  expect(left()).toHaveLength(LEFT.length + LEFT_AUTHORITY.length + OTHERS.length);
  await enter();
  expect(left()).toEqual([...OTHERS].sort());
});

test("a logout removes and names them, where there was no login too", async () => {
  const { home, left } = await littered();
  const { login, temporary } = await logout(home);
  expect(login).toEqual([]);
  expect([...temporary].sort()).toEqual([...LEFT, ...LEFT_AUTHORITY].sort());
  expect(left()).toEqual([...OTHERS].sort());
});

test("one holder at a time, and a file of a holder is not removed by the next", async () => {
  const home = newHome();
  const path = `${home}/.token.0badcafe.tmp`;
  const order: string[] = [];
  const first = withLoginLock(home, async () => {
    writeFileSync(path, "x");
    await Bun.sleep(50);
    order.push(`first: ${existsSync(path)}`);
  });
  const second = withLoginLock(home, (removed) => void order.push(`second: ${removed.join()}`));
  await Promise.all([first, second]);
  expect(order).toEqual(["first: true", "second: .token.0badcafe.tmp"]);
});

test("logins at the same time all succeed: none ends the API key that another is about to use", async () => {
  const { home, enter } = await littered();
  const results = await Promise.all(Array.from({ length: 4 }, enter));
  expect(new Set(results.map(({ deviceId }) => deviceId)).size).toBe(1);
  await requireLogin(home, {}, { build: LOCAL_BUILD });
});

test("a login that a logout overtakes while the person is waited for is complete", async () => {
  const { home } = await littered();
  const authority = await authorityIn(newHome(), { approve: "yes" });
  const anchor = { SVC_LICENSE_PUBKEY: authority.licensePublicKeyPem };
  const onCode = async () => void (await logout(home));
  await login({ home, env: anchor, endpoints: facesOf(authority.url), build: LOCAL_BUILD, onCode });
  await requireLogin(home, anchor, { build: LOCAL_BUILD });
});

test("where others can write in SVC_HOME no login begins, and a logout still removes what is there", async () => {
  const { home, left, enter } = await littered();
  await enter();
  chmodSync(home, 0o777);
  expect((await failure(enter)).message).toMatch(/^others can write to SVC_HOME: run chmod go-w /);
  expect((await logout(home)).login).toContain("api_key");
  expect(left()).toEqual([...OTHERS].sort());
});
