/** When `svc ui` ends by itself. */
import { expect, test } from "bun:test";
import { Lifetime } from "../../src/ui/server/lifetime.ts";
import { signedIn } from "../e2e/home.ts";
import { RunningUi } from "./running.ts";

test("with the last page, and not with one of two", async () => {
  const life = new Lifetime(20, 60_000);
  let ended = false;
  void life.ended.then(() => {
    ended = true;
  });
  life.opened("a");
  life.opened("b");
  life.left("a");
  life.left("a page that never opened");
  await Bun.sleep(60);
  expect(ended).toBe(false);
  life.left("b");
  expect(await life.ended).toBe("left");
});

test("not with a page that leads to another one", async () => {
  const life = new Lifetime(20, 200);
  life.opened("a");
  life.left("a");
  life.opened("b");
  expect(await life.ended).toBe("idle");
});

test("closing the last tab ends the process with 0, and says so", async () => {
  const ui = await RunningUi.start(await signedIn());
  const headers = { cookie: await ui.enter(), origin: ui.origin };
  for (const what of ["open", "left"]) await fetch(`${ui.origin}/${what}?page=1`, { method: "POST", headers });
  const { code, err } = await ui.ended();
  expect({ code, said: err.includes("the last tab was closed") }).toEqual({ code: 0, said: true });
});
