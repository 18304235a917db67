/** `svc authority`: the control plane for an organisation. */
import { group } from "./citty.ts";

export default group("svc authority", {
  summary: "the control plane as a server, for an organisation",
  examples: ["svc authority serve --port 8470"],
  commands: {
    serve: ["run the control plane until interrupted", async () => (await import("./authority-serve.ts")).default],
  },
});
