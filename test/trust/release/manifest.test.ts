/** The manifest of a release: what is accepted, and each refusal with its sentence. */
import { describe, expect, test } from "bun:test";
import { RELEASE_MANIFEST_BYTES_MAX } from "../../../src/limits.ts";
import { filesFor, verifyRelease } from "../../../src/trust/release/manifest.ts";
import { keyId, type ReleaseAnchors, releaseAnchors } from "../../../src/trust/runtime/anchor.ts";
import { verifyManifest } from "../../../src/trust/runtime/signed.ts";
import { testKey } from "../../keys.ts";
import * as runtime from "../runtime/fixture.ts";
import { keys, manifestOf, otherKeys, signed } from "./fixture.ts";

const anchors: ReleaseAnchors = { keys: [{ pem: keys.publicPem, id: keyId(keys.publicPem) }], override: null };
const verify = (bytes: Uint8Array, signature: Uint8Array) => verifyRelease(bytes, signature, anchors);
const verifySigned = (manifest: unknown) => {
  const { bytes, signature } = signed(manifest);
  return verify(bytes, signature);
};

test("a signed manifest is accepted, with the key that signed it and the files of each platform", async () => {
  const release = await verifySigned(manifestOf({ version: "1.3.0-rc.1", ends: ["0".repeat(32)] }));
  expect(release.key.pem).toBe(keys.publicPem);
  expect(release.manifest).toEqual(manifestOf({ version: "1.3.0-rc.1", ends: ["0".repeat(32)] }));
  expect(filesFor(release, "macos-arm64").gzip.name).toBe("svc-macos-arm64.gz");
});

test("the keys of the environment replace the built-in ones", async () => {
  const { bytes, signature } = signed(manifestOf());
  const given = releaseAnchors({ SVC_RELEASE_PUBKEY: otherKeys.publicPem });
  await expect(verifyRelease(bytes, signature, given)).rejects.toMatchObject({
    code: "RuntimeError.runtime_key_unknown",
    message: expect.stringContaining("names a release key that is not the one in SVC_RELEASE_PUBKEY"),
  });
  await expect(verifyRelease(bytes, signature, given)).rejects.toMatchObject({
    message: expect.stringMatching(/; give the key of that release in SVC_RELEASE_PUBKEY$/),
  });
});

test("a platform that a release lacks is named, with those that it has", async () => {
  const { platforms } = manifestOf();
  const release = await verifySigned(manifestOf({ platforms: { ...platforms, "linux-arm64": undefined } }));
  expect(() => filesFor(release, "linux-arm64")).toThrow(
    "release 1.2.3 has no executable for linux-arm64, only for linux-x86_64 and macos-arm64: choose another version",
  );
});

describe("a signature", () => {
  const { bytes, signature } = signed(manifestOf());
  const AGAIN =
    /the release is not verified: manifest\.sig does not fit manifest\.json .*; download the release again$/;

  test("that is missing, cut short, of other bytes or of another manifest is refused", async () => {
    await expect(verify(bytes, new Uint8Array())).rejects.toThrow(AGAIN);
    await expect(verify(bytes, signature.subarray(0, -1))).rejects.toThrow(AGAIN);
    await expect(verify(bytes, new Uint8Array(2000))).rejects.toThrow(AGAIN);
    await expect(verify(bytes.subarray(0, -1), signature)).rejects.toThrow(AGAIN);
    await expect(verify(bytes, signed(manifestOf({ version: "1.2.4" })).signature)).rejects.toThrow(AGAIN);
  });

  test("of another key is refused, whichever key the manifest names", async () => {
    const forged = signed(manifestOf(), otherKeys);
    await expect(verify(forged.bytes, forged.signature)).rejects.toThrow(AGAIN);
    const unknown = signed(manifestOf({ key_id: keyId(otherKeys.publicPem) }), otherKeys);
    await expect(verify(unknown.bytes, unknown.signature)).rejects.toMatchObject({
      code: "RuntimeError.runtime_key_unknown",
      message: expect.stringMatching(
        /this svc does not know \([0-9a-f]{32}\); install a newer svc by hand, or if you built this svc, .*$/,
      ),
    });
    const next = testKey("release-next");
    const both = { ...anchors, keys: [...anchors.keys, { pem: next.publicPem, id: keyId(next.publicPem) }] };
    const byNext = signed(manifestOf(), next);
    await expect(verifyRelease(byNext.bytes, byNext.signature, both)).rejects.toThrow(
      `key_id is ${keyId(keys.publicPem)}, and the key that signed it is ${keyId(next.publicPem)}`,
    );
  });
});

describe("purpose", () => {
  test("the manifest of a native runtime is not accepted as that of a release", async () => {
    const { bytes, signature } = runtime.signedManifest(runtime.libs);
    await verifyManifest(bytes, signature, anchors);
    await expect(verify(bytes, signature)).rejects.toThrow(
      "its purpose is nothing, and that of a release is 'svc-release'; download the release again",
    );
  });

  test("that of a release is not accepted as that of a runtime, even if it has all of its members", async () => {
    const refusal = /its purpose is the string 'svc-release', not a native runtime/;
    const alone = signed(manifestOf());
    await expect(verifyManifest(alone.bytes, alone.signature, anchors)).rejects.toThrow(refusal);
    const members = JSON.parse(Buffer.from(runtime.signedManifest(runtime.libs).bytes).toString());
    const both = signed({ ...manifestOf(), ...members });
    await expect(verifyManifest(both.bytes, both.signature, anchors)).rejects.toThrow(refusal);
    await expect(verify(both.bytes, both.signature)).rejects.toThrow(/format_version is 3; this svc reads 1/);
  });
});

describe("refused although it is signed", () => {
  const { platforms } = manifestOf();
  const linux = platforms["linux-x86_64"]!;
  const withFile = (changes: object) => ({
    platforms: { "linux-x86_64": { ...linux, gzip: { ...linux.gzip, ...changes } } },
  });
  const text = (from: string, to: string) => JSON.stringify(manifestOf()).replace(from, to);
  const table: [string, unknown, string][] = [
    ["a list", [], "it is not an object"],
    ["half of it", text('"platforms"', ""), "it is not JSON"],
    ["a byte order mark", `\ufeff${text("", "")}`, "it is not JSON"],
    ["a key twice", text("{", '{"floor":"0.0.0",'), "a key stands twice"],
    ["an unknown member", manifestOf({ later: 1 }), "it.later is unknown"],
    ["an unknown member __proto__", text("{", '{"__proto__":{},'), "it.__proto__ is unknown"],
    ["an unknown member of a file", withFile({ url: "x" }), "platforms.linux-x86_64.gzip.url is unknown"],
    [
      "an unknown platform",
      { platforms: { ...platforms, "windows-x86_64": linux } },
      "platforms.windows-x86_64 is unknown",
    ],
    ["no platform", { platforms: {} }, "platforms is empty"],
    ["a platform without zstd", { platforms: { "linux-x86_64": { ...linux, zstd: undefined } } }, "zstd is missing"],
    ["no version", { version: undefined }, "version is missing"],
    ["no ended keys", { ends: undefined }, "ends is missing"],
    ["another purpose", { purpose: "svc-runtime" }, "its purpose is the string 'svc-runtime', and that of"],
    ["a later format", { format_version: 2 }, "format_version is 2; this svc reads 1; install a newer svc by hand"],
    ["a version of two numbers", { version: "1.2" }, "version is the string '1.2', which it cannot be"],
    ["a release in quotes", { release: "5" }, "release is the string '5', which"],
    ["release 0", { release: 0 }, "release is 0, which it cannot be"],
    ["a day that does not exist", { created: "2026-02-30T00:00:00Z" }, "created is the string '2026-02-30"],
    ["a time of a zone", { created: "2026-02-03T00:00:00+01:00" }, "created is the string"],
    ["an ended key that is not an id", { ends: ["release"] }, "ends[0] is the string 'release', which"],
    ["its own key ended", { ends: [keyId(keys.publicPem)] }, "it ends the key that signed it"],
    ["a floor above it", { floor: "1.2.4" }, "floor is 1.2.4, which is higher than its version 1.2.3"],
    ["a floor above its first candidate", { version: "1.2.3-rc.1", floor: "1.2.3" }, "floor is 1.2.3, which is higher"],
    ["a file of another platform", withFile({ name: "svc-linux-arm64.gz" }), "gzip.name is the string 'svc-linux-arm"],
    ["a file of a folder", withFile({ name: "../svc-linux-x86_64.gz" }), "gzip.name is the string '../svc"],
    ["a hash in upper case", withFile({ sha256: "A1".repeat(32) }), "gzip.sha256 is the string"],
    ["an empty file", withFile({ size_bytes: 0 }), "gzip.size_bytes is 0, which it cannot be"],
    ["half a byte", withFile({ size_bytes: 1.5 }), "gzip.size_bytes is 1.5, which it cannot be"],
    ["2 GiB", withFile({ size_bytes: 2 ** 31 }), "gzip.size_bytes is 2147483648, which it cannot be"],
  ];
  test.each(table)("%s", async (_, change, sentence) => {
    const whole = typeof change === "string" || Array.isArray(change);
    const refused = verifySigned(whole ? change : manifestOf(change as Record<string, unknown>));
    await expect(refused).rejects.toMatchObject({ code: "RuntimeError.internal" });
    await expect(refused).rejects.toThrow(sentence);
    await expect(refused).rejects.toThrow(/^manifest\.json of the release cannot be used: .*; (download|install) /);
  });

  test("one that is too large is not even verified", async () => {
    const padded = Buffer.from(JSON.stringify(manifestOf()) + " ".repeat(RELEASE_MANIFEST_BYTES_MAX));
    await expect(verify(padded, new Uint8Array())).rejects.toThrow(/it has more than 32768 bytes/);
  });
});
