/** The sentence encoder's weights: used as they were signed, or not at all, and nothing else depends on them. */

import { ptr } from "bun:ffi";
import { beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { largeMemory } from "../../../ffi/system/calls.ts";
import { MODEL_NAME } from "../../../src/trust/runtime/bundle-manifest.ts";
import { loadVerified } from "../../../src/trust/runtime/load.ts";
import { type LoadedModel, loadModel } from "../../../src/trust/runtime/model.ts";
import { newHome } from "../account/helpers.ts";
import * as f from "./fixture.ts";

/** More than two of the pieces that it is read in, and a part of one. */
const MODEL = new Uint8Array(2_200_001).map((_, i) => i * 31 + (i >> 8));

/** Compressed once: that takes longer than the rest of a test. */
const BUNDLE = f.makeBundle(f.libs, { model: MODEL });

let home: string;
let path: string;

beforeEach(async () => {
  home = newHome();
  path = f.pathsOf(home).model;
  await f.install(home, BUNDLE);
});

/** The libraries are loaded, whatever the weights are; then the weights. */
async function load(): Promise<LoadedModel | undefined> {
  const { signed, close } = await loadVerified({ home, env: f.env, license: f.license });
  close();
  return loadModel(home, signed);
}

test("weights that are what was signed", async () => {
  const loaded = await load();
  expect(loaded?.fault).toBeUndefined();
  expect(Buffer.compare(loaded!.bytes!, MODEL)).toBe(0);
  const report = await f.verify(home);
  expect(report.ok).toBe(true);
  expect(report.checks.map(({ name }) => name)).toContain(`hash ${MODEL_NAME}`);
  expect(report.checks.map(({ name }) => name)).not.toContain(`abi ${MODEL_NAME}`);
});

test.each([0, 1, 2_097_151, 2_097_152, 5_000_001])(
  "memory for %p bytes: zeros, large ones at a multiple of 64",
  (bytes) => {
    const memory = largeMemory(bytes);
    expect(memory.length).toBe(bytes);
    if (bytes > 1) expect(ptr(memory) % 64).toBe(0);
    const isAll = (byte: number) => Buffer.compare(memory, new Uint8Array(bytes).fill(byte)) === 0;
    expect(isAll(0)).toBe(true);
    memory.fill(255);
    expect(isAll(255)).toBe(true);
  },
);

test("a release without weights is good", async () => {
  await f.install(home, f.makeBundle(f.libs, { release: 6 }));
  expect(await load()).toBeUndefined();
  expect((await f.verify(home)).ok).toBe(true);
});

describe("one thing changed: the libraries load, and the weights are not used", () => {
  const put = (bytes: Uint8Array) => () => writeFileSync(path, bytes);
  const HASH = `hash ${MODEL_NAME}`;
  const PERMISSIONS = `permissions runtime/${f.tag}/${MODEL_NAME}`;
  const table: [string, () => void, string, RegExp, string[]][] = [
    ...[0, 1_048_575, 1_048_576, MODEL.length - 1].map((at): [string, () => void, string, RegExp, string[]] => [
      `bit of byte ${at}`,
      put(f.flipped(MODEL, at)),
      "invalid",
      /sentence-encoder\.bin is not the file that was signed/,
      [HASH],
    ]),
    ["cut by a byte", put(MODEL.subarray(0, -1)), "invalid", /is not the file that was signed/, [HASH]],
    ["cut to nothing", put(new Uint8Array()), "invalid", /is not the file that was signed/, [HASH]],
    ["a byte more", () => appendFileSync(path, "x"), "invalid", /is not the file that was signed/, [HASH]],
    ["gone", () => rmSync(path), "missing", /sentence-encoder\.bin is missing/, [HASH]],
    [
      "a folder in its place",
      () => {
        rmSync(path);
        mkdirSync(path);
      },
      "unreadable",
      /'sentence-encoder\.bin' is a folder/,
      [HASH],
    ],
    [
      "a link to the right bytes",
      () => {
        renameSync(path, join(home, "moved"));
        symlinkSync(join(home, "moved"), path);
      },
      "unsafe",
      /sentence-encoder\.bin is a link/,
      [PERMISSIONS, HASH],
    ],
    [
      "open to all",
      () => chmodSync(path, 0o666),
      "unsafe",
      /others can write to .*sentence-encoder\.bin: run chmod go-w/,
      [PERMISSIONS],
    ],
  ];
  test.each(table)("%s", async (_, change, reason, what, checks) => {
    change();
    const { bytes, fault } = (await load())!;
    expect(bytes).toBeUndefined();
    expect(fault).toMatchObject({ reason });
    expect(fault!.message).toMatch(/^searches by meaning are off: .* then restart the programs that use svc$/);
    expect(fault!.message).toMatch(what);
    expect(fault!.message).not.toContain(home);
    const report = await f.verify(home);
    expect(f.failed(report)).toEqual(checks);
    const said = report.checks.find(({ name }) => name === HASH)!.detail;
    if (checks.includes(HASH)) expect(said).toContain("run 'svc runtime install' again");
  });
});

test("weights of a release that was installed after the libraries were loaded are not used with them", async () => {
  const { signed, close } = await loadVerified({ home, env: f.env, license: f.license });
  close();
  await f.install(home, f.makeBundle(f.libs, { release: 6, model: f.flipped(MODEL) }));
  expect((await loadModel(home, signed))!.fault!.reason).toBe("invalid");
  expect((await load())!.bytes).toBeDefined();
});

test("bytes that were loaded do not change with the file", async () => {
  const { bytes } = (await load())!;
  writeFileSync(path, f.flipped(MODEL), { flag: "r+" }); // in place: the same inode
  expect(Buffer.compare(bytes!, MODEL)).toBe(0);
});

test("an install replaces damaged weights", async () => {
  writeFileSync(path, f.flipped(MODEL));
  await f.install(home, BUNDLE);
  expect(readFileSync(path)).toEqual(Buffer.from(MODEL));
});

test("a bundle whose weights are not what it says is refused, and the install before it stays", async () => {
  const tamper: f.BundleChanges["tamper"] = (entries) =>
    entries.map((entry) => (entry.name === MODEL_NAME ? { ...entry, bytes: f.flipped(entry.bytes) } : entry));
  const damaged = f.makeBundle(f.libs, { release: 6, model: MODEL, tamper });
  await expect(f.install(home, damaged)).rejects.toThrow("sentence-encoder.bin is not what the manifest says");
  const lacking = f.makeBundle(f.libs, {
    release: 6,
    model: MODEL,
    tamper: (entries) => entries.filter(({ name }) => name !== MODEL_NAME),
  });
  await expect(f.install(home, lacking)).rejects.toThrow("sentence-encoder.bin is missing");
  expect((await load())!.bytes).toBeDefined();
});
