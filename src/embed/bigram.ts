/** A smaller, faster and less precise embedder: words and character bigrams. */
import { type Kernel, Model } from "../../ffi/ame_kernel.ts";
import { KernelEmbedder } from "./kernel.ts";

/** `BigramEmbedder`, model id `bigram`. */
export class BigramEmbedder extends KernelEmbedder {
  constructor(kernel: Kernel) {
    super(kernel, Model.BIGRAM, "bigram");
  }
}
