/** `svc authority admin`: who may administer an organisation's authority. */
import { group } from "../terminal/citty.ts";

export default group("svc authority admin", {
  summary: "add, list and remove administrators",
  details: "Administrators sign in at /admin of the authority's address with a code, and approve logins with it.",
  examples: ["svc authority admin add ada", "svc authority admin list", "svc authority admin remove ada"],
  commands: {
    add: ["add an administrator; prints a code, once", async () => (await import("./admins.ts")).add],
    list: ["list the administrators", async () => (await import("./admins.ts")).list],
    remove: [
      "remove an administrator: the code and all sessions end",
      async () => (await import("./admins.ts")).remove,
    ],
  },
});
