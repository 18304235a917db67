/** Most commands have ended by then: what they compiled would not have run often enough to be worth it. */
const SHORT_MS = 100;

/** The executable is compiled for speed of start; where there is real work, time is soon better spent on optimising. */
export function optimiseForWork(): void {
  const optimise = () => (Bun.unsafe as { setJITPolicy?(policy: number): void }).setJITPolicy?.(1);
  setTimeout(optimise, SHORT_MS).unref();
}
