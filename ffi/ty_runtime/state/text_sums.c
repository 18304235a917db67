#include "state/text_sums.h"

static uint32_t sum_of(const ty_collection *c, uint64_t at) {
  const ty_slice text = ty_row_stored_text(&c->delta, at);
  return text.bytes == 0 ? 0 : c->env->kernel->crc32c(0, text.data, (size_t)text.bytes);
}

const uint32_t *ty_text_sums(const ty_collection *c) {
  struct ty_state *s = c->state;
  const uint64_t rows = c->delta.count;
  pthread_mutex_lock(&s->derive);
  uint64_t have = s->text_sums.used / sizeof(uint32_t);
  uint32_t *more = have < rows ? ty_growing_room(ty_dir_of(c), &s->text_sums, (rows - have) * sizeof *more) : NULL;
  for (uint64_t at = have; more != NULL && at < rows; at++) {
    more[at - have] = sum_of(c, at);
    ty_touched(c->resident, TY_OF_DELTA, c->delta.payload[at].text.bytes, TY_RESIDENT_MOST);
  }
  const uint32_t *sums = have < rows && more == NULL ? NULL : s->text_sums.memory.data;
  pthread_mutex_unlock(&s->derive);
  return sums;
}

void ty_text_sums_drop(const ty_collection *c) {
  ty_spill_free(c->env, &c->state->text_sums.memory);
  c->state->text_sums = (ty_growing){0};
}
