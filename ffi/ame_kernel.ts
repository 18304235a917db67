/** The typed interface of libame_kernel (ame_kernel/ame_kernel.h): pure computation, no policy. */
import { CString, dlopen, FFIType, type Pointer } from "bun:ffi";
import { address, packStrings } from "./packing.ts";

/** The `AME_ABI_VERSION` of this interface. */
export const AME_ABI_VERSION = 14;

/** The embedding models of the kernel. */
export const Model = { MULTIGRAM: 0, BIGRAM: 1 } as const;
export type ModelCode = (typeof Model)[keyof typeof Model];

/** Documents and queries may be weighted differently. */
export const Role = { DOCUMENT: 0, QUERY: 1 } as const;
export type RoleCode = (typeof Role)[keyof typeof Role];

/** Elements of a sentence encoder's vectors: `AME_ENCODING_DIM`. */
export const ENCODING_DIM = 128;
/** The struct `ame_encoding`: the codes, their scale, the gate. */
const ENCODING_BYTES = 136;
const ENCODE_ALWAYS = 2;

const symbols = {
  ame_abi_version: { args: [], returns: FFIType.u32 },
  ame_kernel_table: { args: [], returns: FFIType.ptr },
  ame_isa_count: { args: [], returns: FFIType.u32 },
  ame_isa_name: { args: [FFIType.u32], returns: FFIType.ptr },
  ame_isa_supported: { args: [FFIType.u32], returns: FFIType.u32 },
  ame_isa_active: { args: [], returns: FFIType.ptr },
  ame_isa_force: { args: [FFIType.ptr], returns: FFIType.i32 },
  ame_embed_dim: { args: [FFIType.u32], returns: FFIType.u32 },
  ame_embed_version: { args: [FFIType.u32], returns: FFIType.u32 },
  ame_embed: {
    args: [FFIType.u32, FFIType.u32, FFIType.ptr, FFIType.ptr, FFIType.u64, FFIType.ptr],
    returns: FFIType.i32,
  },
  ame_encoder_check: { args: [FFIType.ptr, FFIType.u64], returns: FFIType.i32 },
  ame_encoder_id: { args: [FFIType.ptr], returns: FFIType.u64 },
  ame_encoder_scratch: { args: [], returns: FFIType.u64 },
  ame_encode: {
    args: [FFIType.ptr, FFIType.u32, FFIType.ptr, FFIType.u64, FFIType.ptr, FFIType.ptr, FFIType.ptr],
    returns: FFIType.i32,
  },
} as const;

/** A sentence encoder's model that the kernel has checked. */
export interface SentenceModel {
  /** Identifies the model and the method: vectors of two ids are not comparable. */
  readonly id: string;
  /** The vector of a text, of unit length, whatever its language; 1 to 40 ms. */
  encode(text: string, out: Float32Array): void;
}

/** An open kernel. It stays mapped until the process ends: other libraries hold its table. */
export interface Kernel {
  /** The kernel's function table, for libty_runtime. */
  readonly table: Pointer;
  /** The library's CPU paths that this machine supports. */
  isas(): string[];
  /** The path in use. */
  activeIsa(): string;
  /** Forces a path; false where it is unknown or unsupported. */
  forceIsa(name: string): boolean;
  embedDim(model: ModelCode): number;
  embedVersion(model: ModelCode): number;
  /**
   * Embeds texts into `texts.length` × `embedDim(model)` floats, row-major, each row of unit length; into `out` where
   * given.
   */
  embed(model: ModelCode, role: RoleCode, texts: readonly string[], out?: Float32Array): Float32Array;
  /** The encoder over a model's bytes, which must not change; undefined where they are not a model of this version. */
  sentenceModel(bytes: Uint8Array): SentenceModel | undefined;
}

/** Maps the verified library at `path` (src/trust/runtime/load.ts). @throws Error for another ABI version */
export function openKernel(path: string): Kernel {
  const { symbols: c } = dlopen(path, symbols);
  const abi = c.ame_abi_version();
  if (abi !== AME_ABI_VERSION) throw new Error(`libame_kernel speaks ABI ${abi}, this executable ${AME_ABI_VERSION}`);
  const name = (at: unknown) => (at ? new CString(Number(at) as Pointer).toString() : "");
  return {
    table: Number(c.ame_kernel_table()) as Pointer,
    isas: () =>
      Array.from({ length: c.ame_isa_count() }, (_, i) => i)
        .filter((i) => c.ame_isa_supported(i) === 1)
        .map((i) => name(c.ame_isa_name(i))),
    activeIsa: () => name(c.ame_isa_active()),
    forceIsa: (isa) => c.ame_isa_force(new TextEncoder().encode(isa + "\0")) === 0,
    embedDim: (model) => c.ame_embed_dim(model),
    embedVersion: (model) => c.ame_embed_version(model),
    embed(model, role, texts, into) {
      const floats = texts.length * c.ame_embed_dim(model);
      const out = into ?? new Float32Array(floats);
      if (out.length !== floats) throw new Error(`${texts.length} vectors take ${floats} floats, not ${out.length}`);
      if (texts.length === 0) return out;
      const { bytes, ends } = packStrings(texts);
      const status = c.ame_embed(model, role, address(bytes) as Pointer, ends, texts.length, out);
      if (status !== 0) throw new Error(`ame_embed refused its arguments (model ${model}, role ${role})`);
      return out;
    },
    sentenceModel(bytes) {
      const model = address(bytes) as Pointer;
      if (c.ame_encoder_check(model, bytes.byteLength) !== 0) return undefined;
      const memory = new Uint8Array(Number(c.ame_encoder_scratch()) + 64);
      const scratch = (Math.ceil(address(memory) / 64) * 64) as Pointer;
      const encoding = new DataView(new ArrayBuffer(ENCODING_BYTES));
      return {
        id: c.ame_encoder_id(model).toString(16).padStart(16, "0"),
        encode(text, out) {
          // Both are read by address only, and have to live as long as this function does.
          if (out.length !== ENCODING_DIM || bytes.byteLength === 0 || memory.byteLength === 0) {
            throw new Error(`a vector takes ${ENCODING_DIM} floats, not ${out.length}`);
          }
          const utf8 = new TextEncoder().encode(text);
          const at = address(utf8) as Pointer;
          c.ame_encode(model, ENCODE_ALWAYS, at, utf8.byteLength, scratch, null, new Uint8Array(encoding.buffer));
          const scale = encoding.getFloat32(ENCODING_DIM, true);
          for (let i = 0; i < ENCODING_DIM; i++) out[i] = scale * encoding.getInt8(i);
        },
      };
    },
  };
}
