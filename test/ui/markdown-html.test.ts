/** Whatever a text holds, its HTML has only the elements, attributes and addresses that Markdown may have, and fits. */
import { expect, test } from "bun:test";
import { termsOf, wordSpans } from "../../src/answers/words.ts";
import { differenceHtml, sidesHtml } from "../../src/ui/pages/rows/difference.ts";
import { markdownHtml } from "../../src/ui/pages/rows/markdown-html.ts";
import { cutTo, marked, plain } from "../../src/ui/pages/rows/text.ts";
import { random } from "../random.ts";

const SEED = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const TEXTS = 2_000;

/** What parsers of Markdown and of HTML trip over. */
const PARTS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<!--",
  "-->",
  "<![CDATA[",
  "]]>",
  "<a href='",
  "</p>",
  "[a](",
  "javascript:alert(1)",
  ")",
  "![",
  "](",
  "https://a.example/",
  "data:text/html,x",
  "vbscript:",
  "mailto:a@b.c",
  "[r]",
  "\n[r]: ",
  "<https://x.example>",
  "<javascript:x>",
  "`",
  "``",
  "```\n",
  "~~~",
  "**",
  "_",
  "~~",
  "# ",
  "> ",
  "- ",
  "1. ",
  "|",
  "|-|-|\n",
  "\n",
  "\n\n",
  "    ",
  "\t",
  "\\",
  "&#x6a;avascript:",
  "&lt;",
  "&amp;#60;",
  "&#0;",
  "&#x202e;",
  "\u202e",
  "\u0000",
  "\u001b[31m",
  "\ud800",
  "\u200b",
  "'",
  '"',
  "\u2028",
  "word",
  " ",
  "漢字",
  "é",
  "👩\u200d👧",
];

const TAGS = /^(?:p|h[3-6]|em|strong|s|code|pre|ul|ol|li|blockquote|hr|br|table|thead|tbody|tr|th|td|span|a)$/;
const ATTRIBUTES = /^(?:class|role|scope|data-column|href|rel|target|referrerpolicy|start)$/;
const ADDRESS = /^(?:https?:\/\/|mailto:)/i;

/** Why HTML is not what Markdown may become; undefined where it is. */
function objection(html: string): string | undefined {
  if (/[^\P{C}\n\t\u200d]/u.test(html)) return "a character that is not seen";
  const rest = html.replace(
    /<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")*)>/g,
    (tag, end: string, name: string, all: string) => {
      const attributes = [...all.matchAll(/ ([a-z-]+)="([^"]*)"/g)];
      const isFine = attributes.every(([, key, value]) => {
        return (
          ATTRIBUTES.test(key!) &&
          (key !== "href" || ADDRESS.test(value!)) &&
          !/&(?!(?:amp|lt|gt|quot|#39);)/.test(value!)
        );
      });
      const isLink =
        name !== "a" ||
        end === "/" ||
        attributes.some(([, key, value]) => key === "rel" && value === "noreferrer noopener");
      return TAGS.test(name) && isFine && isLink ? "" : `BAD${tag}`.replace(/[<>]/g, " ");
    },
  );
  if (rest.includes("BAD")) return rest.slice(rest.indexOf("BAD"), rest.indexOf("BAD") + 200);
  const sign = /[<>]|&(?!(?:amp|lt|gt|quot|#39);)/.exec(rest);
  return sign === null ? undefined : rest.slice(Math.max(0, sign.index - 50), sign.index + 50);
}

function textsOf(count: number): string[] {
  const next = random(SEED);
  return Array.from({ length: count }, () => {
    const length = 1 + Math.floor(next() * 40);
    return Array.from({ length }, () => PARTS[Math.floor(next() * PARTS.length)]!).join("");
  });
}

test("Markdown of any text has nothing that runs, loads or hides", () => {
  console.log(`Markdown fuzz: SVC_FUZZ_SEED=${SEED}`);
  for (const text of textsOf(TEXTS)) {
    const why = objection(markdownHtml(text));
    if (why !== undefined) throw new Error(`${why}: ${JSON.stringify(text)}`);
  }
});

test("a cut text has at most the bytes that it may have, and is a beginning", () => {
  for (const [i, text] of textsOf(TEXTS / 4).entries()) {
    const bytes = (i * 37) % 900;
    for (const render of [plain, markdownHtml, (part: string) => marked(part, [{ stem: "word", isWord: true }])]) {
      const { html, shown } = cutTo(text, bytes, render);
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(bytes);
      expect(html).toBe(render(text.slice(0, shown)));
    }
  }
});

test("differences of any texts are bounded, and have no other element", () => {
  const texts = textsOf(TEXTS / 4);
  for (let i = 1; i < texts.length; i++) {
    const [before, after, bytes] = [texts[i - 1]!, texts[i]!, 40 + ((i * 37) % 900)];
    const sides = sidesHtml(before, after, bytes);
    for (const html of [differenceHtml(before, after, bytes), sides.before, sides.after]) {
      // Where no byte is left, the sign for what is left out follows.
      expect(Buffer.byteLength(html)).toBeLessThanOrEqual(bytes + 24);
      expect(html.replace(/<\/?(?:ins|del)>/g, "")).not.toMatch(/[<>]/);
    }
  }
});

test("the words of a question are found in order, none within another", () => {
  const terms = termsOf("deploy dep 漢字");
  const text = "Deployments deploy dep; 漢字漢字, redeploy";
  expect(wordSpans(text, terms).map(({ start, end }) => text.slice(start, end))).toEqual([
    "Deployments",
    "deploy",
    "dep",
    "漢字",
    "漢字",
  ]);
});
