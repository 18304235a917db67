/**
 * The times that a question names: "on 10 August 2022", "im Mai", "la semaine dernière", 2022-08. Only what means one
 * time wherever it is read: 10/08/2022 is two days.
 *
 * Date parsers of npm (chrono-node 2.10) were tried: they take "sat" and "sun" for days, "march of" for a month and
 * 10/08/2022 for a day in October, and to name the languages of a question is left to the caller.
 */

/** From a time on and before another one, in milliseconds since 1970. Days are those of UTC, as all times of svc. */
export interface TimeRange {
  from: number;
  until: number;
}

/** A longer question is a text that someone passed on: its dates are not what is asked about. UTF-16 units. */
const QUESTION_MAX = 500;
const DAY_MS = 86_400_000;
/**
 * Names of months, a month a line: English, German, French, Spanish, Italian, Portuguese and Dutch, each name once, then
 * Polish and Russian, alone and as in a date. A table, because to ask Intl for them takes 27 ms. A further language needs
 * its names here and, if it has others, its words in OF and READINGS.
 */
const NAMES = [
  "january januar janvier enero gennaio janeiro januari styczeń stycznia январь января",
  "february februar février febrero febbraio fevereiro februari luty lutego февраль февраля",
  "march märz mars marzo março maart marzec marca март марта",
  "april avril abril aprile kwiecień kwietnia апрель апреля",
  "may mai mayo maggio maio mei maj maja май мая",
  "june juni juin junio giugno junho czerwiec czerwca июнь июня",
  "july juli juillet julio luglio julho lipiec lipca июль июля",
  "august août agosto augustus sierpień sierpnia август августа",
  "september septembre septiembre settembre setembro wrzesień września сентябрь сентября",
  "october oktober octobre octubre ottobre outubro październik października октябрь октября",
  "november novembre noviembre novembro listopad listopada ноябрь ноября",
  "december dezember décembre diciembre dicembre dezembro grudzień grudnia декабрь декабря",
];
/** Stands in READINGS for the name of any month, which a question's first expression gets. */
const MONTH = "(MONTH)";
const DAY = "(\\d{1,2})(?:st|nd|rd|th|er|º|\\.)?";
const YEAR = "((?:19|20)\\d\\d)";
const EDGE = "(?![\\p{L}\\p{N}])";
const START = "(?<![\\p{L}\\p{N}])";
const OF = "(?:\\s+(?:of|de|del|di))?\\s+";

/**
 * A part of every question in which a reading finds something. The readings have all names of months in them, and to compile
 * them takes 2 ms, a tenth of a small command: a process compiles those that its questions may need.
 */
const HINTS = {
  digit: /\d/,
  before: /(?<![\p{L}\p{N}])(?:in|during|im|en|em|nel)\s/iu,
  word: /yesterday|gestern|hier|ayer|ieri|ontem|gisteren|wczoraj|вчера|last|letzte|derni|pasad|scors|passad/iu,
};

/** Its expression is made when a question first has the hint. */
interface Reading {
  readonly hint: keyof typeof HINTS;
  readonly make: () => RegExp;
  readonly read: (found: RegExpExecArray, now: number) => TimeRange | undefined;
  made?: RegExp;
}

const reading = (hint: Reading["hint"], source: string, read: Reading["read"]): Reading => {
  return { hint, make: () => new RegExp(`${START}${source.replace(MONTH, anyMonth)}${EDGE}`, "giu"), read };
};

/** The first that finds something counts: more exact ones come first. */
const READINGS: readonly Reading[] = [
  reading("digit", `${YEAR}-(\\d\\d)-(\\d\\d)`, ([, y, m, d]) => dayOf(Number(y), Number(m) - 1, Number(d))),
  {
    hint: "digit",
    make: () => /((?:19|20)\d\d)年(\d{1,2})月(\d{1,2})日/g,
    read: ([, y, m, d]) => dayOf(Number(y), Number(m) - 1, Number(d)),
  },
  reading("digit", `${DAY}${OF}${MONTH}(?:,?${OF}${YEAR})?`, ([, d, m, y], now) => dated(d!, m!, y, now)),
  reading("digit", `${MONTH}\\s+${DAY}(?:,?\\s+${YEAR})?`, ([, m, d, y], now) => dated(d!, m!, y, now)),
  reading("digit", `${MONTH},?${OF}${YEAR}`, ([, m, y]) => monthOf(Number(y), numberOf(m!))),
  {
    hint: "digit",
    make: () => /((?:19|20)\d\d)年(\d{1,2})月/g,
    read: ([, y, m]) => monthOf(Number(y), Number(m) - 1),
  },
  reading("digit", `${YEAR}-(\\d\\d)`, ([, y, m]) => monthOf(Number(y), Number(m) - 1)),
  reading("before", `(in|during|im|en|em|nel)\\s+${MONTH}`, ([, before, m], now) => lastMonth(before!, m!, now)),
  reading("digit", `(?:in|during|im jahr|im jahre|en|em|nel|anno)\\s+${YEAR}`, ([, y]) => yearOf(Number(y))),
  reading("word", "(?:yesterday|gestern|hier|ayer|ieri|ontem|gisteren|wczoraj|вчера)", (_, now) => days(now, -1, 1)),
  reading(
    "word",
    "(?:last week|letzte woche|la semaine dernière|la semana pasada|la settimana scorsa|na semana passada)",
    (_, now) => days(now, -7 - weekday(now), 7),
  ),
  reading(
    "word",
    "(?:last month|letzten monat|le mois dernier|el mes pasado|il mese scorso|no mês passado)",
    (_, now) => monthOf(yearIn(now), new Date(now).getUTCMonth() - 1),
  ),
  reading("word", "(?:last year|letztes jahr|l'année dernière|el año pasado|l'anno scorso|no ano passado)", (_, now) =>
    yearOf(yearIn(now) - 1),
  ),
];

/**
 * The most exact time that a question names; undefined where it names none. Of a day that does not exist the month of
 * the year counts.
 * @param now what "last week" is before, and a month without a year; milliseconds since 1970
 */
export function timeIn(question: string, now: number): TimeRange | undefined {
  if (question.length > QUESTION_MAX) return undefined;
  for (const reading of READINGS) {
    if (!HINTS[reading.hint].test(question)) continue;
    reading.made ??= reading.make();
    const pattern = reading.made;
    pattern.lastIndex = 0;
    for (let found = pattern.exec(question); found; found = pattern.exec(question)) {
      const range = reading.read(found, now);
      if (range) return range;
    }
  }
  return undefined;
}

const anyMonth = (): string => `(${[...months().keys()].join("|")})`;
/** Of a month's name. */
const numberOf = (name: string): number => months().get(name.toLowerCase())!;
/** The months by name. */
function months(): ReadonlyMap<string, number> {
  byName ??= new Map(NAMES.flatMap((names, month) => names.split(" ").map((name) => [name, month] as const)));
  return byName;
}
let byName: ReadonlyMap<string, number> | undefined;
const yearIn = (time: number): number => new Date(time).getUTCFullYear();
/** From 0 on Mondays. */
const weekday = (time: number): number => (new Date(time).getUTCDay() + 6) % 7;

/** Undefined for a day that the month lacks. */
function dayOf(year: number, month: number, day: number): TimeRange | undefined {
  const from = Date.UTC(year, month, day);
  const date = new Date(from);
  return date.getUTCMonth() === month && date.getUTCDate() === day ? { from, until: from + DAY_MS } : undefined;
}

function monthOf(year: number, month: number): TimeRange | undefined {
  return month > 11 ? undefined : { from: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
}

function yearOf(year: number): TimeRange {
  return { from: Date.UTC(year, 0), until: Date.UTC(year + 1, 0) };
}

/** `count` days that begin `first` days after the day of `now`. */
function days(now: number, first: number, count: number): TimeRange {
  const from = Math.floor(now / DAY_MS) * DAY_MS + first * DAY_MS;
  return { from, until: from + count * DAY_MS };
}

/** English months in small letters that are verbs as well. */
const isVerb = (name: string): boolean => name === "may" || name === "march";

/** A day; without a year the last one that has begun. */
function dated(day: string, name: string, year: string | undefined, now: number): TimeRange | undefined {
  const at = (given: number) => dayOf(given, numberOf(name), Number(day));
  if (year !== undefined) return at(Number(year));
  const latest = at(yearIn(now));
  if (isVerb(name)) return undefined;
  return latest && latest.from > now ? at(yearIn(now) - 1) : latest;
}

/** A month without a year, the last one that has begun. "In Mars" is about the planet. */
function lastMonth(before: string, name: string, now: number): TimeRange | undefined {
  if (isVerb(name) || (/^(in|during)$/i.test(before) && /^mars$/i.test(name))) return undefined;
  const latest = monthOf(yearIn(now), numberOf(name));
  return latest && latest.from > now ? monthOf(yearIn(now) - 1, numberOf(name)) : latest;
}
