/** What a command does after it has printed its answer, before the process ends. */

const works: (() => Promise<void>)[] = [];

/** Has `work`, which must not throw, done at the end of the command, unless that is interrupted. */
export function atEnd(work: () => Promise<void>): void {
  works.push(work);
}

/** Does it, in the order in which it came. */
export async function endOfCommand(): Promise<void> {
  for (const work of works.splice(0)) await work();
}
