/** A web page of another site attacks, in the browser of the person who is about to approve a login. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { authorityIn, newHome } from "../../account/helpers.ts";
import { newCode, poll } from "../client.ts";
import { CHROMIUM, NEED, Person, startChromium } from "./chromium.ts";
import { waitingLogin } from "./login.ts";

let browser: Browser;
let attacker: ReturnType<typeof Bun.serve>;
/** What the attacker's server answers with. */
let html = "";
/** Two names of it: another site than 127.0.0.1, and the same site at another port, which is another origin. */
let sites: string[] = [];
beforeAll(async () => {
  if (!CHROMIUM) return;
  const headers = { "content-type": "text/html" };
  attacker = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(html, { headers }) });
  sites = ["localhost", "127.0.0.1"].map((host) => `http://${host}:${attacker.port}/`);
  browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await attacker?.stop(true);
});

/** A page that sends `count` requests to an authority, of the first `most` kinds, then has "done" as its title. */
function attackOn(url: string, count: number, most: number): string {
  return `<!doctype html><title>attack</title><body><script>
  const target = ${JSON.stringify(url)}, code = () => Array.from({ length: 8 }, () => "BCDFG"[Math.random() * 5 | 0]).join("");
  const form = (fields) => ({ method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams(fields) });
  const element = (kind, src) => new Promise((resolve) => {
    const made = document.createElement(kind);
    made.onload = made.onerror = () => { made.remove(); resolve(); };
    made.src = src;
    document.body.append(made);
  });
  const kinds = [
    () => fetch(target + "/oauth/device/code", form({ client_id: "svc" })),
    () => fetch(target + "/device?user_code=" + code(), { mode: "no-cors", credentials: "include" }),
    () => fetch(target + "/device", form({ user_code: code(), csrf: code(), decision: "deny" })),
    () => element("img", target + "/device?user_code=" + code()),
    () => element("script", target + "/device?user_code=" + code()),
  ];
  (async () => {
    let sent = 0;
    for (let frame = 0; frame < 5; frame++, sent++) await element("iframe", target + "/device?user_code=" + code());
    while (sent < ${count}) {
      const turn = Array.from({ length: Math.min(50, ${count} - sent) }, () => kinds[sent++ % ${most}]().catch(() => {}));
      await Promise.all(turn);
    }
    document.title = "done " + sent;
  })();
  </script>`;
}

/** Has the person look at the attacker's page until it has sent all. */
async function attacked(person: Person, site: string, url: string, count: number, most = 5): Promise<void> {
  html = attackOn(url, count, most);
  await person.page.goto(site);
  await person.page.waitForFunction(`document.title === "done ${count}"`, undefined, { timeout: 30_000 });
}

describe.skipIf(!CHROMIUM)(`a page of another site, in a real browser (${NEED})`, () => {
  test("sends 1,000 requests to a login: the person approves it at once all the same", async () => {
    using login = await waitingLogin();
    await using person = await Person.at(browser);
    await attacked(person, sites[0]!, new URL(login.link).origin, 1000);
    await person.page.goto(login.link);
    await person.page.getByRole("button", { name: "Approve" }).click();
    await person.reads("Device approved");
    expect(await login.screen.ended).toBe(0);
  });

  test("sends hundreds to an organisation's: nothing is counted, no code is stored, and no other login waits", async () => {
    const { url } = await authorityIn(newHome());
    const code = await newCode(url);
    await using person = await Person.at(browser);
    for (const site of sites) await attacked(person, site, url, 210, 2);
    await person.page.goto(code.verification_uri_complete);
    await person.page.getByRole("button", { name: "Approve" }).click();
    await person.reads("Device approved");
    expect(await poll(url, code.device_code)).toMatchObject({ token_type: "Bearer" });
    // The first miss that counts: the twentieth before would have been answered 429.
    expect((await person.page.goto(`${url}/device?user_code=BBBB-BBBB`))?.status()).toBe(404);
    for (let n = 0; n < 99; n++) expect((await newCode(url)).user_code).toBeDefined();
  });

  test("decides nothing with a form, and sees nothing in a frame", async () => {
    const { url } = await authorityIn(newHome());
    const code = await newCode(url);
    await using person = await Person.at(browser);
    await person.page.goto(code.verification_uri_complete);
    const csrf = await person.page.locator("[name=csrf]").getAttribute("value");
    for (const site of sites) {
      // Even with the token of the person's own form, and with their cookie where the site is "the same".
      html = `<title>form</title><form method=post action="${url}/device"><input name=user_code value="${code.user_code}">
        <input name=csrf value="${csrf}"><button name=decision value=approve>Win a prize</button></form>`;
      await person.page.goto(site);
      await person.page.getByRole("button").click();
      expect(await person.reads("Error: not possible")).toContain("did not come from this site");
      html = `<title>frame</title><iframe src="${code.verification_uri_complete}" onload="document.title = 'framed'"></iframe>`;
      await person.page.goto(site);
      await person.page.waitForFunction("document.title === 'framed'");
      expect(await person.page.frames()[1]?.locator("body").innerText()).not.toContain(code.user_code);
    }
    expect(await poll(url, code.device_code)).toEqual({ error: "authorization_pending" });
  });

  test("links to a code, which is filled in: the person goes on and approves it", async () => {
    using login = await waitingLogin();
    await using person = await Person.at(browser);
    html = `<title>mail</title><a href="${login.link}">the address from your terminal</a>`;
    await person.page.goto(sites[0]!);
    await person.page.getByRole("link").click();
    await person.reads("Connect a device");
    expect(await person.page.getByLabel("Code shown in your terminal").inputValue()).toBe(login.code);
    await person.page.keyboard.press("Enter");
    await person.reads("Approve this device?");
    await person.page.getByRole("button", { name: "Approve" }).click();
    await person.reads("Device approved");
    expect(await login.screen.ended).toBe(0);
  });
});
