/** Loaded before main.ts: appends a line to the file in CHECKS_LOG for each signature verified and content hashed. */
import { createHash } from "node:crypto";
import { appendFileSync } from "node:fs";

function log(check: "signature" | "hash", content: Uint8Array | string): void {
  const digest = createHash("sha1").update(content).digest("hex");
  appendFileSync(process.env.CHECKS_LOG!, `${check} ${content.length} ${digest}\n`);
}

const { verify } = SubtleCrypto.prototype;
SubtleCrypto.prototype.verify = function (algorithm, key, signature, data) {
  log("signature", data as Uint8Array);
  return verify.call(this, algorithm, key, signature, data);
};
const { update } = Bun.CryptoHasher.prototype;
Bun.CryptoHasher.prototype.update = function (input, encoding) {
  log("hash", input as Uint8Array);
  return update.call(this, input, encoding!);
};
