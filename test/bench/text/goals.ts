/** Figures against the goals. */
import { atLeast, atMost, type Line } from "../measure.ts";
import type { Figures, Own } from "./figures.ts";
import { KINDS, type Kind } from "./queries.ts";

const MB = 1e6;
/** Kinds of queries that the goal is about. */
const JUDGED: readonly Kind[] = ["6 words", "6 by frequency"];

/** All lines. */
export function goals(figures: Figures): Line[] {
  const { bytes, own } = figures;
  return [
    ...queryLines(figures),
    ...indexLines(own, bytes),
    ...addLines(own),
    ...embeddingLines(own),
    ...rowLines(own),
  ];
}

/** Means are judged: the costly queries are those with stop words, which a median leaves out. */
function queryLines({ own, peers }: Figures): Line[] {
  return KINDS.map((kind) => {
    const { mean, median } = own.asked[kind];
    const what = `${kind}, any of them, CPU time of a query, mean (median ${median.toFixed(3)})`;
    const rival = peers
      .map(({ name, asked }) => ({ name, value: asked[kind].mean }))
      .sort((a, b) => a.value - b.value)[0];
    const line: Line = { what, value: mean, unit: "ms" };
    if (rival)
      Object.assign(line, { against: `${rival.name}'s ${rival.value.toFixed(2)} ms`, ratio: mean / rival.value });
    return JUDGED.includes(kind) ? atMost(line, 0.5) : line;
  });
}

function indexLines({ ingest, build, compact, index }: Own, bytes: number): Line[] {
  const rate = (seconds: number) => bytes / MB / seconds;
  const percent = (part: number) => (part / bytes) * 100;
  const alone = build.cpu - compact.cpu;
  return [
    { what: "texts embedded and added, by the clock", value: rate(ingest.wall), unit: "MB/s" },
    { what: "texts embedded and added, a second of CPU", value: rate(ingest.cpu), unit: "MB/s" },
    atLeast(
      { what: "index built and rows rewritten with it, a second of CPU", value: rate(build.cpu), unit: "MB/s" },
      50,
    ),
    { what: "index built, less what a compaction takes", value: rate(alone), unit: "MB/s" },
    { what: "peak memory of the build", value: build.memory / MB, unit: "MB" },
    atMost({ what: "index on disk, of the text", value: percent(index), unit: "%" }, 25),
  ];
}

function addLines({ adds }: Own): Line[] {
  const what = `durable add with index (${adds.indexed.toFixed(2)} ms) to one of a row without text (${adds.plain.toFixed(2)} ms)`;
  return [
    atMost({ what, value: adds.ratio, unit: "times" }, 1.5),
    { what: `the first query after an add (the next: ${adds.second.toFixed(3)} ms)`, value: adds.first, unit: "ms" },
  ];
}

function embeddingLines({ embedding }: Own): Line[] {
  const english = `English text embedded, a second of CPU (${(embedding.bytes / MB).toFixed(1)} MB)`;
  return [
    atLeast({ what: english, value: embedding.rate / MB, unit: "MB/s" }, 60),
    atMost({ what: "a query of six words embedded, CPU time", value: embedding.query * 1e6, unit: "us" }, 50),
    atLeast({ what: "code embedded, a minute of CPU", value: embedding.lines / 1e6, unit: "million lines" }, 1),
  ];
}

function rowLines({ rows }: Own): Line[] {
  const chunks = `${rows.rows} chunks of code as f32 rows, beside the text`;
  const shares = `${rows.index.toFixed(0)} of them the index`;
  return [
    atMost({ what: `${chunks}, compacted`, value: rows.compacted, unit: "bytes" }, 9216),
    atMost({ what: `${chunks}, as added`, value: rows.added, unit: "bytes" }, 9216),
    atMost(
      { what: `${rows.repositoryRows} rows of a repository (${shares})`, value: rows.repository, unit: "bytes" },
      2048,
    ),
  ];
}
