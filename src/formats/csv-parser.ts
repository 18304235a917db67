/** The parser of csv-parse, in a module of its own, which is a late one (`src/build/late.ts`). */
export { parse } from "csv-parse";
