/** Rows of the collections that the tests of damage make. */
export const DIM = 16;
export const ROWS = 100;
export const ids = Array.from({ length: ROWS }, (_, i) => `row ${i}`);
export const metadata = ids.map((_, i) => ({ scope: i % 3, kind: `kind ${i % 5}`, note: "x".repeat(i % 7) }));
export const texts = ids.map((id, i) => `the text of ${id} is about ${["ships", "trees", "stars"][i % 3]}`);
