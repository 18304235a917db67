/** Pages of other sites attack `svc ui`, in the browser of the person who uses it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { signedIn, svc } from "../../e2e/home.ts";
import { CHROMIUM, NEED, Person, startChromium } from "../../trust/authority/browser/chromium.ts";
import { RunningUi } from "../running.ts";

let browser: Browser;
let attacker: ReturnType<typeof Bun.serve>;
/** What the attacker's server answers with, and the cookies that it got. */
let html = "";
const cookies: string[] = [];
/** Two names of it: another site than 127.0.0.1, and the same site at another port. */
let sites: string[] = [];
beforeAll(async () => {
  if (!CHROMIUM) return;
  attacker = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      cookies.push(request.headers.get("cookie") ?? "");
      return new Response(html, { headers: { "content-type": "text/html" } });
    },
  });
  sites = ["localhost", "127.0.0.1"].map((host) => `http://${host}:${attacker.port}/`);
  browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await attacker?.stop(true);
});

async function opened(): Promise<{ ui: RunningUi; person: Person; home: Record<string, string> }> {
  const home = await signedIn();
  await svc(home, ["mem", "add", "notes", "a secret of the owner"]);
  const ui = await RunningUi.start(home);
  const person = await Person.at(browser);
  await person.page.goto(ui.address);
  await person.reads("Collections");
  return { ui, person, home };
}

describe.skipIf(!CHROMIUM)(`svc ui in a real browser (${NEED})`, () => {
  test("the secret is neither in the address bar nor in the page, and no other host is asked", async () => {
    const { ui, person } = await opened();
    await using _ = person;
    const key = new URL(ui.address).searchParams.get("key")!;
    expect(person.page.url()).toBe(`${ui.origin}/`);
    expect(await person.page.content()).not.toContain(key);
    expect(person.asked.every((address) => address.startsWith(ui.origin))).toBe(true);
    await person.page.goBack();
    expect(person.page.url()).not.toContain(key);
  });

  test("frames, fetches and forms of other pages see and change nothing", async () => {
    const { ui, person, home } = await opened();
    await using _ = person;
    for (const site of sites) {
      html = `<title>x</title><iframe src="${ui.origin}/c/notes"></iframe><script>
        const target = "${ui.origin}";
        const tried = [
          fetch(target + "/c/notes", { credentials: "include" }).then((r) => r.text()).catch(() => "blocked"),
          fetch(target + "/c/notes", { credentials: "include", mode: "no-cors" }).then((r) => r.text()).catch(() => "blocked"),
          fetch(target + "/c/notes/settings/drop", { method: "POST", credentials: "include", mode: "no-cors",
            body: new URLSearchParams({ name: "notes" }) }).then((r) => r.text()).catch(() => "blocked"),
        ];
        Promise.all(tried).then((texts) => { document.body.append(texts.join("|")); document.title = "done"; });
      </script>`;
      await person.page.goto(site);
      await person.page.waitForFunction("document.title === 'done'");
      expect(await person.page.locator("body").innerText()).not.toContain("secret");
      for (const frame of person.page.frames().slice(1))
        expect(
          await frame
            .locator("body")
            .innerText()
            .catch(() => ""),
        ).not.toContain("secret");
      html = `<title>form</title><form method=post action="${ui.origin}/c/notes/settings/drop">
        <input name=name value=notes><button>Win a prize</button></form>`;
      await person.page.goto(site);
      await person.page.getByRole("button").click();
      await person.reads("Error: not possible");
    }
    expect((await svc(home, ["mem", "count", "notes"])).out).toContain("1");
  });

  test("a link of another site leads to a page that tells nothing; a click goes on from there", async () => {
    const { ui, person } = await opened();
    await using _ = person;
    html = `<title>mail</title><a href="${ui.origin}/">your notes</a>`;
    await person.page.goto(sites[0]!);
    await person.page.getByRole("link").click();
    expect(await person.reads("Error: not possible")).not.toContain("notes");
    await person.page.getByRole("link", { name: "Open svc ui" }).click();
    expect(await person.reads("Collections")).toContain("notes");
  });

  test("a cookie that a page at another port gets opens nothing for another user, and none goes to another host", async () => {
    const { person } = await opened();
    await using _ = person;
    cookies.length = 0;
    html = "<title>x</title>";
    await person.page.goto(sites[0]!);
    expect(cookies.join("")).not.toContain("svc_ui");
  });

  test("closing the tab ends the process; a reload and another page do not", async () => {
    const { ui, person } = await opened();
    await person.page.reload();
    await person.reads("Collections");
    await Bun.sleep(300);
    expect((await fetch(ui.origin)).status).toBe(403);
    await person.page.close({ runBeforeUnload: true });
    await person[Symbol.asyncDispose]();
    expect((await ui.ended()).code).toBe(0);
  });
});
