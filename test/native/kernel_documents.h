/* Vectors of documents, on every path. Part of kernel_test.c. */
#include "kernel_common.h"

#define DOCUMENTS 40

/* Words of few and of many kinds, so that sums are zero, clipped and neither: every path has the scalar one's bits. */
static void test_documents(const char *path) {
  for (uint32_t model = AME_MODEL_MULTIGRAM; model <= AME_MODEL_BIGRAM; model++) {
    size_t dim = ame_embed_dim(model), bytes = dim * sizeof(float);
    float *vector = memory(bytes), *truth = memory(bytes);
    for (uint32_t document = 0; document < DOCUMENTS; document++) {
      uint8_t text[4096];
      uint64_t length = document * 100 + 1, kinds = 2 + document % 5 * 6;
      for (size_t i = 0; i < length; i++) text[i] = i % 7 == 6 ? ' ' : (uint8_t)('a' + random_u64() % kinds);
      CHECK(ame_embed(model, AME_ROLE_DOCUMENT, text, &length, 1, vector) == 0);
      ame_isa_force("scalar");
      CHECK(ame_embed(model, AME_ROLE_DOCUMENT, text, &length, 1, truth) == 0);
      ame_isa_force(path);
      CHECK_MESSAGE(memcmp(vector, truth, bytes) == 0, "%s model %u document %u", path, model, document);
    }
    free(vector);
    free(truth);
  }
}
