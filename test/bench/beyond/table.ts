/** Figures of nodes as lines with their goals, and of the nodes that were measured beside what the model says. */
import { columns } from "../columns.ts";
import { atLeast, atMost, type Line, noneOf } from "../measure.ts";
import type { Crowd, Figures, Load, Rate } from "./figures.ts";

const SAVES_LEAST = 1000;
const FOUND_MS = 150;
const CATCH_UP_S = 2;
const RATE_LEAST = 0.5;
const SEARCH_MOST = 1.05;

/** All lines of the parts that ran. */
export function lines(figures: Figures): Line[] {
  const { commits, standby, found, catchUp, move, search, executable } = figures;
  const all: Line[] = [];
  if (commits) {
    const { local, one, eight, nodes, wire } = commits;
    all.push(rate("1 writer without a database", local));
    all.push(rate("1 writer of a node", one), ...times("a save of 1 writer of a node", one, local));
    all.push(judged("8 writers of one node", eight));
    all.push(rate("8 nodes with a writer each", nodes));
    all.push(judged("8 clients of svc serve", wire));
    const loads = [one, eight, nodes, wire];
    all.push(
      noneOf(
        "saves",
        "saves that lost a race",
        sum(loads, ({ lost }) => lost),
      ),
    );
    all.push(
      noneOf(
        "notes",
        "acknowledged notes that are missing",
        sum(loads, ({ missing }) => missing),
      ),
    );
  }
  if (standby) {
    all.push(...times("a save of 1 writer, with a synchronous standby", standby.one));
    all.push(rate("8 writers of one node, with a synchronous standby", standby.eight));
  }
  if (found) {
    const what = `from a save to an answer of another process, ${found.count} notes`;
    all.push({ what: `p50 ${what}`, value: found.p50, unit: "ms" });
    all.push(atMost({ what: `p99 ${what}`, value: found.p99, unit: "ms" }, FOUND_MS));
  }
  if (catchUp) {
    const what = `open and answer after ${catchUp.generations} missed saves`;
    all.push(atMost({ what, value: catchUp.plain / 1000, unit: "s" }, CATCH_UP_S));
    const compacted = `${what}, compacted meanwhile`;
    all.push(atMost({ what: compacted, value: catchUp.compacted / 1000, unit: "s" }, CATCH_UP_S));
  }
  if (move) all.push(moved("svc mem copy --to", "inserts", move.to), moved("svc mem copy --from", "reads", move.from));
  if (search) {
    all.push({
      what: `CPU of a search on a node, ${search.rows} notes`,
      value: search.node,
      unit: "ms",
      against: `one without a database (${search.local.toFixed(3)} ms)`,
      ratio: search.ratio,
      goal: `at most ${SEARCH_MOST}`,
      met: search.ratio <= SEARCH_MOST,
    });
  }
  return [...all, { what: "the executable", value: executable / 1e6, unit: "MB" }];
}

const sum = (loads: readonly Load[], of: (load: Load) => number) => loads.reduce((all, load) => all + of(load), 0);

function rate(what: string, { saves, seconds, p50, p99 }: Load): Line {
  const ms = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  return { what: `saves of ${what} (${ms})`, value: saves / seconds, unit: "saves/s" };
}

const judged = (what: string, load: Load) => atLeast(rate(what, load), SAVES_LEAST);

/** @param against what the middle one is compared with */
function times(what: string, { p50, p99 }: Load, against?: Load): Line[] {
  const other = against && {
    against: `one without a database (${against.p50.toFixed(2)} ms)`,
    ratio: p50 / against.p50,
  };
  return [
    { what: `p50 of ${what}`, value: p50, unit: "ms", ...other },
    { what: `p99 of ${what}`, value: p99, unit: "ms" },
  ];
}

function moved(what: string, bare: string, { mb, perSecond, barePerSecond }: Rate): Line {
  const ratio = perSecond / barePerSecond;
  return {
    what: `${what}, ${mb.toFixed(0)} MB`,
    value: perSecond,
    unit: "MB/s",
    against: `bare ${bare} of the same bytes (${barePerSecond.toFixed(0)} MB/s)`,
    ratio,
    goal: `at least ${RATE_LEAST}`,
    met: ratio >= RATE_LEAST,
  };
}

/** Lines of text. */
export function crowdTable(measured: Crowd, modelled: Crowd): string[] {
  const row = (name: string, { saves, rounds, server }: Crowd) => {
    return [name, saves.toFixed(1), rounds.toFixed(1), `${(server * 100).toFixed(0)} %`];
  };
  const head = [`${measured.nodes} nodes and a writer here`, "saves/s", "rounds/s a node", "CPU of the database"];
  return columns([head, row("measured", measured), row("by the model", modelled)]);
}
