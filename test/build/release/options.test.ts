/** The command line of `npm run release`. */
import { expect, test } from "bun:test";
import { HELP, readOptions } from "../../../src/build/release/options.ts";
import { PLATFORM_TAGS } from "../../../src/paths.ts";

test("the version alone makes a release of all platforms, from which svc may go back to any", () => {
  expect(readOptions(["--version", "1.2.3"])).toEqual({
    version: "1.2.3",
    release: 1_002_003,
    floor: "0.0.0",
    platforms: PLATFORM_TAGS,
    releaseKey: undefined,
    endKeys: [],
  });
  const named = ["--version", "1.2.3", "--platforms", "macos-arm64,linux-x86_64", "--end-key", "a".repeat(32)];
  expect(readOptions(named)).toMatchObject({ platforms: ["linux-x86_64", "macos-arm64"], endKeys: ["a".repeat(32)] });
});

test("release numbers have the order of versions, with the prereleases of X.Y.0", () => {
  const numberOf = (version: string) => readOptions(["--version", version])!.release;
  const versions = [
    "1.1.699",
    "1.2.0-alpha.0",
    "1.2.0-alpha.99",
    "1.2.0-beta.2",
    "1.2.0-beta.10",
    "1.2.0-rc.1",
    "1.2.0",
  ];
  const numbers = [...versions, "1.2.1", "1.999.699", "2.0.0-alpha.0", "2.0.0"].map(numberOf);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  expect(readOptions(["--version", "1.2.3-rc.1", "--release", "7"])).toMatchObject({ release: 7 });
});

test("the help names every option", () => {
  expect(readOptions(["--help"])).toBeUndefined();
  for (const name of ["version", "release", "floor", "platforms", "release-key", "end-key", "sign-macos", "help"])
    expect(HELP).toContain(`  --${name} `);
  for (const line of HELP.split("\n")) expect(line.length).toBeLessThanOrEqual(110);
});

test.each([
  [[], "--version is missing: npm run release -- --version 1.2.3"],
  [["--version", "1.2"], "--version must be a version such as 1.2.3, got '1.2'"],
  [["--version", "1.2.3-next"], "--version 1.2.3-next is not one for Python: use 1.2.3 or 1.2.3-rc.1"],
  ...["1.2.3-rc.1", "1.2.0-rc1", "1.2.0-rc.100", "1.2.700", "1.1000.0"].map((version) => [
    ["--version", version],
    `--version ${version} has no release number of its own: name one with --release, and a higher one`,
  ]),
  [["--version", "1.2.3", "--floor", "x"], "--floor must be a version such as 1.2.3, got 'x'"],
  [["--version", "1.2.3", "--floor", "1.2.4"], "--floor 1.2.4 is higher than --version 1.2.3"],
  [["--version", "1.2.3", "--release", "0"], "--release must be a whole number from 1, got '0'"],
  [["--version", "0.0.0"], "--release must be a whole number from 1, got '0'"],
  [["--version", "1.2.3", "--platforms", "linux"], "--platforms must be one of linux-x86_64, linux-arm64, macos-arm64"],
  [["--version", "1.2.3", "--end-key", "x"], "--end-key must be the id of a release key, 32 hex digits, got 'x'"],
  [["--versoin", "1.2.3"], "Unknown option '--versoin'"],
  [["1.2.3"], "Unexpected argument '1.2.3'"],
] as [string[], string][])("%j gets one line", (words, sentence) => {
  try {
    readOptions(words);
    expect.unreachable();
  } catch (error) {
    expect((error as Error).message).toStartWith(sentence);
    expect((error as Error).message).not.toContain("\n");
  }
});
