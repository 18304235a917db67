/** `svc authority admin`: who may administer an organisation's authority. */
import { group } from "../terminal/citty.ts";

export default group("svc authority admin", {
  summary: "add, list and remove administrators",
  details: "An administrator signs in with a code at /admin of the authority's address, and approves logins there.",
  examples: ["svc authority admin add ada", "svc authority admin list", "svc authority admin remove ada"],
  commands: {
    add: ["add an administrator and print the code, once", async () => (await import("./admins.ts")).add],
    list: ["list the administrators", async () => (await import("./admins.ts")).list],
    remove: [
      "remove an administrator, and end the code and all sessions",
      async () => (await import("./admins.ts")).remove,
    ],
  },
});
