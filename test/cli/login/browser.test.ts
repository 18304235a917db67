import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { findBrowser } from "../../../src/cli/login/browser.ts";
import { temporaryFolder } from "../support.ts";

test("the program that opens an address is the desktop's, and never one of a folder that PATH names relatively", () => {
  using folder = temporaryFolder();
  const there = (...names: string[]) => {
    const path = join(folder.path, names.join("+"));
    mkdirSync(path);
    for (const name of names) {
      writeFileSync(join(path, name), "#!/bin/sh\n");
      chmodSync(join(path, name), 0o755);
    }
    return path;
  };
  const xdg = there("xdg-open");
  const both = there("xdg-open", "wslview");
  const mac = there("open");
  const find = (PATH: string, env: Record<string, string>, platform = "linux") =>
    findBrowser({ PATH, ...env }, platform);
  const desktop = { DISPLAY: ":0" };

  expect(find(xdg, desktop)).toBe(join(xdg, "xdg-open"));
  expect(find(xdg, { WAYLAND_DISPLAY: "wayland-0" })).toBe(join(xdg, "xdg-open"));
  expect(find(xdg, {})).toBeUndefined();
  expect(find(mac, desktop)).toBeUndefined();
  expect(find(both, desktop)).toBe(join(both, "xdg-open"));
  expect(find(both, { WSL_DISTRO_NAME: "Debian" })).toBe(join(both, "wslview"));
  expect(find(xdg, { WSL_INTEROP: "/run/WSL/8_interop" })).toBe(join(xdg, "xdg-open"));
  expect(find(mac, {}, "darwin")).toBe(join(mac, "open"));
  expect(find("", desktop)).toBeUndefined();
  for (const PATH of [relative(process.cwd(), xdg), `./${relative(process.cwd(), xdg)}:`])
    expect(find(PATH, desktop)).toBeUndefined();
});
