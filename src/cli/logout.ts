/** `svc logout`: takes the login back. */
import { logout } from "../account/logout.ts";
import { svcHome } from "../paths.ts";
import { command } from "./command.ts";
import { print, printJson } from "./output.ts";

export default command({
  details:
    "Removes the licence, the API key, the token, the device id and the device key. The memory, the runtime and the local\n" +
    "authority stay; 'svc login' makes the memory usable again.",
  examples: ["svc logout"],
  args: { json: { type: "boolean", description: "print one JSON object" } },
  async run({ args, env }) {
    const removed = await logout(svcHome(env));
    if (args.json) return printJson({ logged_out: removed.length > 0, removed });
    print(removed.length > 0 ? `logged out; removed ${removed.join(", ")}` : "was not logged in");
  },
});
