/**
 * Loaded before main.ts: replaces the gate by verbs that need no login and no native code. Every verb answers with its
 * arguments, so that `--json` shows how a command line was parsed; FAKE_<VERB> in the environment replaces the answer.
 */
import { plugin } from "bun";

const FAKE = `
import { ValueError } from "../errors.ts";
const answers = (name) => process.env["FAKE_" + name.toUpperCase()];
export async function openVerbs(options) {
  if (process.env.FAKE_CLOSED) throw new Error("the gate was opened");
  return new Proxy({}, {
    get(_, name) {
      if (name === "then") return undefined;
      if (name === "close") return async () => { if (process.env.FAKE_LOG_CLOSE) console.error("closed"); };
      return async (args, context) => {
        const set = answers(name);
        if (set === "wait") {
          console.error("waiting");
          await new Promise((_, reject) => {
            const hold = setInterval(() => {}, 1000);
            context.signal.addEventListener("abort", () => { clearInterval(hold); reject(context.signal.reason); });
          });
        }
        if (name === "ids" && set?.startsWith("many:")) {
          return { collection: args.collection, ids: Array.from({ length: Number(set.slice(5)) }, (_, i) => "id-" + i) };
        }
        if (name === "get" && set === "echo") {
          return { rows: args.ids.map((id) => ({ id, found: id !== "id-1", metadata: { scope: "x" }, text: "text of " + id, created: 5, updated: 7 })) };
        }
        if (name === "upsert" && set === "log") {
          console.error("upsert " + JSON.stringify({ rows: args.texts.length, ids: args.ids.slice(0, 2), metadata: args.metadata[0] }));
          return { upserted: args.texts.length, collection: args.collection };
        }
        for (const work of JSON.parse(process.env.FAKE_WORK ?? "[]")) {
          context.onWork(work);
          await Bun.sleep(150);
        }
        if (set === "missing")
          throw new ValueError("collection '" + args.collection + "' does not exist (create it first)", "no_collection");
        if (set === "refuse") throw new ValueError("refused by the store");
        if (set) return JSON.parse(set);
        const { path, workspace } = options;
        return { verb: name, args, options: { path, workspace } };
      };
    },
  });
}
`;

plugin({
  name: "fake gate",
  setup(build) {
    build.onLoad({ filter: /src\/cli\/gate\.ts$/ }, () => ({ contents: FAKE, loader: "js" }));
  },
});
