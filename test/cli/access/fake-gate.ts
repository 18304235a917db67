/**
 * Loaded before main.ts: replaces the gate by verbs that need no login and no native code. Every verb answers with its
 * arguments, so that `--json` shows how a command line was parsed; FAKE_<VERB> in the environment replaces the answer.
 */
import { plugin } from "bun";

const FAKE = `
import { ValueError } from "../../errors.ts";
import { MissingCollection } from "../../store/folder-lock.ts";
const answers = (name) => process.env["FAKE_" + name.toUpperCase()];
export async function openVerbs(options) {
  if (process.env.FAKE_CLOSED) throw new Error("the gate was opened");
  const verbs = new Proxy({}, {
    get(_, name) {
      if (name === "then") return undefined;
      if (name === "terminal") return async () => verbs;
      if (name === "repositories") {
        const list = (collection) => verbs.repos({ collection });
        const forget = (repository, collection) => verbs.forget_repo({ repository, collection });
        return async () => ({ overview: { list, forget } });
      }
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
        if (name === "full_ids" && !set) return args.ids;
        if (name === "ids" && set?.startsWith("many:")) {
          return { collection: args.collection, ids: Array.from({ length: Number(set.slice(5)) }, (_, i) => "id-" + i) };
        }
        if (name === "export_head") {
          const schema = { dim: 2, dtype: "f32", metric: "inner_product", partition_by: "scope", filter_columns: [], lexical: false };
          return { collection: args.collection, schema: { ...schema, embedder: { model_id: "x" } }, rows: 450, generation: 3 };
        }
        if (name === "export_rows") {
          const row = (id) => ({ id, metadata: { scope: "x" }, text: "text of " + id, created: 5, updated: 7 });
          const vector = args.with_vectors ? { vector: new Float32Array([0.5, -1]) } : {};
          return { rows: args.ids.filter((id) => id !== "id-1").map((id) => ({ ...row(id), ...vector })) };
        }
        if (name === "import_rows" && set === "log") {
          const { rows, times, source } = args;
          const [{ where, ...first }] = rows;
          console.error("rows " + JSON.stringify({ rows: rows.length, ids: rows.slice(0, 2).map((row) => row.id), first, times, source }));
          return { inserted: rows.length, replaced: 0, unchanged: 0, embedded_again: 0, bad: 0 };
        }
        for (const work of JSON.parse(process.env.FAKE_WORK ?? "[]")) {
          context.onWork(work);
          await Bun.sleep(150);
        }
        if (set === "missing")
          throw new MissingCollection(args.collection);
        if (set === "refuse") throw new ValueError("refused by the store");
        if (set) return JSON.parse(set);
        const { path, workspace } = options;
        return { verb: name, args, options: { path, workspace } };
      };
    },
  });
  return verbs;
}
`;

plugin({
  name: "fake gate",
  setup(build) {
    build.onLoad({ filter: /src\/cli\/access\/gate\.ts$/ }, () => ({ contents: FAKE, loader: "js" }));
  },
});
