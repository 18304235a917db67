/**
 * The RSA keys of tests, each made once on a machine and kept in `.build/test/keys`: one that svc accepts, of 3,072 bits,
 * takes up to two seconds to make.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createOnce } from "../src/account/files.ts";

const FOLDER = join(import.meta.dir, "../.build/test/keys");

/** A key and both of its halves in PEM. */
export interface TestKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** PKCS #8. */
  readonly privatePem: string;
  /** SPKI. */
  readonly publicPem: string;
}

/** The RSA key of that name and size; of two processes that make it at once both get the same. */
export function testKey(name: string, bits = 3072): TestKey {
  const path = join(FOLDER, `${name}-${bits}.pem`);
  const privatePem = read(path) ?? made(path, bits);
  const privateKey = createPrivateKey(privatePem);
  const publicKey = createPublicKey(privatePem);
  return { privateKey, publicKey, privatePem, publicPem: publicKey.export({ format: "pem", type: "spki" }).toString() };
}

function made(path: string, bits: number): string {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  createOnce(path, privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  return readFileSync(path, "utf8");
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
