/** `svc mem compact|build-ivf|build-lexical|build-meaning|tune`. */
import { command, UsageError } from "../terminal/command.ts";
import { oneLine } from "../terminal/output.ts";
import { COLLECTION } from "./flags.ts";
import { counted, megabytes, renderFields } from "./render/text.ts";
import { answer, COMMON, verbCommand, withMemory } from "./verb.ts";

export const compact = command({
  details:
    "Writes the collection again without deleted and replaced rows, and removes its history: those rows are gone for good,\n" +
    "but backups may still have them. Results stay the same; queries get faster and the collection smaller.\n" +
    "--keep-history keeps the history. A collection also compacts itself after many saves, and keeps it then.",
  examples: ["svc mem compact notes", "svc mem compact notes --keep-history"],
  args: {
    collection: COLLECTION,
    "keep-history": { type: "boolean", description: "keep deleted and replaced rows in the history" },
    ...COMMON,
    json: { type: "boolean", description: "print {compacted, rows_dropped, saves_dropped, bytes_freed}" },
  },
  async run(invocation) {
    const { collection, "keep-history": keep_history = false, json = false } = invocation.args;
    const compacted = await withMemory(invocation, async (verbs, context) =>
      (await verbs.terminal()).compact({ collection, keep_history }, context),
    );
    answer(compacted, json, ({ compacted, rows_dropped, saves_dropped, bytes_freed }) => {
      const dropped = [
        ...(rows_dropped > 0 ? [counted(rows_dropped, "deleted or replaced row")] : []),
        ...(saves_dropped > 0 ? [`the history of ${counted(saves_dropped, "save")}`] : []),
      ];
      const what = dropped.length > 0 ? `: removed ${dropped.join(" and ")}, ${megabytes(bytes_freed)}` : "";
      return `compacted ${oneLine(compacted)}${what}`;
    });
  },
});

export const buildIvf = verbCommand("build_ivf", {
  details:
    "Afterwards a search reads only the parts of the collection where hits are likely. How much it reads is\n" +
    "calibrated, so that it finds the share of the hits that --target-recall gives.",
  examples: ["svc mem build-ivf notes", "svc mem build-ivf notes --min-rows 5000 --target-recall 0.95"],
  args: { collection: COLLECTION },
  render({ ivf_built, min_rows, target_recall, partitions, largest_partition }) {
    if (largest_partition === 0) return `${oneLine(ivf_built)} has no rows: nothing was built`;
    if (largest_partition < min_rows) {
      const kept = partitions > 0 ? "; the index that was there stays" : "";
      return `no partition has ${counted(min_rows, "row")}, the largest has ${largest_partition}: nothing was built (--min-rows)${kept}`;
    }
    const indexes = `${partitions} IVF ${partitions === 1 ? "index" : "indexes"}`;
    return `built ${indexes} of ${oneLine(ivf_built)} (from ${counted(min_rows, "row")}, recall at least ${target_recall})`;
  },
});

export const buildLexical = verbCommand("build_lexical", {
  details: "The collection must have been created with --lexical. Rows added later are found without building again.",
  examples: ["svc mem build-lexical docs", "svc mem build-lexical docs --k1 1.2 --b 0.75"],
  args: { collection: COLLECTION },
  render: ({ lexical_built, k1, b }) => `built the lexical index of ${oneLine(lexical_built)} (k1 ${k1}, b ${b})`,
});

export const buildMeaning = command({
  details:
    "A search finds a text by meaning once the text has a vector of meaning. A text of at most 400 bytes gets it when\n" +
    "it is added, if the call adds at most 8. For other texts 'svc mcp' and 'svc serve' make it in the background while\n" +
    "no call runs, and a 'svc mem' command that added texts works at it for up to two seconds before it ends. This command makes all missing vectors now,\n" +
    "some 10,000 to 50,000 short texts a minute. Other processes can write meanwhile. If you interrupt it, what is done\n" +
    "is saved.\n\n" +
    "Only collections of the default embedder have vectors of meaning, and not the index of a repository. The command\n" +
    "fails if meaning is off: 'svc mem alter NAME --meaning on' turns it on for a collection. SVC_MEANING=off turns it off for a\n" +
    "process.",
  examples: ["svc mem build-meaning notes"],
  args: {
    collection: COLLECTION,
    ...COMMON,
    json: { type: "boolean", description: "print {meaning_built, texts, with_meaning, added}" },
  },
  async run(invocation) {
    const { collection, json } = invocation.args;
    const payload = await withMemory(invocation, async (verbs, context) =>
      (await verbs.terminal()).build_meaning({ collection }, context),
    );
    answer(payload, json === true, ({ meaning_built, texts, with_meaning }) => {
      const unread = texts - with_meaning;
      const rest =
        unread > 0 ? `; ${counted(unread, "text")} cannot be read: svc mem check ${oneLine(meaning_built)}` : "";
      return `${counted(with_meaning, "text")} of ${oneLine(meaning_built)} can be found by meaning${rest}`;
    });
  },
});

export const tune = verbCommand("tune", {
  details:
    "The plan is applied if it makes searches better. --dry-run only prints the plan; --apply always applies it.",
  examples: ["svc mem tune notes --dry-run", "svc mem tune notes --apply --json"],
  args: {
    collection: COLLECTION,
    "dry-run": { type: "boolean", description: "plan only" },
    apply: { type: "boolean", description: "apply the plan in any case" },
  },
  toArguments({ args }) {
    if (args["dry-run"] && args.apply) throw new UsageError("--dry-run and --apply exclude each other");
    return { collection: args.collection, dry_run: args.apply ? false : args["dry-run"] };
  },
  render: ({ plan: { ivf, expected, decision_trace, constraints, ...rest } }) =>
    renderFields({
      ...rest,
      ivf_enabled: ivf.enabled,
      ivf_partitions: ivf.partitions.length,
      ...expected,
      constraints,
      decisions: decision_trace,
    }),
});
