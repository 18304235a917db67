/** An install that looks like the real one and is not: other libraries, under a manifest that another key signed. */
import { sign } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildNative } from "../../../src/build/compile.ts";
import { buildInfo } from "../../../src/build-info.ts";
import { platformTag, runtimePaths } from "../../../src/paths.ts";
import { keyId } from "../../../src/trust/runtime/anchor.ts";
import { isLibrary, sha256 } from "../../../src/trust/runtime/bundle-manifest.ts";
import { testKey } from "../../keys.ts";
import { ROOT } from "../home.ts";

/** The variable with the file to which a library of the evil install adds a byte whenever it is mapped. */
export const MARK = "SVC_TEST_MARK";
/** The key that signs the evil install, SPKI in PEM. */
export const evilKey: string = testKey("other-release").publicPem;
/** This machine's platform. */
export const tag = platformTag()!;

/** Answers with the right ABI version, after it has left its mark. */
const library = (prefix: string, version: number) => `#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void mapped(void) {
  const char* path = getenv("${MARK}");
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd < 0 || write(fd, "x", 1) != 1) abort();
  close(fd);
}
__attribute__((visibility("default"))) unsigned ${prefix}_abi_version(void) { return ${version}; }
`;

/**
 * Makes `target` a copy of the install of a home with libraries, manifest and signature of its own.
 * @param home SVC_HOME with a verified install
 */
export async function makeEvilInstall(home: string, target: string): Promise<void> {
  const { abi } = buildInfo();
  const root = mkdtempSync(join(tmpdir(), "svc-evil-"));
  for (const [folder, prefix, number] of [
    ["ame_kernel", "ame", abi.kernel],
    ["ty_runtime", "ty", abi.runtime],
  ] as const) {
    const path = join(root, "ffi", folder);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "evil.c"), library(prefix, number));
    writeFileSync(join(path, `${prefix}.map`), `{ global: ${prefix}_*; local: *; };\n`);
  }
  const built = await buildNative({ root, cache: join(ROOT, ".build/test/evil"), tag });
  rmSync(root, { recursive: true });
  cpSync(runtimePaths(home, tag).dir, target, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(target, "telys_manifest.json"), "utf8"));
  for (const artifact of manifest.artifacts) {
    if (!isLibrary(artifact.role)) continue;
    const bytes = readFileSync(artifact.role === "kernel" ? built.kernel : built.runtime);
    writeFileSync(join(target, artifact.name), bytes);
    Object.assign(artifact, { sha256: sha256(bytes), size_bytes: bytes.length });
  }
  const bytes = Buffer.from(JSON.stringify({ ...manifest, key_id: keyId(evilKey) }));
  writeFileSync(join(target, "telys_manifest.json"), bytes);
  writeFileSync(join(target, "telys_manifest.sig"), sign("sha256", bytes, testKey("other-release").privateKey));
}
