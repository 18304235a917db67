/** Devices and the audit log over HTTP, for who has an administrator's code, and nothing for anyone else. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { addAdministrator, removeAdministrator } from "../../../src/trust/authority/administrators.ts";
import { authorityIn, newHome } from "../account/helpers.ts";
import { Device, outcome } from "./device.ts";
import { organisation } from "./enrolling.ts";

async function administered(names: readonly string[] = ["one", "two", "three"]) {
  const authority = await organisation();
  const { url, ledger, newKey, clock } = authority;
  const code = addAdministrator(ledger, "eve", "terminal", clock.now);
  const ids: string[] = [];
  for (const name of names) {
    const device = new Device();
    clock.now += 1000;
    expect((await device.enroll(url, newKey({ tags: ["ci"] }).text, { name })).status).toBe(200);
    ids.push(device.id);
  }
  const ask = (
    path: string,
    { body, bearer = code, ...more }: { body?: unknown; bearer?: string; headers?: Record<string, string> } = {},
  ) =>
    fetch(`${url}/v1/admin${path}`, {
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      ...more,
    });
  // biome-ignore lint/suspicious/noExplicitAny: an answer is JSON, and a test reads what it expects of it
  const json = async (path: string, more = {}) => (await (await ask(path, more)).json()) as Record<string, any>;
  return { ...authority, code, ids, ask, json };
}

describe("devices", () => {
  test("are listed in pages, the last registered first, and found by what is known of them", async () => {
    const { ids, json, ledger, clock } = await administered();
    const all = await json("/devices");
    expect(all.devices.map(({ device_id }: { device_id: string }) => device_id)).toEqual([...ids].reverse());
    expect(all).toMatchObject({ next: null, count: { all: 3, revoked: 0 } });
    const entry = ledger.devices.get(ids[2]!)!;
    expect(all.devices[0]).toEqual({
      device_id: ids[2],
      name: "three",
      account: "machines",
      platform: "linux-x86_64",
      tags: ["ci"],
      key_thumbprint: entry.thumbprint,
      enrolled_by: entry.enrolledBy,
      registered_at: new Date(clock.now).toISOString(),
      seen_at: new Date(clock.now).toISOString(),
      licensed_at: expect.stringMatching(/^\d{4}-.*Z$/),
      license_ends: expect.stringMatching(/^\d{4}-.*Z$/),
      revoked_at: null,
      revoked_by: null,
    });
    const first = await json("/devices?limit=2");
    expect([first.devices.length, first.next]).toEqual([2, ids[1]]);
    const second = await json(`/devices?limit=2&after=${first.next}`);
    expect([second.devices[0].device_id, second.devices.length, second.next]).toEqual([ids[0], 1, null]);
    expect((await json("/devices?search=THR")).devices).toHaveLength(1);
    expect((await json("/devices?revoked=true")).devices).toEqual([]);
    expect(await json(`/devices/${ids[0]}`)).toMatchObject({ name: "one" });
  });

  test("are renamed, revoked and allowed in the administrator's name", async () => {
    const { ids, json, ledger } = await administered(["one"]);
    const [id] = ids;
    expect(await json(`/devices/${id}/rename`, { body: { name: "Bo's" } })).toMatchObject({
      name: "Bo's",
      changed: true,
    });
    expect(await json(`/devices/${id}/rename`, { body: { name: "Bo's" } })).toMatchObject({ changed: false });
    expect(await json(`/devices/${id}/revoke`, { body: {} })).toMatchObject({ revoked_by: "eve", changed: true });
    expect(await json(`/devices/${id}/revoke`, { body: {} })).toMatchObject({ revoked_by: "eve", changed: false });
    expect(await json(`/devices/${id}/allow`, { body: {} })).toMatchObject({ revoked_at: null, changed: true });
    const events = ledger.audit.list({ device: id!, limit: 3 });
    expect(events.map(({ event, actor, address }) => [event, actor, address])).toEqual([
      ["device_allowed", "eve", "127.0.0.1"],
      ["device_revoked", "eve", "127.0.0.1"],
      ["device_renamed", "eve", "127.0.0.1"],
    ]);
  });

  test("are changed once another process has unlocked the ledger, and others are answered meanwhile", async () => {
    const { ids, ask, json, ledger } = await administered(["one"]);
    using other = new Database(ledger.path);
    other.run("BEGIN IMMEDIATE");
    const asked = json(`/devices/${ids[0]}/revoke`, { body: {} });
    await Bun.sleep(500); // longer than SQLite itself waits in a server
    expect((await ask("/devices")).status).toBe(200);
    other.run("COMMIT");
    expect(await asked).toMatchObject({ revoked_by: "eve", changed: true });
  });

  test("what is wrong with a request is said, and nothing is changed", async () => {
    const { ids, ask, ledger } = await administered(["one"]);
    const [id] = ids;
    const rename = async (name: unknown) => {
      const response = await ask(`/devices/${id}/rename`, { body: { name } });
      expect(response.status).toBe(400);
      return ((await response.json()) as { error_description: string }).error_description;
    };
    expect(await rename("x".repeat(65))).toMatch(/^device name 'x+' has more than 64 characters$/);
    expect(await rename("")).toMatch(/is empty/);
    expect(await rename("cod\u202egnp.exe")).toMatch(/holds a control or format character$/);
    expect(await rename(7)).toBe("name is missing, or no text");
    expect(ledger.devices.get(id!)?.name).toBe("one");
    const WRONG: [string, string][] = [
      ["/devices?limit=0", "400 invalid_request"],
      ["/devices?limit=1001", "400 invalid_request"],
      ["/devices?limit=1e3", "400 invalid_request"],
      ["/devices?after=x", "400 invalid_request"],
      ["/devices?revoked=perhaps", "400 invalid_request"],
      [`/devices?search=${"x".repeat(201)}`, "400 invalid_request"],
      ["/audit?since=yesterday", "400 invalid_request"],
      [`/devices/${"f".repeat(32)}`, "404 not_found"],
      ["/devices/..%2fx", "404 not_found"],
    ];
    for (const [path, answer] of WRONG) expect([path, await outcome(ask(path))]).toEqual([path, answer]);
    for (const action of ["rename", "revoke", "allow"])
      expect(await outcome(ask(`/devices/${"f".repeat(32)}/${action}`, { body: { name: "x" } }))).toBe("404 not_found");
    expect(await outcome(ask(`/devices/${id}/revoke`))).toBe("405 method_not_allowed");
  });
});

describe("the audit log", () => {
  test("is lines of JSON, oldest first, from a time on, however many there are", async () => {
    const { ask, ledger, clock } = await administered([]);
    const start = clock.now;
    ledger.transaction(() => {
      for (let n = 0; n < 3000; n++)
        ledger.audit.add({ at: start + n * 1000, event: "device_renamed", actor: "eve", detail: { to: `\u2028${n}` } });
    });
    const response = await ask("/audit");
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    const lines = (await response.text()).trimEnd().split("\n");
    expect(lines).toHaveLength(3003);
    expect(JSON.parse(lines[3002]!)).toEqual({
      id: 3003,
      at: new Date(start + 2_999_000).toISOString(),
      event: "device_renamed",
      actor: "eve",
      detail: { to: "\u20282999" },
    });
    const since = new Date(start + 2_990_000).toISOString();
    expect((await (await ask(`/audit?since=${since}`)).text()).trimEnd().split("\n")).toHaveLength(10);
  });
});

describe("without an administrator's code", () => {
  const PATHS = ["/devices", `/devices/${"a".repeat(32)}`, "/audit"];

  test("nothing is answered, whatever the path, and guesses have to wait", async () => {
    const { ask, code, ledger, clock } = await administered([]);
    const wrong = `sva_${"A".repeat(43)}`;
    const removed = addAdministrator(ledger, "mallory", "terminal", clock.now);
    removeAdministrator(ledger, "mallory", "terminal", clock.now);
    for (const path of PATHS)
      for (const bearer of [wrong, removed, "x", code.slice(0, -1)])
        expect([path, (await ask(path, { bearer })).status]).toEqual([path, 401]);
    expect((await ask("/devices", { headers: {} })).status).toBe(401);
    for (let n = 0; n < 20; n++) await ask("/devices", { bearer: wrong });
    const late = await ask("/devices", { bearer: wrong });
    expect(late.status).toBe(429);
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(0);
    // A right one never waits.
    expect((await ask("/devices")).status).toBe(200);
  });

  test("a browser's request is refused before the code is looked at, and the local authority has no such path", async () => {
    const { ask, code } = await administered([]);
    const sent: Record<string, string>[] = [{ origin: "https://example.org" }, { "sec-fetch-site": "same-origin" }];
    for (const headers of sent)
      expect(await outcome(ask("/devices", { headers: { ...headers, authorization: `Bearer ${code}` } }))).toBe(
        "403 access_denied",
      );
    const { url } = await authorityIn(newHome());
    for (const path of PATHS) expect((await fetch(`${url}/v1/admin${path}`)).status).toBe(404);
  });
});
