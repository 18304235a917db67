/**
 * Loaded before main.ts: a build with a release key of its own, and with no bundle but the one that FAKE_BUNDLE names,
 * so that no test needs `npm run build`. With FAKE_AUTHORITY and FAKE_LICENSE_KEY it is the build of that authority.
 */
import { plugin } from "bun";
import { testKey } from "../keys.ts";

const info = {
  version: "9.9.9",
  release: 1,
  commit: "0123456789ab",
  releaseKeyId: "fedcba98765432100123456789abcdef",
  releasePublicKeys: [testKey("built-in").publicPem, testKey("built-in-next").publicPem],
  licensePublicKey: process.env.FAKE_LICENSE_KEY ?? null,
  authority: process.env.FAKE_AUTHORITY ?? null,
  // Those of the libraries in test/trust/runtime/fixture.ts.
  abi: { kernel: 8, runtime: 9 },
  platform: "linux-x86_64",
};

plugin({
  name: "fake build",
  setup(build) {
    build.onLoad({ filter: /src\/build-info\.ts$/ }, () => ({
      contents: `export const EMBEDDED_BUNDLE = "none"; export const buildInfo = () => (${JSON.stringify(info)});
        export const programVersion = () => ({ version: "9.9.9", build: "a fake" });
        export const embeddedNotices = async () => "the licences";
        export const embeddedBundle = async () => process.env.FAKE_BUNDLE && Bun.file(process.env.FAKE_BUNDLE).bytes();`,
      loader: "js",
    }));
  },
});
