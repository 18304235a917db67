/**
 * RSA keys for tests, made once a machine and kept in `.build/test`: one of 3,072 bits takes a third of a second. Imports
 * nothing from src, as tests that log what svc loads use it too.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Both halves of a key, and as PEM: PKCS #8 and SPKI. */
export interface TestKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly privatePem: string;
  readonly publicPem: string;
}

/** The key of a name; the same one in every run and in every process. */
export function testKey(name: string, bits = 3072): TestKey {
  const dir = join(import.meta.dir, "../.build/test/keys");
  const path = join(dir, `${name}-${bits}.pem`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!existsSync(path)) makeKey(path, bits);
  const privateKey = createPrivateKey(readFileSync(path));
  const publicKey = createPublicKey(privateKey);
  return {
    privateKey,
    publicKey,
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

/** Several processes may make it at once: the first one's stays, and none is ever seen unfinished. */
function makeKey(path: string, bits: number): void {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  const staged = `${path}.${process.pid}`;
  writeFileSync(staged, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  try {
    linkSync(staged, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(staged);
  }
}
