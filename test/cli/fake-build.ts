/**
 * Loaded before main.ts: a build with a release key of its own, and with no bundle but the one that FAKE_BUNDLE names,
 * so that no test needs `npm run build`.
 */
import { generateKeyPairSync } from "node:crypto";
import { plugin } from "bun";

const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ type: "spki", format: "pem" });
const info = {
  version: "9.9.9",
  release: 1,
  releasePublicKey: key,
  licensePublicKey: null,
  authority: null,
  // Those of the libraries in test/runtime/fixture.ts.
  abi: { kernel: 7, runtime: 9 },
  platform: "linux-x86_64",
};

plugin({
  name: "fake build",
  setup(build) {
    build.onLoad({ filter: /src\/build-info\.ts$/ }, () => ({
      contents: `export const EMBEDDED_BUNDLE = "none"; export const buildInfo = () => (${JSON.stringify(info)});
        export const embeddedBundle = async () => process.env.FAKE_BUNDLE && Bun.file(process.env.FAKE_BUNDLE).bytes();`,
      loader: "js",
    }));
  },
});
