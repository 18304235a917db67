/** Loaded before main.ts: a machine that no runtime is built for. */
Object.defineProperty(process, "arch", { value: "riscv64" });
