/** What the answers of a damaged store are worth, beside those of the undamaged one. */
import type { Answer, Answers } from "./asks.ts";
import type { Case } from "./cases.ts";
import type { Outcome } from "./damage-worker.ts";

/**
 * From the best to the worst. `equal`: as if nothing were damaged. `noticed`: a right answer that says what it lacks.
 * `refused`: an error that names the damage. `lost`: damage of derived data cost rows. `unnamed`: an error that does not
 * say which file or row, or of another type. `silent`: a wrong answer.
 */
export const VERDICTS = ["equal", "noticed", "refused", "lost", "unnamed", "silent", "dead"] as const;
export type Verdict = (typeof VERDICTS)[number];
export const isBad = (verdict: Verdict) => VERDICTS.indexOf(verdict) >= VERDICTS.indexOf("lost");

const NAMES_FILE = /\b(base|delta|ivf|lexical)-[0-9a-f]{16}\.slab|collection\.json|id_map\.npy|\.lock|\.ballast/;
const NAMES_ROW = /\brows? '?[\w-]+|'row-\d+'|the (lexical|word) index/;
/** A rewrite beside a damaged word index does not know that it was built by a call, and the error says how to. */
const NOT_BUILT = /^RuntimeError: the lexical index .* build it with svc_build_lexical/;
const OF_DAMAGE = /damaged|check/;

/** The verdict over one call. */
export function judge(name: string, truth: Answer | undefined, got: Answer, all: Answers): Verdict {
  if (truth === undefined) return "silent";
  if (got.error !== undefined) {
    if (truth.error === got.error) return "equal";
    if (NOT_BUILT.test(got.error) && /^(words|text)/.test(name)) return "refused";
    const isOurs = /^OSError: /.test(got.error);
    return isOurs && (NAMES_FILE.test(got.error) || NAMES_ROW.test(got.error)) ? "refused" : "unnamed";
  }
  if (JSON.stringify([truth.value, truth.notice]) === JSON.stringify([got.value, got.notice])) return "equal";
  if (!got.notice || !OF_DAMAGE.test(got.notice) || !got.hits) return "silent";
  return isRight(name, got, all) ? "noticed" : "silent";
}

/** Whether each hit of an answer that lacks something is a live row with its metadata, and with its score by vector. */
function isRight(name: string, got: Answer, all: Answers): boolean {
  const scores = new Map(/^vector/.test(name) ? all[`${name.slice(0, 8)}, every row`]?.hits : undefined);
  const rows = all.export!.value as { id: string; metadata?: unknown; text?: unknown }[];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const { metadata, texts } = got.value as { metadata?: unknown[]; texts?: unknown[] };
  return got.hits!.every(([id, score], i) => {
    const row = byId.get(id);
    if (row === undefined) return false;
    if (metadata && JSON.stringify(metadata[i] ?? null) !== JSON.stringify(row.metadata ?? null)) return false;
    if (texts && texts[i] !== row.text) return false;
    return scores.size === 0 || scores.get(id) === score;
  });
}

/** What became of a damaged store: the worst verdict over all calls. */
export interface Finding {
  verdict: Verdict;
  /** The call, and what it said where that is short. */
  call: string;
  said: string;
}

/** The worst of what every call came to. @param derived whether the damage may cost neither rows nor answers */
export function findingOf(truth: Outcome, got: Outcome, damaged: Case | undefined, derived: boolean): Finding {
  let found: Finding = { verdict: "equal", call: "", said: "" };
  const note = (verdict: Verdict, call: string, said: string) => {
    if (VERDICTS.indexOf(verdict) > VERDICTS.indexOf(found.verdict)) found = { verdict, call, said };
  };
  for (const part of ["answers", "changed", "after"] as const) {
    for (const [call, answer] of Object.entries(got[part])) {
      if (call === "counters" && part === "after") continue; // how many of the changes were refused
      const verdict = judge(call, truth[part][call], answer, truth[part]);
      const said = answer.error ?? answer.notice ?? JSON.stringify(answer.value)?.slice(0, 120) ?? "";
      const costsRows = derived && verdict === "refused" && /^(open|get|export|ids|count|vector|many)/.test(call);
      note(costsRows ? "lost" : verdict, part === "answers" ? call : `${part}: ${call}`, said);
    }
  }
  const { sound, said } = got.checked;
  // What a call has noticed, the check must find, and name the file.
  if (sound && found.verdict !== "equal") note("silent", "check", `finds nothing; ${found.call}: ${found.said}`);
  // Beside the manifest of another store it is the other files that are wrong. A manifest whose version is a later one by
  // a flipped bit is called that of a newer program.
  const names = damaged && (said.includes(damaged.file) || damaged.how === "replace" || said.includes("its format is"));
  if (!sound && !names) note("unnamed", "check", said.slice(0, 300));
  return found;
}
