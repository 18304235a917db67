/** `svc authority license`: a licence for a server. */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { verifyLicense } from "../../../src/trust/account/license/license.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { ensureLedgerKey } from "../../../src/trust/authority/organisation/key-ring.ts";
import { LICENSE_KEY_PEM, LICENSE_PUBLIC_PEM, newHome } from "../../trust/account/helpers.ts";
import { FAKE_BUILD, svc } from "../support.ts";

const ID = "1".repeat(32);
const THUMBPRINT = `ed25519:${"A".repeat(43)}`;
let data: string;
let ledger: Ledger;

beforeAll(async () => {
  data = join(newHome(), "data");
  mkdirSync(data, { mode: 0o700 });
  ledger = new Ledger(join(data, "ledger.sqlite"), data);
  const given = { pem: LICENSE_KEY_PEM, name: "k" };
  await ensureLedgerKey(ledger, data, { given, actor: "root", now: Date.now() });
  const record = { publicKey: "p", platform: "linux-x86_64", hostHash: "h", account: "ada", name: "build" };
  ledger.devices.register({ ...record, deviceId: ID, thumbprint: THUMBPRINT }, Date.now());
});

const run = (...words: string[]) => svc(["authority", "license", ...words, "--data", data], { preload: [FAKE_BUILD] });
const verified = (jwt: string, deviceThumbprint = THUMBPRINT) =>
  verifyLicense(jwt, { publicKeyPem: LICENSE_PUBLIC_PEM, deviceThumbprint });

test("a licence is printed alone, with its terms, and is in the audit log", async () => {
  const before = Date.now();
  const { code, stdout, stderr } = await run("--device", "build");
  expect(code).toBe(0);
  const license = await verified(stdout.trim());
  expect(license).toMatchObject({ tier: "team", account: "ada", features: ["memory", "mcp", "repo", "serve"] });
  const days = (license.expiresAt - before / 1000) / 86_400;
  expect(Math.round(days)).toBe(365);
  const until = new Date(license.expiresAt * 1000).toISOString();
  expect(stderr).toBe(`for build, of tier team, until ${until.slice(0, 10)}\n`);
  expect(ledger.audit.list({ limit: 1 })).toMatchObject([
    {
      event: "license_issued",
      device: ID,
      actor: expect.stringContaining("terminal"),
      detail: { license: license.id },
    },
  ]);

  const words = [
    "--tier",
    "staff",
    "--feature",
    "serve",
    "--feature",
    "mcp,serve",
    "--days",
    "90",
    "--grace-days",
    "0",
  ];
  const json = JSON.parse((await run("--device", ID, ...words, "--account", "ci", "--json")).stdout);
  const other = await verified(json.license);
  expect(other).toMatchObject({ tier: "staff", account: "ci", features: ["serve", "mcp"], graceDays: 0 });
  expect(json).toEqual({
    ...{ license: other.jwt, id: other.id, device_id: ID, thumbprint: THUMBPRINT },
    ...{ account: "ci", tier: "staff", features: ["serve", "mcp"] },
    expires_at: new Date(other.expiresAt * 1000).toISOString(),
  });

  const unknown = `ed25519:${"B".repeat(43)}`;
  const free = JSON.parse((await run("--thumbprint", unknown, "--json")).stdout);
  expect(free).toMatchObject({ device_id: null, thumbprint: unknown, account: "local" });
  expect((await verified(free.license, unknown)).tier).toBe("team");
});

const refused: [string[], number, string][] = [
  [[], 2, "give one of --device ID|NAME and --thumbprint"],
  [["--device", ID, "--thumbprint", THUMBPRINT], 2, "give one of --device"],
  [["--device", "nobody"], 1, "there is no device 'nobody'"],
  [["--device", "bu"], 1, "there is no device 'bu'"],
  [["--thumbprint", "ed25519:x"], 1, "'ed25519:x' is not a thumbprint"],
  [["--device", ID, "--tier", "Team!"], 2, "--tier: 'Team!' must be"],
  [["--device", ID, "--feature", "mpc"], 2, "--feature: 'mpc' is not a feature; there are memory, mcp, repo, serve"],
  [["--device", ID, "--days", "0"], 2, "--days: '0' must be a whole number of days from 1 to 3650"],
  [["--device", ID, "--days", "1.5"], 2, "--days: '1.5' must be"],
  [["--device", ID, "--days", "9999999999"], 2, "--days: '9999999999' must be"],
  [["--device", ID, "--grace-days", "-1"], 2, "--grace-days"],
  [["--device", ID, "--account", "a\u202eb"], 1, "holds a control or format character"],
];
test.each(refused)("%j is refused, and nothing is issued", async (words, code, message) => {
  const before = ledger.audit.list({ limit: 99 }).length;
  const ended = await run(...words);
  expect(ended.stderr).toContain(message);
  expect(ended.stderr).not.toMatch(/\u202e/);
  expect([ended.code, ended.stdout]).toEqual([code, ""]);
  expect(ledger.audit.list({ limit: 99 })).toHaveLength(before);
});
