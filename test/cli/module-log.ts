/** Loaded before main.ts: notes which files of the project were loaded; packages are left to Bun, which tells CommonJS from ESM. */
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
