/** Words of many languages for the same symbols: CLDR's keywords and names of emoji, from its packages of JSON. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Of a symbol in one language. */
export interface Keywords {
  keywords: string[];
  names: string[];
}

interface File {
  annotations: Record<string, { default?: string[]; tts?: string[] }>;
}

/** Skins and hair are variants of a symbol that is there already. */
const VARIANT = /[\u{1F3FB}-\u{1F3FF}\u{1F9B0}-\u{1F9B3}]/u;

/**
 * By symbol. Those that are made of several (flags, people at work) are in the folder `annotationsDerived`.
 * @throws Error where the folder lacks the language
 */
export function readKeywords(folder: string, language: string): Map<string, Keywords> {
  const symbols = new Map<string, Keywords>();
  for (const name of ["annotations", "annotationsDerived"]) {
    const path = join(folder, name, language, "annotations.json");
    if (name === "annotationsDerived" && !existsSync(path)) continue;
    const file = JSON.parse(readFileSync(path, "utf8"))[name] as File;
    for (const [symbol, { default: keywords = [], tts: names = [] }] of Object.entries(file.annotations)) {
      if (!VARIANT.test(symbol)) symbols.set(symbol, { keywords, names });
    }
  }
  return symbols;
}
