/** FFI declarations of libty_runtime's functions (ty_runtime/ty_runtime.h), and the decoding of its errors. */
import { type dlopen, FFIType } from "bun:ffi";
import { NativeError, type StatusCode } from "./status.ts";

/** The `TY_ABI_VERSION` of these declarations. */
export const TY_ABI_VERSION = 26;

/** Calls that a worker can run: `TY_OP_*`. */
export const Op = {
  PUT: 1,
  DELETE: 2,
  SAVE: 3,
  COMPACT: 4,
  BUILD_IVF: 5,
  BUILD_LEXICAL: 6,
  ASK: 7,
  VERIFY: 8,
  SEARCH_MANY: 9,
  COPY: 10,
  CHECK: 11,
  MEANING_ENCODE: 12,
  SAVE_STAGED: 13,
  COMPACT_BESIDE: 14,
  ENCODE_AHEAD: 15,
} as const;

const p = FFIType.ptr;
const status = FFIType.i32;
const call3 = { args: [p, p, p], returns: status } as const;
const call2 = { args: [p, p], returns: status } as const;
/** The declarations for `dlopen`. */
export const symbols = {
  ty_abi_version: { args: [], returns: FFIType.u32 },
  ty_env_open: { args: [p, FFIType.u32, p, p], returns: status },
  ty_env_close: { args: [p], returns: FFIType.void },
  ty_env_label: { args: [p, p], returns: FFIType.void },
  ty_stop_after_signal: { args: [FFIType.u64, FFIType.u64, p, FFIType.u64, p], returns: status },
  ty_terms: call3,
  ty_occurrences: call2,
  ty_collection_new: { args: [p, p, p, FFIType.u64, p, p], returns: status },
  ty_collection_at: { args: [p, p, p, p], returns: status },
  ty_collection_open: { args: [p, p, p, p], returns: status },
  ty_collection_close: { args: [p], returns: FFIType.void },
  ty_refresh: call2,
  ty_begin: call2,
  ty_rollback: { args: [p], returns: FFIType.void },
  ty_coordinate: { args: [p, p, FFIType.u32, p], returns: status },
  ty_prepared: call3,
  ty_decide: { args: [p, FFIType.u32, p, p], returns: status },
  ty_follow_begun: call2,
  ty_env_model: { args: [p, p, FFIType.u64, p], returns: status },
  ty_meaning_put: call3,
  ty_meaning_drop: call2,
  ty_meaning_get: call3,
  ty_meaning_take: call3,
  ty_ahead_close: { args: [p], returns: FFIType.void },
  ty_says: { args: [p, p], returns: FFIType.void },
  ty_holder: { args: [p, p], returns: FFIType.void },
  ty_note: { args: [p, p, FFIType.u64, p, FFIType.u64, p], returns: status },
  ty_set: { args: [p, p, p, FFIType.u64, p], returns: status },
  ty_ask: call3,
  ty_ask_many: { args: [p, p, p, p], returns: status },
  ty_fuse_scores: call2,
  ty_passages: call3,
  ty_passages_many: call3,
  ty_get: call3,
  ty_neighbours: call3,
  ty_ids: call3,
  ty_count: call3,
  ty_days: call3,
  ty_sample: call3,
  ty_manifest: call3,
  ty_stats: call3,
  ty_partitions: call3,
  ty_damages: call3,
  ty_origin: { args: [p, p, FFIType.u64, p], returns: status },
  ty_history_adopt: call3,
  ty_saves: call3,
  ty_changes: call3,
  ty_same: call3,
  ty_salvage_open: { args: [p, p, p, p], returns: status },
  ty_salvage_close: { args: [p], returns: FFIType.void },
  ty_salvage_next: call3,
  ty_salvage_read: call3,
  ty_restore_bit: { args: [p, p, FFIType.u64, FFIType.u32], returns: FFIType.u32 },
  ty_tree_open: { args: [p, p, p, p], returns: status },
  ty_tree_close: { args: [p], returns: FFIType.void },
  ty_tree_rest: { args: [p], returns: FFIType.void },
  ty_tree_tell: call3,
  ty_tree_walk: { args: [p, p, p, p], returns: status },
  ty_tree_read: call3,
  ty_submit_many: { args: [p, p, p, p, p, FFIType.u32], returns: status },
  ty_submit_walk: { args: [p, p, p, p, p, FFIType.u32], returns: status },
  ty_submit: { args: [p, FFIType.u32, p, p, p, p, p, FFIType.u32], returns: status },
  ty_test_fail: { args: [p, FFIType.u64, FFIType.i32, FFIType.u32], returns: FFIType.u64 },
} as const;

/** The opened functions. */
export type Symbols = ReturnType<typeof dlopen<typeof symbols>>["symbols"];

/** `sizeof(ty_error)`. */
const ERROR_BYTES = 1024;

/** A `ty_error` for one call. Above 1,000 bytes, so that its address does not change. */
export function newError(): Uint8Array {
  return new Uint8Array(new ArrayBuffer(ERROR_BYTES));
}

/** The failure that a `ty_error` describes. */
export function toError(code: number, bytes: Uint8Array): NativeError {
  const view = new DataView(bytes.buffer);
  const end = bytes.indexOf(0, 8);
  const message = new TextDecoder().decode(bytes.subarray(8, end < 0 ? undefined : end));
  return new NativeError(code as StatusCode, view.getInt32(4, true), message);
}
