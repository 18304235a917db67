/** No request leaves the machine but those that the person started: what the kernel sees of the whole product. */
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authorityPaths } from "../../src/paths.ts";
import { age, claimsIn } from "../e2e/aged.ts";
import { emptyHome, SVC, signedIn } from "../e2e/home.ts";
import { testKey } from "../keys.ts";
import { beyond, type Contact, recorder } from "./recorder.ts";

const record = await recorder();
const NEEDS = "(needs a Linux that hands over system calls)";

/** Apart from how often, and by which of its threads. */
const places = (contacts: readonly Contact[]) => [...new Set(contacts.map(({ what, where }) => `${what} ${where}`))];

/** Requests of every kind that a program here could make. */
const PLANTED = `
import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { createSocket } from "node:dgram";
await fetch("http://192.0.2.1/").catch(() => {});
await fetch("http://planted.invalid/").catch(() => {});
await lookup("looked-up.invalid").catch(() => {});
await new Promise((done) => connect(81, "192.0.2.2").on("error", done));
const socket = createSocket("udp4");
await new Promise((done) => socket.send("x", 9, "192.0.2.3", done));
socket.close();
await Bun.connect({ unix: "/nowhere/planted.sock", socket: { data() {} } }).catch(() => {});
await fetch("http://127.0.0.1:9/").catch(() => {});
`;

test.skipIf(!record)(`the recorder sees requests of every kind ${NEEDS}`, async () => {
  const { code, contacts } = await record!([process.execPath, "-e", PLANTED]);
  expect(code).toBe(0);
  const found = places(beyond(contacts, tmpdir()));
  const planted = ["connect 192.0.2.1:80", "connect 192.0.2.2:81", "send 192.0.2.3:9", "connect 127.0.0.1:9"];
  expect(found).toEqual(expect.arrayContaining([...planted, "connect unix:/nowhere/planted.sock"]));
  // Where the system has a service that resolves names, it is that which is asked.
  const asked = found.filter((place) => /^ask (?:planted|looked-up)\.invalid$|^connect unix:.*resolve/.test(place));
  expect(asked.length).toBeGreaterThan(0);
});

test.skipIf(!record)(`a login to an authority asks for that one name, and for no other ${NEEDS}`, async () => {
  const { publicPem: SVC_LICENSE_PUBKEY } = testKey("license");
  const env = { ...emptyHome(), SVC_ACCOUNTS_URL: "https://authority.invalid", SVC_LICENSE_PUBKEY };
  const { code, out, contacts } = await record!([SVC, "login", "--no-browser"], env);
  expect(code).toBe(1);
  expect(out).toContain("cannot reach the accounts server at https://authority.invalid");
  expect(contacts.length).toBeGreaterThan(0);
  const names = contacts.filter(({ what }) => what === "ask").map(({ where }) => where);
  expect(names.filter((name) => name !== "authority.invalid")).toEqual([]);
});

test.skipIf(!record)(`what needs no server opens no connection, not even to this machine ${NEEDS}`, async () => {
  const env = await signedIn();
  for (const words of [
    ["mem", "add", "notes", "a note"],
    ["mem", "search", "notes", "note"],
    ["runtime", "verify", "--json"],
    ["runtime", "install"],
    ["logout"],
  ]) {
    const { code, contacts } = await record!([SVC, ...words], env);
    expect({ words, code, contacts }).toEqual({ words, code: 0, contacts: [] });
  }
});

test.skipIf(!record)(`a licence that is due is renewed here, or not at all without consent ${NEEDS}`, async () => {
  const env = await signedIn();
  const list = async (more: Record<string, string>) => {
    const { exp } = await age(env.SVC_HOME!);
    const { code, contacts } = await record!([SVC, "mem", "list"], { ...env, ...more });
    expect({ code, contacts }).toEqual({ code: 0, contacts: [] });
    return claimsIn(env.SVC_HOME!).exp > exp;
  };
  expect(await list({})).toBe(true);
  // As of an organisation: its key is not this machine's.
  const key = readFileSync(authorityPaths(env.SVC_HOME!).licensePublicKey, "utf8");
  expect(await list({ SVC_ACCOUNTS_URL: "https://authority.invalid", SVC_LICENSE_PUBKEY: key })).toBe(false);
});

test.skipIf(!record)(
  `the whole product, without a network: no name, no address but its own ${NEEDS}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-product-"));
    // The interpreter itself: a wrapper around it may look up who the user is.
    const python = Bun.which("python3");
    const found = python && Bun.spawnSync([python, "-c", "import sys; print(sys.executable)"]).stdout.toString().trim();
    const product = join(import.meta.dir, "product.ts");
    const { code, out, contacts } = await record!([process.execPath, product, found ?? ""], {
      ...process.env,
      TMPDIR: folder,
    });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("the logout") });
    expect(beyond(contacts, folder)).toEqual([]);
    // It was all seen: the three authorities, the servers and the pages of svc ui, and those who asked them.
    const of = (kind: Contact["what"], by: RegExp) => contacts.filter((one) => one.what === kind && by.test(one.by));
    expect(of("listen", /^svc$/).length).toBe(6);
    expect(of("listen", /./).length).toBe(6);
    expect(of("connect", /^HTTP/).length).toBeGreaterThanOrEqual(3);
    if (found) expect(of("connect", /^python/).length).toBe(2);
  },
  60_000,
);
