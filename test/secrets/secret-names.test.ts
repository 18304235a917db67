import { describe, expect, test } from "bun:test";
import { isSecret } from "../../src/secrets/names.ts";

describe("names that mean credentials", () => {
  const yes = [
    ".env",
    ".env.local",
    ".env.example",
    "a/.ENV",
    "prod.env",
    "server.pem",
    "tls.key",
    "id_rsa",
    "id_ed25519.pub",
    ".netrc",
  ];
  yes.push(
    ".npmrc",
    ".pgpass",
    "credentials.json",
    "credentials-prod.json",
    "x.p12",
    "x.pfx",
    "x.jks",
    ".aws/credentials",
    ".aws/config",
  );
  yes.push("home/.ssh/config", ".docker/config.json", "a/.kube/config", "terraform.tfstate", "client_secret_1.json");
  const no = [
    "env.ts",
    "environment.md",
    "keys.ts",
    "monkey",
    "a.pem.md",
    "src/credentials.ts",
    ".docker/Dockerfile",
    "secret.ts",
    "aws/x",
  ];
  for (const path of yes) test(`${path}: yes`, () => expect(isSecret(path)).toBe(true));
  for (const path of no) test(`${path}: no`, () => expect(isSecret(path)).toBe(false));
});
