/** The film of the first minutes shows what the executable shows today, and nothing of the machine that it was made on. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LINES, record, textOf } from "../../src/build/docs/record.ts";
import { ROOT } from "../e2e/home.ts";
import { objection } from "./commands.ts";
import { wordsOf } from "./shell.ts";

const SVG = readFileSync(join(ROOT, "docs/first-minutes.svg"), "utf8");

/** The text of the last frame of a film. */
function lastFrame(svg: string): string {
  const lines = new Map([...svg.matchAll(/<g id="(\w+)">(.*?)<\/g>/g)].map(([, id, markup]) => [id, markup!]));
  const frame = svg.slice(svg.lastIndexOf('<g transform="translate('));
  const texts = [...frame.matchAll(/href="#(\w+)"/g)].map(([, id]) => {
    const parts = [...lines.get(id)!.matchAll(/>([^<]*)<\/text>/g)].map(([, text]) => text!);
    return parts.join(" ").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  });
  return texts.join("\n");
}

const withoutNumbers = (text: string) => text.replaceAll(/\d+/g, "0").replaceAll(/\n+/g, "\n");

test("the commands are such as svc accepts", async () => {
  for (const line of LINES) expect(await objection(wordsOf(line).slice(1), true)).toBeUndefined();
});

test("docs/first-minutes.svg ends as a recording does (repair it with: bun src/build/docs/record.ts)", async () => {
  const frames = await record();
  expect(withoutNumbers(lastFrame(SVG))).toBe(withoutNumbers(textOf(frames.at(-1)!.picture)));
});

test("it is small, has no script, loads nothing, and shows no folder of a machine", () => {
  expect(SVG.length).toBeLessThan(200_000);
  expect(SVG).not.toMatch(/<script|\son\w+=|url\((?!#c\))|@import|href="(?!#)|\/tmp\/|svc-recorded/);
});
