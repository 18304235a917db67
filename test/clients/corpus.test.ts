/** Nineteen clients, and files of every kind: an install inserts and does nothing else, an uninstall restores each byte. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import type { Client } from "../../src/clients/client.ts";
import { CLIENTS } from "../../src/clients/clients.ts";
import { JSON_NOTATION } from "../../src/clients/edit/json.ts";
import { TOML_NOTATION } from "../../src/clients/edit/toml.ts";
import { planInstall, planUninstall, readEntry } from "../../src/clients/plan.ts";
import { JSON_FILES, TOML_FILES, YAML_FILES } from "./corpus.ts";
import { newSite, put, SERVER } from "./site.ts";

const { site, remove } = newSite();
afterAll(remove);

function filesFor(client: Client): [string, string][] {
  const { notation } = client;
  const files = notation === JSON_NOTATION ? JSON_FILES : notation === TOML_NOTATION ? TOML_FILES : YAML_FILES;
  const key = client.path({}, "svc").join(".");
  return Object.entries(files).map(([name, text]) => [name, text.replaceAll("KEY", key)]);
}

/** Whether a text is another one with runs inserted, by the lines and pieces of the difference. */
function isInsertion(before: string, after: string): boolean {
  let at = 0;
  for (const unit of after) if (before.startsWith(unit, at)) at += unit.length;
  return at === before.length;
}

for (const client of CLIENTS) {
  for (const scope of client.scopes) {
    describe(`${client.id}, ${scope}`, () => {
      for (const [name, text] of filesFor(client)) {
        test(name, async () => {
          const file = put(client, scope, site, text);
          const folder = dirname(file);
          const read = () => readFileSync(file, "utf8");
          expect(readEntry(client, scope, "svc", site)).toEqual({ state: "absent", file });

          const install = planInstall(client, scope, "svc", SERVER, site);
          expect(install).toMatchObject({ action: "add", file });
          expect(read()).toBe(text);
          const { backup } = await applyChange(install);
          const after = read();
          expect(after).toBe(Buffer.from(install.after!).toString());
          expect(isInsertion(text.replace(/ (null|\{\})(?=\n| #)/, ""), after)).toBe(true);
          expect(readFileSync(backup!, "utf8")).toBe(text);
          const present = { state: "present", server: SERVER, isOurs: true, disabled: false } as const;
          expect(readEntry(client, scope, "svc", site)).toEqual({ ...present, file });
          expect(planInstall(client, scope, "svc", SERVER, site).action).toBe("none");

          // Without its note an uninstall removes the entry, and what is left means what was before.
          rmSync(`${site.home}/.svc/clients.json`);
          const bare = planUninstall(client, scope, "svc", site);
          expect(bare.action).toBe("remove");
          rmSync(backup!);
          put(client, scope, site, text);
          await applyChange(planInstall(client, scope, "svc", SERVER, site));

          const moved = { ...SERVER, command: "/usr/bin/svc" };
          await applyChange(planInstall(client, scope, "svc", moved, site));
          expect(readEntry(client, scope, "svc", site)).toEqual({ ...present, server: moved, file });

          await applyChange(planUninstall(client, scope, "svc", site));
          expect(read()).toBe(text);
          expect(planUninstall(client, scope, "svc", site).action).toBe("none");
          for (const left of readdirSync(folder)) if (left.includes("svc-backup")) rmSync(`${folder}/${left}`);
        });
      }

      test("no file", async () => {
        const file = put(client, scope, site, "");
        rmSync(dirname(file), { recursive: true });
        if (dirname(file) === site.project || dirname(file) === site.home) put(client, scope, site, "");
        rmSync(file, { force: true });
        const had = existsSync(dirname(file));
        const install = planInstall(client, scope, "svc", SERVER, site);
        expect(install).toMatchObject({ action: "create", before: undefined });
        expect(await applyChange(install)).toEqual({ backup: undefined });
        expect(readEntry(client, scope, "svc", site)).toMatchObject({ state: "present", server: SERVER });
        expect(planUninstall(client, scope, "svc", site)).toMatchObject({ action: "delete", after: undefined });
        await applyChange(planUninstall(client, scope, "svc", site));
        expect(existsSync(file)).toBe(false);
        expect(existsSync(dirname(file))).toBe(had);
      });
    });
  }
}
