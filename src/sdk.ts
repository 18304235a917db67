/**
 * The SDK: `import { Store } from "svc"`. A memory directory in this process, or behind `svc serve`, with the same methods.
 *
 * ```ts
 * await using store = await Store.open();
 * const notes = await store.createCollection("notes", { embedder: "multigram" });
 * await notes.addTexts(["we deploy blue green on Tuesdays"], { metadata: [{ scope: "ops" }] });
 * await notes.save();
 * const { ids } = await notes.searchText("how do we deploy", { where: Eq("scope", "ops") });
 * ```
 *
 * Runs from source under Bun, with the native runtime that `svc login` installs.
 */

export type { AlteredCollection, AlterOptions } from "./api/alter.ts";
export type { BackupOptions, BackupResult } from "./api/backup.ts";
export type { CheckedCollection, CheckedDamage, CheckOptions } from "./api/check.ts";
export { LocalCollection as Collection } from "./api/local-collection.ts";
export { LocalStore as Store, type OpenOptions } from "./api/local-store.ts";
export type { LocalCreateOptions } from "./api/named-collections.ts";
export type * from "./api/options.ts";
export type { RepairedCollection, RepairOptions } from "./api/repair.ts";
export type { RestoredCollection, RestoreOptions, RestoreResult } from "./api/restore.ts";
export type { CopiedCollection } from "./api/snapshot.ts";
export * from "./remote/client/index.ts";
export type { CollectionOverview } from "./store/overview.ts";
export { CallableEmbedder, type CallableOptions, type EmbeddedTexts, type EmbedFunction } from "./texts/callable.ts";
export type { Embedder, EmbedderProfile } from "./texts/embedder.ts";
export type { EmbedderSource } from "./texts/embedders.ts";
export type { Save, Version } from "./texts/history/history.ts";
export type { Undone, UndoOptions, UndoTarget } from "./texts/history/undo.ts";
export { BigramEmbedder, MultigramEmbedder } from "./texts/kernel.ts";
export { SentenceEmbedder } from "./texts/sentence.ts";
export type { Decision, Tuner, TuningContext } from "./tune/context.ts";
export { type LatencyBudgetOptions, LatencyBudgetTuner } from "./tune/latency-budget.ts";
export type { Expected, IvfPlan, Plan } from "./tune/plan.ts";
