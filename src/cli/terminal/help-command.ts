/** `svc help`: what its own page says. The line itself is read as that of the command with `--help` (`arrange.ts`). */
import { command } from "./command.ts";

export default command({
  details: "Prints the same as --help after the command's name. Without a name it prints the page of svc.",
  examples: ["svc help mem search", "svc help login"],
  args: {
    command: {
      type: "positional",
      required: false,
      repeatable: true,
      description: "name of the command, such as mem search",
    },
  },
  worksWithoutHome: true,
  async run() {},
});
