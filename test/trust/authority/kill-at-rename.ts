/** Loaded before a program: it is killed when the new licence is durable and not yet in the place of the old one. */
import { readFileSync } from "node:fs";
import { plugin } from "bun";

plugin({
  name: "kill at rename",
  setup(build) {
    build.onLoad({ filter: /src\/durable\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(
        "renameSync(temporary, path);",
        'if (path.endsWith("login_license.jwt")) process.kill(process.pid, "SIGKILL"); renameSync(temporary, path);',
      ),
      loader: "ts",
    }));
  },
});
