/** Figures of trees against the goals. */
import type { Line } from "../measure.ts";
import type { TreeQuality, Way } from "./figures.ts";
import { GROUPS, type Group, meanAt, placesOf } from "./score.ts";
import { WAY_NAMES } from "./table.ts";

/** nDCG@10 by file, the mean of the development trees. */
const LEAST: Readonly<Record<Group, number>> = { message: 0.56, identifier: 0.98, path: 0.98, test: 0.88 };
/** Tokens of an answer in the default form, in the mean. */
const MOST_TOKENS = 1200;
/** Share of the questions about a definition whose answer holds its line. */
const LEAST_LINES = 0.97;

/** All goals, for the trees that have what they are about. */
export function goals(trees: readonly TreeQuality[]): Line[] {
  const kinds = (Object.keys(GROUPS) as Group[]).flatMap((group): Line[] => {
    const means = trees.flatMap(({ kinds: own, each }) => {
      const places = placesOf(own, GROUPS[group]);
      return places.length > 0 ? [meanAt(each.ndcg, places)] : [];
    });
    if (means.length === 0) return [];
    const [value, least] = [mean(means), LEAST[group]];
    const what = `mean of ${means.length} trees: ${group}`;
    return [{ what, value, unit: "nDCG@10", goal: `at least ${least.toFixed(2)}`, met: value >= least }];
  });
  const ways: readonly Way[] = ["five", "ten"];
  return [...kinds, ...ways.flatMap((way) => [...tokenLine(trees, way), ...definitionLine(trees, way)])];
}

function tokenLine(trees: readonly TreeQuality[], way: Way): Line[] {
  const counted = trees.map(({ sizes }) => sizes[way].tokens?.mean).filter((tokens) => tokens !== undefined);
  if (counted.length === 0) return [];
  const value = mean(counted);
  const [what, goal] = [`an answer, ${WAY_NAMES[way]}`, `at most ${MOST_TOKENS}`];
  return [{ what, value, unit: "tokens", goal, met: value <= MOST_TOKENS }];
}

function definitionLine(trees: readonly TreeQuality[], way: Way): Line[] {
  const asked = trees.filter(({ definitions }) => definitions > 0);
  if (asked.length === 0) return [];
  const value = mean(asked.map(({ sizes }) => sizes[way].line));
  const what = `answers about a definition with its line, ${WAY_NAMES[way]}`;
  return [{ what, value, unit: "of them", goal: `at least ${LEAST_LINES}`, met: value >= LEAST_LINES }];
}

const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
