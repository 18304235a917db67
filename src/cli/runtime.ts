/** `svc runtime`: the signed native runtime. */
import type { Group } from "./command.ts";

const group: Group = {
  summary: "install and check the signed native runtime",
  examples: ["svc runtime install", "svc runtime verify", 'eval "$(svc runtime env)"'],
  commands: {
    install: {
      summary: "install the runtime for this machine",
      load: async () => (await import("./runtime-install.ts")).default,
    },
    verify: {
      summary: "check signature, hashes, permissions and ABI of the install, the licence and the login",
      load: async () => (await import("./runtime-verify.ts")).default,
    },
    status: { summary: "show what is installed", load: async () => (await import("./runtime-status.ts")).default },
    env: {
      summary: "print the shell line that puts the Python client on the Python path",
      load: async () => (await import("./runtime-env.ts")).default,
    },
  },
};

export default group;
