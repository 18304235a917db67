/**
 * What a manifest may say, though it is signed: each refusal at an install and, of an install changed later, at a load.
 */
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { keyId, releaseAnchors } from "../../../src/trust/runtime/anchor.ts";
import { MODEL_NAME } from "../../../src/trust/runtime/bundle-manifest.ts";
import { loadVerified } from "../../../src/trust/runtime/load.ts";
import { verifyManifest } from "../../../src/trust/runtime/signed.ts";
import { testKey } from "../../keys.ts";
import { newHome } from "../account/helpers.ts";
import * as f from "./fixture.ts";

let home: string;

beforeEach(() => {
  home = newHome();
});

const load = () => loadVerified({ home, env: f.env, license: f.license });

/** Puts a signed manifest in the place of the installed one. */
function plant(changes: f.BundleChanges): void {
  const { bytes, signature } = f.signedManifest(f.libs, changes);
  writeFileSync(f.pathsOf(home).manifest, bytes);
  writeFileSync(f.pathsOf(home).signature, signature);
}

describe("refused", () => {
  const without = (field: string): f.BundleChanges => ({ manifest: { [field]: undefined } });
  const twice = (from: string, to: string): f.BundleChanges => ({ text: (json) => json.replace(from, to) });
  const signer = keyId(f.publicPem);
  const MODEL = new Uint8Array(9);
  const MODEL_ENTRY = { name: MODEL_NAME, sha256: "0".repeat(64), size_bytes: 9, role: "model" };
  const table: [string, f.BundleChanges, RegExp][] = [
    ["a key twice", twice('"release":5', '"release":5,"release":5'), /a key stands twice/],
    ["a key twice, escaped", twice('"release":5', '"release":5,"\\u0072elease":6'), /a key stands twice/],
    ["a key twice in an artifact", twice('"role":"kernel"', '"role":"kernel","role":"kernel"'), /a key stands twice/],
    ["a key twice in what is ignored", twice("{", '{"later":[{"x":1,"x":1}],'), /a key stands twice/],
    ["a byte order mark", { text: (json) => `\ufeff${json}` }, /it is not JSON/],
    ["the first format", { manifest: { format_version: 1 } }, /format_version is 1; this svc reads 2 and 3/],
    ["a later format", { manifest: { format_version: 4 } }, /format_version is 4; this svc reads 2 and 3/],
    ["a format in quotes", { manifest: { format_version: "3" } }, /format_version is "3"; this svc reads/],
    [
      "a model of another name",
      { model: MODEL, ...twice(MODEL_NAME, "other.bin") },
      /name is not sentence-encoder\.bin/,
    ],
    ["a model in a folder", { model: MODEL, ...twice(MODEL_NAME, `pysite/${MODEL_NAME}`) }, /name is malformed/],
    [
      "two models",
      { model: MODEL, ...twice('"artifacts":[', `"artifacts":[${JSON.stringify(MODEL_ENTRY)},`) },
      /a name stands twice/,
    ],
    ["a role that is unknown", { model: MODEL, ...twice('"role":"model"', '"role":"plugin"') }, /role is unknown/],
    ["the id of another key", { manifest: { key_id: keyId(f.otherKeys.publicPem) } }, /key_id is not that of the key/],
    ["no id of a key", without("key_id"), /it has no key_id/],
    ["an id in upper case", { manifest: { key_id: signer.toUpperCase() } }, /key_id is malformed/],
    ["no expiry", without("expires"), /it has no expires/],
    ["an expiry that is not a time", { manifest: { expires: "2026-02-30T00:00:00Z" } }, /expires is malformed/],
    ["a critical field that is unknown", { manifest: { critical: ["ends", "vote"], vote: 1 } }, /it has 'vote', which/],
    ["critical fields that are not a list", { manifest: { critical: "vote" } }, /critical is not a list/],
    ["critical fields that are null", { manifest: { critical: null } }, /critical is not a list/],
    ["a critical field with an escape", { manifest: { critical: ["\u001b[2J"] } }, /critical is malformed/],
    ["its own key ended", { manifest: { ends: [signer] } }, /it ends the key that signed it/],
    ["ended keys that are not ids", { manifest: { ends: ["release"] } }, /ends is malformed/],
    [
      "an unknown field of an artifact",
      twice('"role":"kernel"', '"role":"kernel","x":1'),
      /\[0\] has an unknown field/,
    ],
  ];
  test.each(table)("%s", async (_, changes, message) => {
    await expect(f.install(home, f.makeBundle(f.libs, changes))).rejects.toThrow(message);
    expect(existsSync(f.pathsOf(home).dir)).toBe(false);
    await f.install(home, f.makeBundle(f.libs));
    plant(changes);
    await expect(load()).rejects.toThrow(message);
    await expect(load()).rejects.toThrow(/not verified: .*'svc runtime install'/);
  });
});

test("fields that a later release adds are ignored, and a critical one that is known is not a hindrance", async () => {
  await f.install(home, f.makeBundle(f.libs, { manifest: { later: { of: [1] }, critical: ["ends", "release"] } }));
  (await load()).close();
});

test("a release of format 2, which is one without a sentence encoder, is installed, loaded and verified", async () => {
  await f.install(home, f.makeBundle(f.libs, { manifest: { format_version: 2 } }));
  const mapped = await load();
  expect(mapped.signed.manifest.format_version).toBe(2);
  mapped.close();
  expect((await f.verify(home)).ok).toBe(true);
});

describe("keys", () => {
  const next = testKey("release-next");
  /** The anchors of an executable: two built-in keys, here without a build. */
  const anchors = {
    keys: [f.keys, next].map(({ publicPem }) => ({ pem: publicPem, id: keyId(publicPem) })),
    override: null,
  };

  test("a manifest of the current key and one of the next are taken, with the key that signed", async () => {
    for (const by of [f.keys, next]) {
      const { bytes, signature } = f.signedManifest(f.libs, { by });
      expect((await verifyManifest(bytes, signature, anchors)).key.pem).toBe(by.publicPem);
    }
  });

  test("one of the next key that names the current one is refused", async () => {
    const { bytes, signature } = f.signedManifest(f.libs, { by: next, manifest: { key_id: keyId(f.publicPem) } });
    await expect(verifyManifest(bytes, signature, anchors)).rejects.toThrow(/key_id is not that of the key/);
  });

  test("one of an unknown key says so, and of a known key whose signature does not fit says that", async () => {
    const unknown = f.signedManifest(f.libs, { by: f.otherKeys });
    await expect(verifyManifest(unknown.bytes, unknown.signature, anchors)).rejects.toMatchObject({
      code: "RuntimeError.runtime_key_unknown",
      message: expect.stringContaining(`a release key that this svc does not know (${keyId(f.otherKeys.publicPem)})`),
    });
    const forged = f.signedManifest(f.libs, { forged: true });
    await expect(verifyManifest(forged.bytes, forged.signature, anchors)).rejects.toMatchObject({
      code: "RuntimeError.internal",
      message: expect.stringContaining("does not fit telys_manifest.json under the release keys of this svc"),
    });
  });

  test("keys below 3072 bits are refused, at an install and at a load", async () => {
    const weak = testKey("weak", 2048);
    const env = { SVC_RELEASE_PUBKEY: weak.publicPem };
    const bundle = f.makeBundle(f.libs, { by: weak });
    await expect(f.install(home, bundle, { env })).rejects.toThrow(/SVC_RELEASE_PUBKEY has 2048 bits; at least 3072/);
    await f.install(home, f.makeBundle(f.libs));
    plant({ by: weak });
    await expect(loadVerified({ home, env, license: f.license })).rejects.toThrow(/has 2048 bits; at least 3072/);
  });

  test("an id is 32 hex digits of the key and not of how its PEM is wrapped", () => {
    const id = keyId(f.publicPem);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(keyId(f.publicPem.replaceAll("\n", "\r\n"))).toBe(id);
    expect(releaseAnchors(f.env)).toEqual({ keys: [{ pem: f.publicPem, id }], override: "SVC_RELEASE_PUBKEY" });
    expect(() => releaseAnchors({ SVC_RELEASE_PUBKEY: "rubbish" })).toThrow(/not one public key in PEM/);
  });
});
