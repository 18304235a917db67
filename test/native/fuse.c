/* Fuses what comes on stdin, so that test/texts/fusion.test.ts can compare it with a fusion in another language. Each
 * case is the two counts, the weight, and the candidates of both rankings; the answer to it the number of rows, and
 * those. */
#include "../../ffi/ty_runtime/calls/fuse.h"

#include <stdio.h>
#include <stdlib.h>

static ty_candidate *read_list(uint64_t count) {
  ty_candidate *list = calloc((size_t)count + 1, sizeof *list);
  if (list == NULL || fread(list, sizeof *list, (size_t)count, stdin) != count) abort();
  return list;
}

int main(void) {
  uint64_t counts[2];
  double weight;
  while (fread(counts, sizeof counts, 1, stdin) == 1) {
    if (fread(&weight, sizeof weight, 1, stdin) != 1) abort();
    ty_candidate *vector = read_list(counts[0]), *words = read_list(counts[1]);
    ty_fused *out = calloc((size_t)(counts[0] + counts[1]) + 1, sizeof *out);
    if (out == NULL) abort();
    uint64_t n = ty_fuse(vector, counts[0], words, counts[1], weight, out);
    fwrite(&n, sizeof n, 1, stdout);
    fwrite(out, sizeof *out, (size_t)n, stdout);
    free(vector);
    free(words);
    free(out);
  }
  return 0;
}
