/** The executable is compiled for speed of start; from the first real work on, time is better spent on optimising. */
export function optimiseForWork(): void {
  (Bun.unsafe as { setJITPolicy?(policy: number): void }).setJITPolicy?.(1);
}
