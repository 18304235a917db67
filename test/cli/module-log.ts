/** Loaded before main.ts: logs which files of the project are loaded. Packages, CommonJS or ESM, are left to Bun. */
import { appendFileSync } from "node:fs";
import { plugin } from "bun";

const log = process.env.MODULES_LOG!;

plugin({
  name: "module log",
  setup(build) {
    build.onLoad({ filter: /^(?!.*node_modules).*\.ts$/ }, async ({ path, loader }) => {
      appendFileSync(log, `${path}\n`);
      return { contents: await Bun.file(path).text(), loader };
    });
  },
});
