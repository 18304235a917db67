/** The ledger against a simple model of keys and devices over random steps, and against content of any kind. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Registration } from "../../../src/trust/authority/ledger/devices.ts";
import { Ledger } from "../../../src/trust/authority/ledger/ledger.ts";
import { random } from "../../random.ts";
import { newHome } from "../account/helpers.ts";

interface ModelKey {
  usesMax: number | null;
  uses: number;
  expiresAt: number | null;
  revoked: boolean;
}
interface ModelDevice {
  key: number;
  account: string;
  name: string;
  enrolledBy: string | null;
  revoked: boolean;
  ends: number | null;
}
interface Model {
  keys: Map<string, ModelKey>;
  devices: Map<string, ModelDevice>;
  /** Which device the token of each number is bound to. */
  tokens: Map<number, { key: number | null; device: string | null; ends: number }>;
}

/** What the ledger has to do, said another way: in maps that are scanned. */
function registered(model: Model, id: string, key: number, account: string, by: string | null): Registration {
  const known = model.devices.get(id);
  if (known && known.key !== key) return "conflict";
  if ([...model.devices.values()].some((device) => device.key === key && device.revoked)) return "revoked";
  if (known) Object.assign(known, { account, enrolledBy: by ?? known.enrolledBy });
  else model.devices.set(id, { key, account, name: "", enrolledBy: by, revoked: false, ends: null });
  return known ? "known" : "new";
}

function keyState(key: ModelKey | undefined, now: number): string {
  if (!key) return "unknown";
  if (key.revoked) return "revoked";
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  return key.usesMax !== null && key.uses >= key.usesMax ? "used" : "ok";
}

class Abort extends Error {}

/** One life of a ledger: every answer and, at the end, every row is what the model has. */
function live(seed: number, steps: number): void {
  const next = random(seed);
  const pick = (bound: number) => Math.floor(next() * bound);
  const home = newHome();
  const path = join(home, "ledger.sqlite");
  let ledger = new Ledger(path, home);
  let model: Model = { keys: new Map(), devices: new Map(), tokens: new Map() };
  let now = 1000;
  const deviceId = () => `d${pick(12)}`;
  const secret = () => `s${pick(8)}`;

  /** Adds a device to both; an enrolment where `by` is a key. */
  const register = (id: string, key: number, by: string | null): Registration => {
    const account = `a${pick(3)}`;
    const row = {
      deviceId: id,
      thumbprint: `t${key}`,
      publicKey: "p",
      platform: "linux-x86_64",
      hostHash: "h",
      account,
    };
    const answer = ledger.devices.register({ ...row, ...(by !== null && { enrolledBy: by }) }, now);
    expect(answer).toBe(registered(model, id, key, account, by));
    return answer;
  };
  const enroll = () => {
    const [key, id, device] = [secret(), deviceId(), pick(10)];
    const used = ledger.enrollKeys.use(key, now);
    const known = model.keys.get(key);
    expect<string>(used.kind).toBe(keyState(known, now));
    if (used.kind !== "ok") throw new Abort();
    known!.uses++;
    const answer = register(id, device, key);
    if (answer === "conflict" || answer === "revoked") throw new Abort();
    ledger.devices.addLicense(crypto.randomUUID(), id, "team", now, now + 50);
    model.devices.get(id)!.ends = now + 50;
    ledger.audit.add({ at: now, event: "device_enrolled", actor: key, device: id });
  };
  const change = (method: "revoke" | "allow" | "rename") => {
    const id = deviceId();
    const device = model.devices.get(id);
    const name = `n${pick(9)}`;
    const isDone = device !== undefined && (method === "rename" || device.revoked === (method === "allow"));
    if (device && isDone && method === "rename") device.name = name;
    else if (device && isDone) device.revoked = method === "revoke";
    const { devices } = ledger;
    const done =
      method === "rename"
        ? devices.rename(id, name)
        : method === "allow"
          ? devices.allow(id, now)
          : devices.revoke(id, "eve", now);
    expect([method, done]).toEqual([method, isDone]);
  };
  const bind = () => {
    const [number, id, key] = [pick(10), deviceId(), pick(3) ? pick(10) : null];
    const token = model.tokens.get(number);
    const isDone = !!token && (token.device ?? id) === id && (token.key === null || token.key === key);
    if (token && isDone) Object.assign(token, { device: id, key });
    expect(ledger.access.bindToken(`svt_${number}`, id, key === null ? null : `t${key}`)).toBe(isDone);
  };
  const addToken = () => {
    const number = pick(10);
    if (model.tokens.has(number)) return;
    const key = pick(2) ? pick(10) : null;
    model.tokens.set(number, { key, device: null, ends: now + 90 });
    ledger.access.addToken(
      `svt_${number}`,
      { account: "ada", ...(key !== null && { thumbprint: `t${key}` }) },
      now + 90,
    );
  };
  const addKey = () => {
    const key = secret();
    if (model.keys.has(key)) return;
    const usesMax = pick(3) ? 1 + pick(3) : null;
    const expiresAt = pick(3) ? now + pick(60) : null;
    model.keys.set(key, { usesMax, uses: 0, expiresAt, revoked: false });
    ledger.enrollKeys.create(
      { id: key, secret: key, label: "", tags: [], account: "ci", usesMax, expiresAt, by: "eve" },
      now,
    );
  };
  const revokeKey = () => {
    const key = secret();
    const known = model.keys.get(key);
    const isDone = known !== undefined && !known.revoked;
    if (known) known.revoked = true;
    expect(ledger.enrollKeys.revoke(key, "eve", now)).toBe(isDone);
  };
  const reopen = () => {
    ledger.close();
    ledger = new Ledger(path, home);
  };
  /** Some steps as one, which may be given up halfway: then nothing of them is there. */
  const together = () => {
    const before = structuredClone(model);
    try {
      ledger.transaction(() => {
        for (let n = pick(4); n >= 0; n--) inner[pick(inner.length)]!();
        if (pick(3) === 0) throw new Abort();
      });
    } catch (error) {
      if (!(error instanceof Abort)) throw error;
      model = before;
    }
  };
  const alone = (step: () => void) => () => {
    const before = structuredClone(model);
    try {
      ledger.transaction(step);
    } catch (error) {
      if (!(error instanceof Abort)) throw error;
      model = before;
    }
  };
  const inner = [
    alone(enroll),
    alone(enroll),
    () => void register(deviceId(), pick(10), null),
    () => change("revoke"),
    () => change("allow"),
    () => change("rename"),
    bind,
    addToken,
    addKey,
    revokeKey,
  ];
  for (let step = 0; step < steps; step++) {
    now += pick(3);
    if (pick(60) === 0) reopen();
    else if (pick(5) === 0) together();
    else inner[pick(inner.length)]!();
    lookAt(pick(10));
  }
  reopen();
  for (const [key, { uses, revoked }] of model.keys) {
    const entry = ledger.enrollKeys.get(key);
    expect([key, entry?.uses, entry?.revokedAt !== null]).toEqual([key, uses, revoked]);
    // A key is used as often as the audit log has devices that it let in.
    expect(ledger.audit.list({ limit: 1e6 }).filter(({ actor }) => actor === key)).toHaveLength(uses);
  }
  const rows = ledger.devices.list({ limit: 1e6 });
  expect(
    Object.fromEntries(
      rows.map(({ deviceId: id, thumbprint, account, name, enrolledBy, revokedAt, licenseEnds }) => [
        id,
        { key: Number(thumbprint.slice(1)), account, name, enrolledBy, revoked: revokedAt !== null, ends: licenseEnds },
      ]),
    ),
  ).toEqual(Object.fromEntries(model.devices));
  const revoked = rows.filter(({ revokedAt }) => revokedAt !== null);
  expect(ledger.devices.count()).toEqual({ all: rows.length, revoked: revoked.length });
  for (const number of model.tokens.keys()) lookAt(number);
  ledger.close();

  /** A token is whose the model says, and revoked with its device or its key. */
  function lookAt(number: number): void {
    const { key, device, ends } = model.tokens.get(number) ?? { key: null, device: null, ends: 0 };
    const revoked = [...model.devices].filter(([, row]) => row.revoked);
    const isRevoked = revoked.some(([id, row]) => id === device || row.key === key);
    const owner = ledger.access.tokenOwner(`svt_${number}`, now);
    const thumbprint = key === null ? null : `t${key}`;
    expect(owner).toEqual(
      ends > now ? { account: "ada", thumbprint, deviceId: device, revoked: isRevoked } : undefined,
    );
  }
}

describe("keys and devices", () => {
  const seeds = Number(process.env.LEDGER_SEEDS ?? 6);
  for (let seed = 1; seed <= seeds; seed++) test(`are what a model of them is (seed ${seed})`, () => live(seed, 250));
});

/** Whatever may stand in a text: quotes of SQL, wildcards, NUL, line ends, marks of direction, emoji, and much of it. */
const PIECES = [
  "'",
  '"',
  "`",
  ";--",
  "%",
  "_",
  "\\",
  "\0",
  "\n",
  "\r",
  "\u202e",
  "\u2028",
  "é",
  "é",
  "🦀",
  "ſ",
  "x".repeat(5000),
];

test("texts of any kind are what they were, and are found", () => {
  const next = random(7);
  const text = () => Array.from({ length: 1 + next() * 6 }, () => PIECES[Math.floor(next() * PIECES.length)]).join("");
  const home = newHome();
  const ledger = new Ledger(join(home, "ledger.sqlite"), home);
  for (let n = 0; n < 200; n++) {
    const [name, account, tags, platform] = [text(), text(), [text(), text()], text()];
    const device = { deviceId: `${n}`, thumbprint: `t${n}`, publicKey: text(), platform, hostHash: text(), account };
    ledger.devices.register({ ...device, name, tags, enrolledBy: text() }, n);
    expect(ledger.devices.get(`${n}`)).toMatchObject({ ...device, name, tags });
    expect(ledger.devices.list({ search: account, limit: 1000 }).map((row) => row.deviceId)).toContain(`${n}`);
    ledger.devices.revoke(`${n}`, name, n);
    expect(ledger.devices.get(`${n}`)?.revokedBy).toBe(name);
    const detail = { [text()]: text(), lone: "\ud800", __proto__x: n, nothing: null };
    ledger.audit.add({ at: n, event: "device_renamed", actor: name, device: account, address: text(), detail });
    expect(ledger.audit.list({ limit: 1, device: account })[0]).toMatchObject({ actor: name, device: account, detail });
    const key = {
      id: `${n}${text()}`,
      secret: text() + n,
      label: name,
      tags,
      account,
      usesMax: null,
      expiresAt: null,
      by: name,
    };
    ledger.enrollKeys.create(key, n);
    const { id, label, by: createdBy } = key;
    expect(ledger.enrollKeys.use(key.secret, n)).toMatchObject({
      kind: "ok",
      key: { id, label, tags, account, createdBy },
    });
    expect(ledger.admins.add(`${n}${name}`, key.secret, n)).toBe(true);
    expect(ledger.admins.find(key.secret)).toBe(`${n}${name}`);
  }
  const last = [...ledger.audit.each()];
  expect(last).toEqual(ledger.audit.list({ limit: 1000 }).reverse());
});
