/** Stores and memories that a test or its file opens: the end of the test, or of the file, closes them. */

type Opened = Set<{ close(): Promise<unknown> }>;
const ofTest: Opened = new Set();
const ofFile: Opened = new Set();
let inTest = false;

/** Has something closed at the end of the test that is running; outside of a test, at the end of the file. */
export function closedAtEnd<T extends { close(): Promise<unknown> }>(one: T): T {
  (inTest ? ofTest : ofFile).add(one);
  return one;
}

/** Has something closed after the last test of the file, also if a test opens it. */
export function closedAfterFile<T extends { close(): Promise<unknown> }>(one: T): T {
  ofFile.add(one);
  return one;
}

export function beginTest(): void {
  inTest = true;
}

export function isInTest(): boolean {
  return inTest;
}

/** Closes what the test opened. */
export function closeOpened(): Promise<void> {
  inTest = false;
  return closeAll(ofTest);
}

/** Closes what the file opened outside of its tests. */
export function closeShared(): Promise<void> {
  return closeAll(ofFile);
}

/** Closes the last opened first. */
async function closeAll(opened: Opened): Promise<void> {
  const all = [...opened].reverse();
  opened.clear();
  const failures: unknown[] = [];
  for (const one of all) await one.close().catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
