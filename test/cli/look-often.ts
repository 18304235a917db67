/** Loaded before a program: a process that stays looks at its licence five times a second in place of every six hours. */
import { readFileSync } from "node:fs";
import { plugin } from "bun";

plugin({
  name: "look often",
  setup(build) {
    build.onLoad({ filter: /src\/cli\/access\/renewal\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace("6 * 3600 * 1000", "200"),
      loader: "ts",
    }));
  },
});
