/** The figures of trees side by side. */
import { columns } from "../columns.ts";
import { type Difference, differenceOf, meanOf, shownDifference } from "../quality/paired.ts";
import type { EarlierTree } from "./earlier.ts";
import { type TreeQuality, WAYS, type Way } from "./figures.ts";
import { GROUPS, type Marks, meanAt, placesOf } from "./score.ts";

const SHOWN: readonly (readonly [keyof Marks, string])[] = [
  ["ndcg", "nDCG@10"],
  ["at1", "@1"],
  ["at5", "@5"],
  ["at10", "@10"],
  ["any10", "any@10"],
  ["mrr", "MRR"],
];

/** Marks of a tree, a line a kind and a line a group of kinds. */
export function marksTable({ name, files, kinds, each }: TreeQuality): string[] {
  const rows = selections(kinds).map(({ label, places }) => [
    label,
    `${places.length}`,
    ...SHOWN.map(([mark]) => meanAt(each[mark], places).toFixed(3)),
  ]);
  return columns([[`${name}, ${files} files`, "questions", ...SHOWN.map(([, head]) => head)], ...rows]);
}

/** nDCG@10 and @1 by group, the mean of trees; kinds of no group have a mean of their own. */
export function meansTable(trees: readonly TreeQuality[]): string[] {
  const labels = [...new Set(trees.flatMap(({ kinds }) => selections(kinds).map(({ label }) => label)))];
  const rows = labels.map((label) => {
    const means = SHOWN.map(([mark]) => groupMean(trees, label, mark).toFixed(3));
    return [label, ...means];
  });
  return columns([[`mean of ${trees.length} trees`, ...SHOWN.map(([, head]) => head)], ...rows]);
}

/** The mean over the trees that have such questions, each of which counts alike. */
export function groupMean(trees: readonly TreeQuality[], label: string, mark: keyof Marks): number {
  const means = trees.flatMap(({ kinds, each }) => {
    const found = selections(kinds).find((selection) => selection.label === label);
    return found ? [meanAt(each[mark], found.places)] : [];
  });
  return means.reduce((sum, value) => sum + value, 0) / means.length;
}

/** How long answers are, a line a way and tree. */
export function sizesTable(trees: readonly TreeQuality[]): string[] {
  const rows = trees.flatMap(({ name, sizes, definitions }) =>
    (Object.keys(WAYS) as Way[]).map((way) => {
      const { tokens, bytes, line } = sizes[way];
      const cells = [tokens?.mean, tokens?.p95, bytes.mean, bytes.p95, bytes.most].map((n) => n?.toFixed(0) ?? "-");
      return [`${name}: ${WAY_NAMES[way]}`, ...cells, definitions > 0 ? line.toFixed(3) : "-"];
    }),
  );
  const head = ["an answer", "tokens", "p95", "bytes", "p95", "most", "defining line inside"];
  return columns([head, ...rows]);
}

/** The ways in words. */
export const WAY_NAMES: Readonly<Record<Way, string>> = {
  ten: "default form, ten files",
  five: "default form, five files",
  windows: "five whole windows",
};

/** Change of nDCG@10 since an earlier run, by group, with its standard error; a line a tree and one for the mean. */
export function sinceTable(trees: readonly TreeQuality[], earlier: readonly EarlierTree[]): string[] {
  const labels = [...new Set(trees.flatMap(({ kinds }) => selections(kinds).map(({ label }) => label)))];
  const rows = trees.map((tree) => ({ name: tree.name, cells: labels.map((label) => sinceOf(tree, earlier, label)) }));
  const means = labels.map((_, i) => {
    const present = rows.map(({ cells }) => cells[i]).filter((cell) => cell !== undefined);
    return present.length > 0 ? meanOf(present) : undefined;
  });
  const all = rows.length > 1 ? [...rows, { name: "mean", cells: means }] : rows;
  const body = all.map(({ name, cells }) => [name, ...cells.map(shownDifference)]);
  return columns([["nDCG@10 since earlier", ...labels], ...body]);
}

/** Of the questions that both runs have. */
function sinceOf(tree: TreeQuality, earlier: readonly EarlierTree[], label: string): Difference | undefined {
  const before = earlier.find(({ name }) => name === tree.name);
  const places = new Map(before?.ids.map((id, i) => [id, i]));
  const own = selections(tree.kinds).find((selection) => selection.label === label)?.places ?? [];
  const shared = own.filter((i) => places.has(tree.ids[i]!));
  if (!before || shared.length === 0) return undefined;
  return differenceOf(
    shared.map((i) => tree.each.ndcg[i]!),
    shared.map((i) => before.each.ndcg[places.get(tree.ids[i]!)!]!),
  );
}

interface Selection {
  label: string;
  places: number[];
}

/** The groups whose kinds there are, then all kinds; a group of one kind is that kind. */
function selections(kinds: readonly string[]): Selection[] {
  const groups = Object.entries(GROUPS).filter(([, members]) => members.length > 1);
  const grouped = groups.map(([name, members]) => ({
    label: `${name}: ${members.join(" + ")}`,
    places: placesOf(kinds, members),
  }));
  const single = [...new Set(kinds)].map((kind) => ({ label: kind, places: placesOf(kinds, [kind]) }));
  return [...grouped, ...single].filter(({ places }) => places.length > 0);
}
