/** The executable for Linux without the zeros that Bun writes into it. */
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withoutZeros } from "../src/build/elf.ts";

const SVC = join(import.meta.dir, "../dist/svc");
const onLinux = test.skipIf(process.platform !== "linux");

onLinux("what the build leaves has none of them, and is taken as it is", () => {
  const built = new Uint8Array(readFileSync(SVC));
  expect(withoutZeros(built)).toBe(built);
  expect(longestZeros(built)).toBeLessThan(1 << 20);
});

onLinux(
  "a compiled program is smaller by a megabyte and more, and runs with arguments, data and an embedded file",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-elf-"));
    try {
      writeFileSync(join(folder, "text.txt"), "embedded");
      const main = 'import text from "./text.txt" with { type: "text" };\nconsole.log(text, process.argv[2]);\n';
      writeFileSync(join(folder, "main.ts"), main);
      const [plain, smaller] = [join(folder, "plain"), join(folder, "smaller")];
      const built = Bun.spawnSync(
        [process.execPath, "build", "--compile", "--bytecode", "main.ts", "--outfile", plain],
        {
          cwd: folder,
        },
      );
      expect(built.exitCode).toBe(0);
      const bytes = new Uint8Array(readFileSync(plain));
      const result = withoutZeros(bytes);
      expect(bytes.length - result.length).toBeGreaterThan(1_000_000);
      writeFileSync(smaller, result, { mode: 0o755 });
      expect(Bun.spawnSync([smaller, "argument"]).stdout.toString()).toBe("embedded argument\n");
      // Nothing is left to be taken out.
      expect(withoutZeros(result)).toBe(result);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test("what is no such executable stays as it is", () => {
  const files = [new Uint8Array(0), new Uint8Array(64), new TextEncoder().encode("#!/bin/sh\nexit 0\n".repeat(9))];
  if (existsSync("/bin/true")) files.push(new Uint8Array(readFileSync("/bin/true")));
  for (const file of files) expect(withoutZeros(file)).toBe(file);
});

function longestZeros(bytes: Uint8Array): number {
  let longest = 0;
  for (let i = 0, run = 0; i < bytes.length; i++) {
    run = bytes[i] === 0 ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}
