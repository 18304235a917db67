/** `svc authority`: the control plane for an organisation. */
import type { Group } from "./command.ts";

const group: Group = {
  summary: "the control plane as a server, for an organisation",
  examples: ["svc authority serve --port 8470"],
  commands: {
    serve: {
      summary: "run the control plane until interrupted",
      load: async () => (await import("./authority-serve.ts")).default,
    },
  },
};

export default group;
