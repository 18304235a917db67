/** The disk of a team's server is full: which error its clients get, what still works, and what survives. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../src/remote/client/client.ts";
import { emptyHome, svc } from "../e2e/home.ts";
import { servers } from "../e2e/served.ts";
import { until } from "../remote/server/raw.ts";
import { SmallDisk } from "../small-disk.ts";
import { SDK_1 } from "./makers.ts";
import { joined, Office } from "./office.ts";

const disk = new SmallDisk("8m");
const start = servers();
const FULL = /^OSError: on the server: .*: free some space and try again/;

const row = (id: string) => ({ collection: "team", texts: [`The kettle ${id} is broken. `.repeat(20)], ids: [id] });
const KETTLE = { collection: "team", query: "which kettle is broken", top_k: 1 };

test.skipIf(!disk.isPossible)("nothing acknowledged is lost, and with room again all works (needs mount)", async () => {
  const office = await Office.open(start, disk.path);
  const invitation = await office.invitation("ada");
  const token = (await office.run("serve", "token", "add", "job")).trim();
  await office.invitation("eve");
  await office.start();
  const entry = await joined(invitation);
  const ada = await SDK_1.open(entry);
  const add = (id: string) => ada.call("svc_add", row(id));
  await using job = await connect(office.address, { token });
  const notes = await job.createCollection("notes", { embedder: "multigram" });
  await notes.addTexts(["first"], { ids: ["first"] });
  await notes.save();
  const stored: string[] = [];
  for (let i = 0; i < 3; i++) {
    expect((await add(`a${i}`)).isError).toBe(false);
    stored.push(`a${i}`);
  }

  let free = disk.fill();
  // A program's changes that are not saved yet: those of a saved collection, and a collection of which nothing is.
  await notes.addTexts(["second"], { ids: ["second"] });
  const fresh = await job.createCollection("fresh", { embedder: "multigram" });
  await fresh.addTexts(["The fresh one."], { ids: ["fresh"] });
  for (const unsaved of [notes, fresh]) {
    const failed = await unsaved.save().catch((error) => error);
    expect(failed).toMatchObject({ type: "OSError", reason: "disk_full" });
    expect(failed.message).toMatch(/^on the server: .*free some space and try again; 1 unsaved change of collection '/);
    expect(failed.message).toEndWith(`'${unsaved.name}' stay in memory until a save succeeds`);
  }
  for (let i = 3; ; i++) {
    const { text, isError } = await add(`a${i}`);
    if (isError) expect(text).toMatch(FULL);
    if (isError) break;
    stored.push(`a${i}`);
  }
  expect((await ada.call("svc_add", { ...row("x"), collection: "other" })).text).toMatch(FULL);
  const upserted = await ada.call("svc_upsert", { ...row("a0"), texts: ["Another text. ".repeat(500)] });
  expect(upserted.text).toMatch(FULL);
  // Searches go on, and find what there was.
  expect((await ada.call("svc_search", KETTLE)).isError).toBe(false);
  const got = JSON.parse((await ada.call("svc_get", { collection: "team", ids: stored })).text).rows;
  expect(got.map(({ text }: { text: string }) => text)).toEqual(stored.map((id) => row(id).texts[0]!));
  expect([...(await notes.ids())]).toEqual(["first", "second"]);
  expect((await notes.searchText("second", { topK: 1 })).ids).toEqual(["second"]);
  // The server saves every second; that it cannot is one line for each collection.
  const lines = () => office.log.split("could not be saved").length - 1;
  await until("the line of both", () => lines() === 2);
  // A restart would lose them, so there is none.
  process.kill(Number((await job.stats()).pid), "SIGUSR2");
  await until("the refusal", () => office.log.includes("no restart: "));
  // What an operator does at that moment is done, or changes nothing.
  const tokens = join(office.memory, ".serve-tokens.json");
  const names = () => JSON.parse(readFileSync(tokens, "utf8")).tokens.map(({ name }: { name: string }) => name);
  const revoked = await svc(office.home, ["serve", "token", "revoke", "eve"]);
  if (revoked.code !== 0) expect(revoked.err).toContain("free some space and try again");
  expect(names()).toEqual(revoked.code === 0 ? ["ada", "job"] : ["ada", "job", "eve"]);

  free();
  expect((await add("later")).isError).toBe(false);
  stored.push("later");
  await notes.addTexts(["third"], { ids: ["third"] });
  await notes.save();
  await fresh.save();
  expect(lines()).toBe(2);
  expect((await job.stats()).lost_saves).toBe(0);
  // A client that comes with room gone again is answered too.
  free = disk.fill();
  const late = await svc({ ...emptyHome(), SVC_ACCESS_TOKEN: token }, [
    "mem",
    "count",
    "team",
    "--remote",
    office.address,
  ]);
  expect([late.code, late.out.trim()]).toEqual([0, String(stored.length)]);
  free();
  await ada.close();
  expect(await office.stop()).toBe(0);

  expect((await office.saved("team")).sort()).toEqual([...stored].sort());
  expect(await office.saved("notes")).toEqual(["first", "second", "third"]);
  expect(await office.saved("fresh")).toEqual(["fresh"]);
  const own = office.audited().filter(({ name, failed }) => name === "ada" && !failed);
  expect(own.flatMap(({ ids = [] }) => ids)).toEqual(stored);
  const records = JSON.parse(readFileSync(tokens, "utf8")).tokens as { id: string; name: string }[];
  const usage = JSON.parse(readFileSync(join(office.memory, ".serve-usage.json"), "utf8")).tokens;
  // The rows, and the collection, which counts as one.
  expect(usage[records.find(({ name }) => name === "ada")!.id].rows).toBe(stored.length + 1);
});
