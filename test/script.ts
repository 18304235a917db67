/** Scripts of tests in processes of their own. */
import { join } from "node:path";

const HELPERS = {
  "fixture.ts": "native, openStore",
  "random.ts": "random, unitVectors",
  "api/fixture.ts": "localStore",
  "../src/store/store.ts": "Store",
};

/** Runs a script, which can use the helpers above. Its first argument is `process.argv[1]`. */
export function runScript(script: string, ...words: string[]) {
  const imports = Object.entries(HELPERS).map(([file, names]) => {
    return `import { ${names} } from ${JSON.stringify(join(import.meta.dir, file))};\n`;
  });
  return Bun.spawn([process.execPath, "-e", imports.join("") + script, ...words], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
}

/** Runs a script, and waits until it prints something. */
export async function startScript(script: string, ...words: string[]) {
  const child = runScript(script, ...words);
  await child.stdout.getReader().read();
  return child;
}
