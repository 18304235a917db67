/** Stores and memories that a test opens: the end of the test closes them. */

const opened = new Set<{ close(): Promise<unknown> }>();
let isInTest = false;

/** Has something closed at the end of the test that is running. What is opened outside of a test stays open. */
export function closedAtEnd<T extends { close(): Promise<unknown> }>(one: T): T {
  if (isInTest) opened.add(one);
  return one;
}

export function beginTest(): void {
  isInTest = true;
}

/** Closes the last opened first. */
export async function closeOpened(): Promise<void> {
  isInTest = false;
  const all = [...opened].reverse();
  opened.clear();
  const failures: unknown[] = [];
  for (const one of all) await one.close().catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
