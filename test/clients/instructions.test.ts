/** The block of svc in files of instructions. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import type { Client, ClientSite, Scope } from "../../src/clients/client.ts";
import { CLIENTS, findClient } from "../../src/clients/clients.ts";
import { planInstructions, planNoInstructions, readInstructions } from "../../src/clients/instructions.ts";
import { freshSites } from "./site.ts";

const WITH = CLIENTS.filter(({ instructions }) => instructions !== undefined);
const codex = findClient("codex");

const fresh = freshSites();
const add = (client: Client, site: ClientSite, scope: Scope = "user") =>
  applyChange(planInstructions(client, scope, site));
const remove = (client: Client, site: ClientSite, scope: Scope = "user") =>
  applyChange(planNoInstructions(client, scope, site));
function put(client: Client, site: ClientSite, content: string): string {
  const file = client.instructions!("user", site).at(-1)!;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const CONTENTS = ["", "\n", "mine", "# Mine\n\n- a\n", "# Mine\r\n\r\n- a\r\n", "\ufeffmine\n", "a\n\n\n"];

describe("a file of instructions", () => {
  test.each(CONTENTS)("%j is restored, right away and after another change", async (content) => {
    const site = fresh();
    const file = put(codex, site, content);
    await add(codex, site);
    const added = readFileSync(file, "utf8");
    expect(added.startsWith(content)).toBe(true);
    expect(added.match(/<!-- svc:(begin|end) -->/g)).toHaveLength(2);
    if (content.includes("\r\n")) expect(added.replaceAll("\r\n", "")).not.toContain("\n");
    expect(planInstructions(codex, "user", site).action).toBe("none");
    await remove(codex, site);
    expect(readFileSync(file, "utf8")).toBe(content);
    expect(readdirSync(dirname(file))).toEqual(["AGENTS.md"]);

    await add(codex, site);
    writeFileSync(file, `${readFileSync(file, "utf8")}after\n`);
    await remove(codex, site);
    const ended = content === "" || content.endsWith("\n") ? content : `${content}\n`;
    expect(readFileSync(file, "utf8")).toBe(`${ended}after\n`);
  });

  test("has the block of an earlier version replaced, and nothing else", async () => {
    const site = fresh();
    const file = put(codex, site, "a\n<!-- svc:begin -->\nold\n<!-- svc:end -->\nb\n");
    expect(readInstructions(codex, "user", site)).toMatchObject({ state: "present", isCurrent: false });
    await add(codex, site);
    expect(readInstructions(codex, "user", site)).toMatchObject({ state: "present", isCurrent: true });
    expect(readFileSync(file, "utf8")).toMatch(/^a\n<!-- svc:begin -->\n[\s\S]+\n<!-- svc:end -->\nb\n$/);
    await remove(codex, site);
    expect(readFileSync(file, "utf8")).toBe("a\nb\n");
  });

  test.each([
    "<!-- svc:begin -->\n",
    "<!-- svc:end -->\n",
    "<!-- svc:end -->\n<!-- svc:begin -->",
    "<!-- svc:begin --><!-- svc:begin --><!-- svc:end -->",
  ])("with marks that are not one pair is left alone: %j", (content) => {
    const site = fresh();
    const file = put(codex, site, content);
    expect(() => planInstructions(codex, "user", site)).toThrow("~/.codex/AGENTS.md cannot be changed: ");
    expect(() => planNoInstructions(codex, "user", site)).toThrow("are not one pair");
    expect(readInstructions(codex, "user", site)).toMatchObject({ state: "unreadable" });
    expect(readFileSync(file, "utf8")).toBe(content);
  });

  test("that the install made goes, with the folders", async () => {
    for (const client of WITH) {
      const site = fresh();
      for (const scope of ["user", "project"] as const) {
        await add(client, site, scope);
        const state = readInstructions(client, scope, site)!;
        expect(state).toMatchObject({ state: "present", isCurrent: true });
        await remove(client, site, scope);
        expect(existsSync(state.file)).toBe(false);
      }
      expect([readdirSync(site.home), readdirSync(site.project)]).toEqual([[".svc"], []]);
    }
  });

  test("is the one that the client reads: an override, or the one that has the block", async () => {
    const site = fresh();
    const file = put(codex, site, "mine\n");
    await add(codex, site);
    writeFileSync(file.replace("AGENTS.md", "AGENTS.override.md"), "other\n");
    expect(readInstructions(codex, "user", site)?.file).toBe(file);
    await remove(codex, site);
    expect(readFileSync(file, "utf8")).toBe("mine\n");
    expect(planInstructions(codex, "user", site).file).toEndWith("AGENTS.override.md");
  });
});

test("the block has five sentences at most", async () => {
  const site = fresh();
  await add(codex, site);
  const text = readFileSync(codex.instructions!("user", site).at(-1)!, "utf8").replace(/<!--.*?-->/g, "");
  expect(text.match(/\.(\s|$)/g)!.length).toBeLessThanOrEqual(5);
});
