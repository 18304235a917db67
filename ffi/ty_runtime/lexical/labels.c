#include "lexical/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lexical/bag.h"
#include "os/assert.h"
#include "os/fail.h"

/* In place of FNV's 2166136261, which the kernel hashes terms from. */
#define LABEL_SEED 0x6c6162u

bool ty_label_next(ty_slice *run, ty_slice *label) {
  if (run->bytes == 0) return false;
  const uint8_t *end = memchr(run->data, 0, (size_t)run->bytes);
  TY_ASSERT(end != NULL);
  *label = (ty_slice){run->data, (uint64_t)(end - run->data)};
  *run = (ty_slice){end + 1, run->bytes - label->bytes - 1};
  return true;
}

/* FNV-1a of the bytes and the finaliser of MurmurHash3, as of terms: it is stored, so the kernel's hash64, which may
 * change, does not do. */
uint32_t ty_label_hash(ty_slice label) {
  uint32_t h = LABEL_SEED;
  for (uint64_t i = 0; i < label.bytes; i++) h = (h ^ label.data[i]) * 16777619u;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}

ty_status ty_labels_check(ty_slice run, ty_error *err) {
  ty_slice label;
  if (run.bytes > 0 && run.data == NULL) return ty_fail(err, TY_INVALID, "the labels are missing");
  if (run.bytes > 0 && run.data[run.bytes - 1] != 0)
    return ty_fail(err, TY_INVALID, "the last label is not ended by a NUL");
  for (uint64_t n = 0; ty_label_next(&run, &label); n++) {
    if (n == TY_LABELS_MAX) return ty_fail(err, TY_INVALID, "more than %u labels", TY_LABELS_MAX);
    if (label.bytes == 0 || label.bytes > TY_LABEL_MAX)
      return ty_fail(err, TY_INVALID, "a label has %" PRIu64 " bytes, allowed are 1 to %u", label.bytes, TY_LABEL_MAX);
  }
  return TY_OK;
}

bool ty_labels_sorted(ty_slice run, uint64_t **items, uint64_t *count) {
  ty_slice label, rest = run;
  uint64_t n = 0, kept = 0;
  *items = NULL;
  *count = 0;
  while (ty_label_next(&rest, &label)) n++;
  if (n == 0) return true;
  uint64_t *all = malloc((size_t)n * 2 * sizeof *all); /* half of it for sorting */
  if (all == NULL) return false;
  for (n = 0, rest = run; ty_label_next(&rest, &label); n++) all[n] = (uint64_t)ty_label_hash(label) << 32;
  ty_sort_by_hash(all, all + n, n);
  for (uint64_t i = 0; i < n; i++) {
    if (kept == 0 || all[i] != all[kept - 1]) all[kept++] = all[i];
  }
  TY_ASSERT(kept <= n);
  *items = all;
  *count = kept;
  return true;
}
