/** `svc help`: what its own page says. The line itself is read as that of the command with `--help` (`arrange.ts`). */
import { command } from "./command.ts";

export default command({
  details: "The same as --help after the command's name; without a name it is the page of svc.",
  examples: ["svc help mem search", "svc help login"],
  args: {
    command: { type: "positional", required: false, repeatable: true, description: "names of a command" },
  },
  async run() {},
});
