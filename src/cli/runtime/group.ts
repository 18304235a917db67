/** `svc runtime`: the signed native runtime. */
import { group } from "../terminal/citty.ts";

export default group("svc runtime", {
  summary: "install and check the signed native runtime",
  examples: ["svc runtime install", "svc runtime verify", 'eval "$(svc runtime env)"'],
  commands: {
    install: ["install the runtime for this machine", async () => (await import("./install.ts")).default],
    verify: [
      "check signature, hashes, permissions and ABI of the install, the licence and the login",
      async () => (await import("./verify.ts")).default,
    ],
    status: ["show what is installed", async () => (await import("./status.ts")).default],
    env: [
      "print the shell line that puts the Python client on the Python path",
      async () => (await import("./env.ts")).default,
    ],
  },
});
