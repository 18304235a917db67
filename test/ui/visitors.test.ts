/** Who gets a page of `svc ui`, tried with requests as browsers and attackers send them. */
import { beforeAll, describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { userOf } from "../../src/ui/server/peer.ts";
import { Session as UiSession } from "../../src/ui/server/session.ts";
import { type Home, signedIn, svc } from "../e2e/home.ts";
import { RunningUi } from "./running.ts";

let home: Home;
beforeAll(async () => {
  home = await signedIn();
  await svc(home, ["mem", "add", "notes", "a secret of the owner"]);
});

/** The status of an answer, and whether it tells anything of the memory. */
async function asked(
  ui: RunningUi,
  headers: Record<string, string>,
  { path = "/", method = "GET" }: { path?: string; method?: string } = {},
): Promise<{ status: number; tells: boolean }> {
  const response = await fetch(ui.origin + path, { method, headers, redirect: "manual" });
  const text = await response.text();
  return { status: response.status, tells: /\bnotes\b|of the owner/.test(text) };
}

const REFUSED = { tells: false };

describe("a request", () => {
  test("with the session's cookie is answered, without it or with another one it is not", async () => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    expect(await asked(ui, { cookie })).toEqual({ status: 200, tells: true });
    const forged = `${cookie.slice(0, -1)}${cookie.endsWith("A") ? "B" : "A"}`;
    for (const headers of [{}, { cookie: forged }, { cookie: "svc_ui=" }, { cookie: `x${cookie}` }] as const)
      expect(await asked(ui, headers as Record<string, string>)).toEqual({ status: 403, ...REFUSED });
  });

  test("of a browser that opened another svc ui meanwhile is answered: cookies are for all ports", async () => {
    const [first, second] = [await RunningUi.start(home), await RunningUi.start(home)];
    const cookie = await second.enter(await first.enter());
    for (const ui of [first, second]) expect(await asked(ui, { cookie })).toEqual({ status: 200, tells: true });
    expect(await asked(first, { cookie: `svc_ui=${cookie.split(".")[1]}` })).toEqual({ status: 403, ...REFUSED });
  });

  test("carries the secrets of the last eight svc ui, and nothing else that stands in the cookie", () => {
    const sessions = Array.from({ length: 10 }, () => new UiSession());
    const withCookie = (cookie: string) => new Request("http://127.0.0.1/", { headers: { cookie } });
    let cookie = `svc_ui=${"x".repeat(5000)}.short.`;
    for (const one of sessions) {
      const key = new URLSearchParams(one.entryPath.split("?")[1]).get("key")!;
      cookie = one.enter(key, withCookie(cookie))!["set-cookie"].split(";")[0]!;
    }
    expect(sessions.map((one) => one.has(withCookie(`other=1; ${cookie}`)))).toEqual([
      false,
      false,
      ...Array(8).fill(true),
    ]);
    expect(cookie).toHaveLength("svc_ui=".length + 8 * 44 - 1);
  });

  test("from another site, another port or a frame is refused", async () => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    for (const site of ["cross-site", "same-site"])
      expect(await asked(ui, { cookie, "sec-fetch-site": site })).toEqual({ status: 403, ...REFUSED });
    expect(await asked(ui, { cookie, "sec-fetch-site": "same-origin" })).toEqual({ status: 200, tells: true });
  });

  test("to another name of loopback is refused: an attacker's DNS server resolves it", async () => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    for (const host of ["attacker.example", `localhost:${ui.port}`, "127.0.0.1", `127.0.0.1:${ui.port}.`, ""])
      expect(await asked(ui, { cookie, host })).toEqual({ status: 421, ...REFUSED });
  });

  test("with a form needs the origin of this site", async () => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    const form = { path: "/open?page=1", method: "POST" };
    for (const origin of [undefined, "null", "http://attacker.example", `http://127.0.0.1:${ui.port + 1}`]) {
      const headers: Record<string, string> = origin === undefined ? { cookie } : { cookie, origin };
      expect(await asked(ui, headers, form)).toEqual({ status: 403, ...REFUSED });
    }
    expect((await asked(ui, { cookie, origin: ui.origin }, form)).status).toBe(204);
  });

  test.each(["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])("with %s is refused", async (method) => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    expect(await asked(ui, { cookie, origin: ui.origin }, { method })).toEqual({ status: 405, ...REFUSED });
  });

  test.each([
    ["a path above the root", "/../../etc/passwd"],
    ["half an escape", "/c/%"],
    ["NUL", "/c/%00"],
    ["an overlong dot", "/c/%c0%ae"],
    ["an unknown name", "/nothing"],
    ["a long path", `/${"a".repeat(8000)}`],
  ])("for %s gets a page that says so", async (_, path) => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    expect([400, 404]).toContain((await asked(ui, { cookie }, { path })).status);
    expect((await asked(ui, { cookie })).status).toBe(200);
  });
});

describe("the address", () => {
  test("works once; the browser that used it may come back with it, and no other", async () => {
    const ui = await RunningUi.start(home);
    const cookie = await ui.enter();
    const again = (headers: Record<string, string>) => fetch(ui.address, { headers, redirect: "manual" });
    expect((await again({ cookie })).status).toBe(303);
    const replayed = await again({});
    expect(replayed.status).toBe(403);
    expect(replayed.headers.get("set-cookie")).toBeNull();
    expect(await replayed.text()).toContain("used already");
  });

  test("is not used up by wrong guesses", async () => {
    const ui = await RunningUi.start(home);
    for (const key of ["", "x", "A".repeat(43), "A".repeat(7000)])
      expect((await fetch(`${ui.origin}/enter?key=${key}`, { redirect: "manual" })).status).toBe(403);
    expect(await ui.enter()).toStartWith("svc_ui=");
  });

  const asNobody = process.platform === "linux" && process.getuid?.() === 0 && Bun.which("setpriv") !== null;
  test.skipIf(!asNobody)("is refused to another user of this machine (needs root and setpriv)", async () => {
    const ui = await RunningUi.start(home);
    const ask = (url: string, cookie: string) =>
      `const answer = await fetch(${JSON.stringify(url)}, { redirect: "manual", headers: { cookie: ${JSON.stringify(cookie)} } });
       console.log(answer.status, answer.headers.get("set-cookie"));`;
    const asOther = async (script: string) => {
      const words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", Bun.which("node")!];
      const child = Bun.spawn([...words, "--input-type=module", "-e", script], { cwd: "/", stdout: "pipe" });
      return (await new Response(child.stdout).text()).trim();
    };
    expect(await asOther(ask(ui.address, ""))).toBe("403 null");
    const cookie = await ui.enter();
    expect(await asOther(ask(`${ui.origin}/`, cookie))).toBe("403 null");
    expect((await asked(ui, { cookie })).status).toBe(200);
  });
});

describe("the table of sockets", () => {
  test.skipIf(process.platform !== "linux")("has this process's user at the other end (Linux)", async () => {
    const seen = Promise.withResolvers<number | undefined>();
    const server = createServer((socket) => {
      seen.resolve(userOf(socket.remotePort!, socket.localPort!));
      socket.end();
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const client = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    expect(await seen.promise).toBe(process.getuid?.());
    client.end();
    server.close();
  });

  test("that is missing, or without the connection, tells nothing", () => {
    expect(userOf(1, 2, "/nothing/tcp")).toBeUndefined();
    expect(userOf(1, 2, import.meta.path)).toBeUndefined();
  });
});
