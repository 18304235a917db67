/** A home of its own for a test, with a client's configuration file in it. */
import { afterAll } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Client, ClientSite, Scope } from "../../src/clients/client.ts";
import { configFile } from "../../src/clients/clients.ts";
import type { ServerEntry } from "../../src/clients/shapes.ts";

/** In memory where the system has such a folder: on some disks each of the thousand syncs takes milliseconds. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** A home and a project that go with `remove`. */
export function newSite(platform: "linux" | "darwin" = "linux"): { site: Required<ClientSite>; remove: () => void } {
  const root = realpathSync(mkdtempSync(join(FOLDER, "svc-clients-")));
  const site = {
    home: join(root, "home"),
    project: join(root, "project"),
    root: join(root, "root"),
    platform,
    env: {},
  };
  mkdirSync(site.home);
  mkdirSync(site.project);
  return { site, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** Makes homes that go at the end of the file that calls this. */
export function freshSites(): () => Required<ClientSite> {
  const removals: (() => void)[] = [];
  afterAll(() => {
    for (const remove of removals) remove();
  });
  return () => {
    const { site, remove } = newSite();
    removals.push(remove);
    return site;
  };
}

/** The file of a client, with this content. */
export function put(client: Client, scope: Scope, site: ClientSite, content: string | Uint8Array): string {
  const file = configFile(client, scope, site);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

export const SERVER: ServerEntry = { command: "/opt/svc tools/bin/svc", args: ["mcp", "--workspace", "/a b/c"] };
