/** Most commands end before: optimising their code would take longer than it saves. */
const SHORT_MS = 100;

/** Bun optimises code late in the executable, so that it starts fast. A command that runs longer lets it optimise early. */
export function optimiseForWork(): void {
  const optimise = () => (Bun.unsafe as { setJITPolicy?(policy: number): void }).setJITPolicy?.(1);
  setTimeout(optimise, SHORT_MS).unref();
}
