/** The times that questions name, and that rows of these times come first. */
import { describe, expect, test } from "bun:test";
import { Put } from "../../src/store/writer.ts";
import { putDated } from "../../src/texts/dated.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { timeIn } from "../../src/texts/question-times.ts";
import { searchTexts } from "../../src/texts/search.ts";
import { native, openStore } from "../fixture.ts";

const NOW = Date.UTC(2026, 10, 28, 12);
/** "from/until" by days, or undefined. */
const read = (question: string, now = NOW) => {
  const range = timeIn(question, now);
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return range && `${day(range.from)}/${day(range.until)}`;
};

describe("a time", () => {
  const named: [string, string][] = [
    ["Who did Maria have dinner with on May 3, 2023?", "2023-05-03/2023-05-04"],
    ["what broke on the 3rd of December 2025", "2025-12-03/2025-12-04"],
    ["2022-08-10 deploy", "2022-08-10/2022-08-11"],
    ["deploys of 2022-08", "2022-08-01/2022-09-01"],
    ["In July 2023, what did we ship?", "2023-07-01/2023-08-01"],
    ["the situation in 2022", "2022-01-01/2023-01-01"],
    ["Was hab ich am 10. August 2022 gesagt?", "2022-08-10/2022-08-11"],
    ["le 10 août 2022", "2022-08-10/2022-08-11"],
    ["el 10 de agosto de 2022", "2022-08-10/2022-08-11"],
    ["10 августа 2022 года", "2022-08-10/2022-08-11"],
    ["2022年8月10日の会議", "2022-08-10/2022-08-11"],
    ["on May 3", "2026-05-03/2026-05-04"],
    ["what is due in December", "2025-12-01/2026-01-01"],
    ["im Mai", "2026-05-01/2026-06-01"],
    ["en mars", "2026-03-01/2026-04-01"],
    ["what did we do in april", "2026-04-01/2026-05-01"],
    ["op 3 september", "2026-09-03/2026-09-04"],
    ["last week or on 3 May 2023", "2023-05-03/2023-05-04"],
    ["yesterday", "2026-11-27/2026-11-28"],
    ["what did we decide last week?", "2026-11-16/2026-11-23"],
    ["the invoice of last month", "2026-10-01/2026-11-01"],
    ["letztes Jahr", "2025-01-01/2026-01-01"],
    ["29 February 2024", "2024-02-29/2024-03-01"],
  ];
  test.each(named)("%s", (question, range) => expect(read(question)).toBe(range));

  test("of a day that does not exist the month counts; of a month that does not exist nothing", () => {
    expect(read("30 February 2022")).toBe("2022-02-01/2022-03-01");
    expect(read("29 February 2023")).toBe("2023-02-01/2023-03-01");
    for (const question of ["2022-13-01", "2022年13月"])
      expect([question, read(question)]).toEqual([question, undefined]);
  });

  const none = [
    "10/08/2022",
    "what may I do in march",
    "may 3 people join",
    "life in Mars",
    "RFC 2022",
    "sat in the sun",
    "",
  ];
  test.each(none)("not in: %s", (question) => expect(read(question)).toBeUndefined());

  test("the last month before this one, over a new year", () => {
    expect(read("last month", Date.UTC(2026, 0, 3))).toBe("2025-12-01/2026-01-01");
    expect(read("last week", Date.UTC(2026, 0, 1))).toBe("2025-12-22/2025-12-29");
  });

  test("not in a text that is passed as a question", () => {
    expect(read(`on May 3, 2023 ${"we met and talked ".repeat(40)}`)).toBeUndefined();
  });
});

test("a search prefers rows of the time that is named, and leaves others in", async () => {
  const embedder = new MultigramEmbedder((await native()).kernel);
  const { profile } = embedder;
  const c = (await openStore()).create("diary", { dim: profile.dimension, embedderProfile: profile });
  const days = ["2023-05-03", "2023-05-10", "2024-01-05", "2025-09-09"];
  const created = days.map((day) => Date.parse(day));
  const texts = days.map(() => "Maria had dinner with a friend");
  await c.change((t) =>
    putDated(t, Put.ADD, { ids: days, texts, model: embedder.kernelModel, created, updated: created }),
  );
  const search = async (query: string, timesAreEvents?: boolean) =>
    (await searchTexts(c, embedder, query, { topK: 4, timesAreEvents, now: NOW })).rows;
  for (const day of days) {
    const query = `who did Maria have dinner with on ${day}?`;
    const ids = (await search(query)).map(({ id }) => id);
    expect(ids[0]).toBe(day);
    expect(ids.toSorted()).toEqual(days);
    if (day === days[3]) expect((await search(query, false))[0]!.id).not.toBe(day);
  }
  expect((await search("Maria's dinner in January 2024"))[0]!.id).toBe("2024-01-05");
  // Some days later is nearer than some months.
  expect((await search("Maria's dinner on 2023-05-08")).map(({ id }) => id).slice(0, 2)).toEqual([
    "2023-05-10",
    "2023-05-03",
  ]);
});
