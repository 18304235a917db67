/** Lists of administrators' pages: every row once, whatever it is called, and the audit log as a file. */
import { describe, expect, test } from "bun:test";
import { distance, isolated } from "../../../../src/pages/text.ts";
import type { Browser } from "../client.ts";
import { addDevice, idOf, organisation, signedIn } from "../organisation.ts";

/** The first cells of the rows of each page, from one to the next by its link. */
async function walk(browser: Browser, url: string, link: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let address: string | undefined = url; address !== undefined; ) {
    const response = await browser.get(address);
    const html = await response.text();
    expect(response.status).toBe(200);
    pages.push([...html.matchAll(/<th scope="row"[^>]*>([\s\S]*?)<\/th>/g)].map(([, cell = ""]) => cell));
    const [, next] = new RegExp(`<a href="([^"]+)">${link}</a>`).exec(html) ?? [];
    address = next === undefined ? undefined : new URL(next.replaceAll("&amp;", "&"), url).href;
  }
  return pages;
}

const sizes = (pages: string[][]) => pages.map(({ length }) => length);

describe("devices", () => {
  test("stand on pages of fifty, each once, the last registered first; 2,000 are forty pages", async () => {
    const { ledger, ...one } = await organisation();
    ledger.transaction(() => {
      for (let n = 1; n <= 2000; n++) addDevice(ledger, n, { name: `runner ${n}` }, 1e12 + Math.floor(n / 3));
    });
    const pages = await walk(await signedIn({ ...one }), `${one.url}/admin/devices`, "Next page");
    expect(sizes(pages)).toEqual(Array<number>(40).fill(50));
    const names = pages.flat().map((cell) => /runner \d+/.exec(cell)?.[0]);
    expect(new Set(names).size).toBe(2000);
    expect(names.slice(0, 2)).toEqual(["runner 2000", "runner 1999"]);
    // Back from the last page, by the other link: the same pages, whatever was registered meanwhile.
    addDevice(ledger, 2001, { name: "runner 2001" }, 2e12);
    const last = `${one.url}/admin/devices?after=${idOf(51)}`;
    const back = await walk(await signedIn({ ...one }), last, "Previous page");
    expect(back.slice(0, 40).reverse()).toEqual(pages);
    expect(sizes(back.slice(40))).toEqual([1]);
  });

  test("are found by name, account, platform, tag, id and key, and by their state; the search goes on over pages", async () => {
    const { ledger, ...one } = await organisation();
    for (let n = 1; n <= 120; n++) addDevice(ledger, n, { name: `Runner 100%_${n}`, tags: n % 2 ? ["odd&even"] : [] });
    addDevice(ledger, 500, {
      enrolledBy: "0123456789ab",
      name: "",
      account: "ada@example.org",
      platform: "macos-arm64",
    });
    ledger.devices.revoke(idOf(7), "Ada", 1);
    ledger.devices.revoke(idOf(9), "Ada", 1);
    const ada = await signedIn({ ...one });
    const found = async (query: string) => sizes(await walk(ada, `${one.url}/admin/devices?${query}`, "Next page"));
    expect(await found("search=odd%26even")).toEqual([50, 10]);
    expect(await found("search=odd%26even&revoked=no")).toEqual([50, 8]);
    expect(await found("revoked=yes")).toEqual([2]);
    expect(await found("search=ADA%40example")).toEqual([1]);
    expect(await found("search=macos")).toEqual([1]);
    expect(await found("search=0123456789AB")).toEqual([1]);
    expect(await found(`search=${idOf(500)}`)).toEqual([1]);
    expect(await found("search=100%25_12")).toEqual([2]);
    for (const none of ["search=%25%25", "search=%27%20OR%201", "search=x%00y", `after=${"f".repeat(32)}`]) {
      expect([none, await found(none)]).toEqual([none, [0]]);
    }
    expect(await found("after=x&revoked=perhaps")).toEqual([50, 50, 21]);
  });

  test("of any name are shown as text, and what is not seen as its number", async () => {
    const { ledger, ...one } = await organisation();
    const names = ["<script>alert(1)</script>", '" onload="x', "a\u202eb", "x\u0000\u001b[2Jy", "👩\u200d💻", "עברית"];
    for (const [n, name] of names.entries()) addDevice(ledger, n + 1, { name, account: name, tags: [name] });
    const ada = await signedIn({ ...one });
    for (const path of [
      "",
      ...names.map((_, n) => `/${idOf(n + 1)}`),
      ...names.map((_, n) => `/${idOf(n + 1)}/revoke`),
    ]) {
      const html = await (await ada.get(`${one.url}/admin/devices${path}`)).text();
      // What may be edited stands in its field as it is.
      const shown = html.replace(/<(?:input|select)[^>]*>/g, "");
      expect(shown).not.toMatch(/<script|\p{Cf}|(?!\n)\p{Cc}/u);
      expect(html.match(/onload="x/g)).toBeNull();
    }
    expect(isolated("a\u202eb\u0007<i>")).toBe("<bdi>a[U+202E]b[U+0007]&lt;i&gt;</bdi>");
  });
});

describe("the audit log", () => {
  test("is newest first, on pages, by event and device, and as lines of JSON of what was chosen, oldest first", async () => {
    const { ledger, ...one } = await organisation();
    const started = ledger.audit.list({ limit: 99 }).length;
    for (let n = 0; n < 1200; n++) {
      const event = n % 3 ? "license_issued" : "device_renamed";
      ledger.audit.add({
        at: 1e12 + n * 1000,
        event,
        actor: "Ada",
        device: idOf(n % 2),
        detail: { to: `n\n\u2028${n}` },
      });
    }
    const ada = await signedIn({ ...one });
    expect(sizes(await walk(ada, `${one.url}/admin/audit`, "Older events"))).toEqual([
      ...Array<number>(24).fill(50),
      started + 1,
    ]);
    const back = sizes(await walk(ada, `${one.url}/admin/audit?after=1`, "Newer events"));
    expect(back).toEqual([0]);
    const oldest = sizes(await walk(ada, `${one.url}/admin/audit?before=1`, "Newer events"));
    expect(oldest.slice(0, -1)).toEqual(Array<number>(oldest.length - 1).fill(50));
    const chosen = `event=device_renamed&device=${idOf(0)}`;
    expect(sizes(await walk(ada, `${one.url}/admin/audit?${chosen}`, "Older events"))).toEqual([50, 50, 50, 50]);
    expect(sizes(await walk(ada, `${one.url}/admin/audit?event=nothing`, "Older events"))[0]).toBe(50);
    expect(sizes(await walk(ada, `${one.url}/admin/audit?device=%3Cb%3E`, "Older events"))).toEqual([0]);
    const lines = async (query: string) => {
      const response = await ada.get(`${one.url}/admin/audit/export?${query}`);
      expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
      expect(response.headers.get("content-disposition")).toMatch(
        /^attachment; filename="svc-audit-[\d-]{10}\.jsonl"$/,
      );
      const text = await response.text();
      expect(text).toEndWith("\n");
      return text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    };
    expect(await lines(chosen)).toHaveLength(200);
    const all = await lines("");
    expect(all).toHaveLength(1200 + started + 1);
    expect(all.map(({ id }) => id)).toEqual(all.map((_, n) => n + 1));
    expect(all[started]).toEqual({
      ...{ id: started + 1, at: "2001-09-09T01:46:40.000Z", event: "device_renamed", actor: "Ada", device: idOf(0) },
      detail: { to: "n\n\u20280" },
    });
  });
});

test("enrolment keys stand on pages of fifty, the last made first, forth and back", async () => {
  const { ledger, ...one } = await organisation();
  const key = { label: "", tags: [], account: "a", usesMax: 1, expiresAt: null, by: "Ada" };
  const id = (n: number) => n.toString(16).padStart(12, "0");
  for (let n = 1; n <= 120; n++) ledger.enrollKeys.create({ ...key, id: id(n), secret: `s${n}` }, n);
  const ada = await signedIn({ ...one });
  const pages = await walk(ada, `${one.url}/admin/keys`, "Next page");
  expect(sizes(pages)).toEqual([50, 50, 20]);
  expect(new Set(pages.flat()).size).toBe(120);
  expect((await walk(ada, `${one.url}/admin/keys?after=${id(21)}`, "Previous page")).reverse()).toEqual(pages);
  for (const place of [`before=${id(120)}`, "before=ffffffffffff", "after=ffffffffffff", "before=x"]) {
    expect(sizes(await walk(ada, `${one.url}/admin/keys?${place}`, "Next page"))).toEqual([50, 50, 20]);
  }
});

test("times are said in the largest unit that fits", () => {
  const now = 1_800_000_000_000;
  const day = 86_400_000;
  const said = [0, 59_999, 60_000, 3_599_999, 3_600_000, 2 * 3_600_000, day, 3.9 * day, 31 * day, 800 * day];
  expect(said.map((apart) => distance(now - apart, now))).toEqual([
    ...["less than a minute ago", "less than a minute ago", "a minute ago", "59 minutes ago", "an hour ago"],
    ...["2 hours ago", "a day ago", "3 days ago", "a month ago", "2 years ago"],
  ]);
  expect([10_000, 7 * day - 1, 7 * day, 27.2 * day].map((apart) => distance(now + apart, now))).toEqual([
    ...["in less than a minute", "in 7 days", "in 7 days", "in 27 days"],
  ]);
});
