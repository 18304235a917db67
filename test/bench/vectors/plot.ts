/** Recall against queries a second as an SVG, one panel a data set, one line a contender. */
import { type Point, rate, type SetFigures } from "./figures.ts";

const WIDTH = 760;
const HEIGHT = 420;
const MARGIN = { left: 76, right: 150, top: 44, bottom: 52 };
const COLOURS = ["#c2185b", "#1565c0", "#2e7d32", "#ef6c00", "#6a1b9a", "#455a64"];
const X_TICKS = 5;

/** The whole file. */
export function plot(sets: readonly SetFigures[]): string {
  const panels = sets.map((set, i) => `<g transform="translate(0 ${i * HEIGHT})">${panel(set).join("\n")}</g>`);
  const [width, height] = [WIDTH, Math.max(1, sets.length) * HEIGHT];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...panels,
    "</svg>\n",
  ].join("\n");
}

function panel(set: SetFigures): string[] {
  const shown = set.contenders.filter(({ curve }) => curve.length > 0);
  const points = shown.flatMap(({ curve }) => curve);
  const title = `${set.name}, ${set.rows} x ${set.dim}: recall@10 against queries a CPU second`;
  const head = text(MARGIN.left, 24, title, `font-size="14" font-weight="bold"`);
  if (points.length === 0) return [head, text(MARGIN.left, HEIGHT / 2, "nothing was measured")];
  const from = Math.max(0, Math.floor(Math.min(...points.map((p) => p.recall)) * 20) / 20);
  const rates = points.map(rate);
  const [low, high] = [Math.floor(Math.log10(Math.min(...rates))), Math.ceil(Math.log10(Math.max(...rates)))];
  const [right, bottom] = [WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom];
  const x = (recall: number) => MARGIN.left + ((recall - from) / (1 - from || 1)) * (right - MARGIN.left);
  const y = (value: number) => bottom - ((Math.log10(value) - low) / (high - low || 1)) * (bottom - MARGIN.top);
  const line = (x1: number, y1: number, x2: number, y2: number, colour: string) =>
    `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="${colour}"/>`;

  const grid: string[] = [];
  for (let i = 0; i <= X_TICKS; i++) {
    const recall = from + ((1 - from) * i) / X_TICKS;
    grid.push(line(x(recall), MARGIN.top, x(recall), bottom, "#e0e0e0"));
    grid.push(text(x(recall), bottom + 18, recall.toFixed(2), `text-anchor="middle"`));
  }
  for (let power = low; power <= high; power++) {
    for (const step of power < high ? [1, 2, 5] : [1]) {
      const value = step * 10 ** power;
      grid.push(line(MARGIN.left, y(value), right, y(value), step === 1 ? "#bdbdbd" : "#eeeeee"));
      grid.push(text(MARGIN.left - 8, y(value) + 4, value.toLocaleString("en"), `text-anchor="end"`));
    }
  }
  const middle = (MARGIN.top + bottom) / 2;
  return [
    head,
    ...grid,
    text((MARGIN.left + right) / 2, HEIGHT - 14, "recall@10 on unseen queries", `text-anchor="middle"`),
    text(16, middle, "queries a CPU second", `text-anchor="middle" transform="rotate(-90 16 ${at(middle)})"`),
    ...shown.flatMap(({ name, curve }, i) => {
      const colour = COLOURS[i % COLOURS.length]!;
      const sorted = [...curve].sort((a, b) => a.recall - b.recall || rate(b) - rate(a));
      const place = (point: Point) => `${at(x(point.recall))},${at(y(rate(point)))}`;
      const legend = MARGIN.top + 10 + i * 20;
      return [
        `<polyline points="${sorted.map(place).join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...sorted.map(
          (p) =>
            `<circle cx="${at(x(p.recall))}" cy="${at(y(rate(p)))}" r="3" fill="${colour}">${tip(name, p)}</circle>`,
        ),
        `<rect x="${right + 16}" y="${legend - 9}" width="12" height="12" fill="${colour}"/>`,
        text(right + 34, legend + 2, name),
      ];
    }),
  ];
}

function tip(name: string, point: Point): string {
  const said = `${name} at ${point.setting}: recall ${point.recall.toFixed(4)}, ${Math.round(rate(point))} a second`;
  return `<title>${escaped(said)}</title>`;
}

const at = (value: number) => value.toFixed(1);
const escaped = (value: string) => value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function text(x: number, y: number, value: string, attributes = ""): string {
  return `<text x="${at(x)}" y="${at(y)}" fill="#212121" ${attributes}>${escaped(value)}</text>`;
}
