/** Whether two texts share a word of content: a rule of its own, so that no table or stemmer of svc decides. */

const FUNCTION_WORDS = new Set(
  (
    "a about above after again all allowed also always am an and another any anybody are as at be because been before " +
    "below but by came can cannot come comes could did didn do does done each else few for from further get gets got " +
    "had has have he her here him his how i if in instead into is it its last least many may me more most much must my " +
    "need needs never no nor not now of off on once only one or other our out over own per same say says she " +
    "should since so some someone than that the their them then there these they this those through to too two under " +
    "until up us use used uses very was way we were what when where which while who whom why will with without would " +
    "you your t s " +
    "nobody"
  ).split(" "),
);
const ENDINGS = [
  ...["ational", "ations", "ation", "ments", "ment", "ness", "ities", "ity", "ings", "ing", "ions", "ion"],
  ...["ers", "er", "ors", "or", "ies", "ied", "ed", "es", "ly", "al", "able", "ive", "s", "e", "y"],
];
/** Words that begin with the same so many letters are taken as one. */
const COMMON_LETTERS = 5;

/** The words of content of a text, without their endings. */
export function stems(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => !FUNCTION_WORDS.has(word)).map(stem));
}

/** Stems of one text that are in the other too, or begin like one of it. */
export function sharedStems(one: string, other: string): string[] {
  const others = [...stems(other)];
  return [...stems(one)].filter((stem) => others.some((known) => isSame(stem, known)));
}

function stem(word: string): string {
  const ending = ENDINGS.find((end) => word.endsWith(end) && word.length - end.length >= 3);
  const cut = ending ? word.slice(0, -ending.length) : word;
  // "stopped" and "stop"
  return /([^aeiou\d])\1$/.test(cut) && cut.length > 3 ? cut.slice(0, -1) : cut;
}

function isSame(one: string, other: string): boolean {
  return (
    one === other || (one.length >= COMMON_LETTERS && one.slice(0, COMMON_LETTERS) === other.slice(0, COMMON_LETTERS))
  );
}
