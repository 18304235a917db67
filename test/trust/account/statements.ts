/** Statements about LICENSE keys, made by hand: the authority would refuse to make some. */
import { createHash } from "node:crypto";
import { STATEMENT_TYPE } from "../../../src/trust/account/license/license-chain.ts";
import type { TestKey } from "../../keys.ts";
import { signed } from "./helpers.ts";

/** The `kid` of a key. */
export function idOf({ publicKey }: TestKey): string {
  return createHash("sha256")
    .update(publicKey.export({ format: "der", type: "spki" }))
    .digest("base64url");
}

interface Changes {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
}

/** That `next` follows `key`, with claims or parts of the header changed. */
export function statementOf(key: TestKey, next: TestKey, { claims, header }: Changes = {}): Promise<string> {
  const about = { iss: "svc-authority", iat: Math.floor(Date.now() / 1000), key: next.publicPem, kid: idOf(next) };
  const head = { alg: "RS256", typ: STATEMENT_TYPE, kid: idOf(key), ...header };
  return signed({ ...about, ...claims }, head, key.privatePem);
}
