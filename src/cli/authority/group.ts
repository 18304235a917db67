/** `svc authority`: the control plane for an organisation. */

import { group } from "../terminal/citty.ts";
import admin from "./admin.ts";

export default group("svc authority", {
  summary: "run the control plane of an organisation",
  examples: [
    "svc authority serve --data /var/lib/svc --port 8470",
    "svc authority admin add ada --data /var/lib/svc",
    "svc authority enroll --data /var/lib/svc --label 'laptop of Ada'",
  ],
  commands: {
    serve: ["run the control plane until interrupted", async () => (await import("./serve.ts")).default],
    admin,
    enroll: ["make, list and revoke keys that let machines in", async () => (await import("./enroll.ts")).default],
    devices: ["list, rename, revoke and allow devices", async () => (await import("./devices.ts")).default],
    license: ["issue a licence for a server", async () => (await import("./license.ts")).default],
    keys: ["list the LICENSE keys, or make the next one", async () => (await import("./keys.ts")).default],
    audit: ["print the audit log", async () => (await import("./audit.ts")).default],
    backup: ["copy its data into one file, also while it is served", async () => (await import("./backup.ts")).default],
  },
});
