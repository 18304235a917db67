/** `svc authority`: the control plane for an organisation. */
import admin from "./authority-admin.ts";
import { group } from "./citty.ts";

export default group("svc authority", {
  summary: "the control plane as a server, for an organisation",
  examples: [
    "svc authority serve --data /var/lib/svc --port 8470",
    "svc authority admin add ada --data /var/lib/svc",
    "svc authority enroll --data /var/lib/svc --label 'laptop of Ada'",
  ],
  commands: {
    serve: ["run the control plane until interrupted", async () => (await import("./authority-serve.ts")).default],
    admin,
    enroll: [
      "make, list and revoke keys that let machines in",
      async () => (await import("./authority-enroll.ts")).default,
    ],
    devices: ["list, rename, revoke and allow devices", async () => (await import("./authority-devices.ts")).default],
    license: ["issue a licence for a server", async () => (await import("./authority-license.ts")).default],
    keys: ["list the LICENSE keys, or make the next one", async () => (await import("./authority-keys.ts")).default],
    audit: ["print the audit log", async () => (await import("./authority-audit.ts")).default],
    backup: [
      "copy its data into one file, while it is served too",
      async () => (await import("./authority-backup.ts")).default,
    ],
  },
});
