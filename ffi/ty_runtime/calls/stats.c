/* Counters and partitions. */
#include <stdlib.h>
#include <string.h>
#include "ivf/ivf.h"
#include "lexical/lexical.h"
#include "state/state.h"

/* Live rows and the earliest birth of each partition, by code. */
typedef struct tally {
  uint64_t rows, birth;
  uint32_t code;
} tally;

static void add(tally *of, const ty_segment *s) {
  for (uint64_t at = 0; at < s->count; at++) {
    if (s->dead[at]) continue;
    tally *t = &of[s->keys[0][at]];
    if (t->rows++ == 0 || s->birth[at] < t->birth) t->birth = s->birth[at];
  }
}

/* The partitions that have rows, packed to the front; their number in `count`. NULL: out of memory. */
static tally *tallies(const ty_collection *c, uint64_t *count) {
  uint32_t codes = c->dicts[0].count > 0 ? c->dicts[0].count : 1;
  tally *of = calloc(codes, sizeof *of);
  *count = 0;
  if (of == NULL) return NULL;
  add(of, &c->base);
  add(of, &c->delta);
  for (uint32_t code = 0; code < codes; code++) {
    of[code].code = code;
    if (of[code].rows > 0) of[(*count)++] = of[code];
  }
  return of;
}

static int by_birth(const void *a, const void *b) {
  const tally *x = a, *y = b;
  return (x->birth > y->birth) - (x->birth < y->birth);
}

ty_status ty_partitions(ty_collection *c, ty_partitions_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  tally *of = tallies(c, &args->out_count);
  if (of != NULL) qsort(of, (size_t)args->out_count, sizeof *of, by_birth);
  for (uint64_t i = 0; of != NULL && i < args->out_count; i++) {
    ty_slice key = ty_dict_value(&c->dicts[0], of[i].code);
    ty_partition p = {.rows = of[i].rows, .key_bytes = key.bytes};
    for (uint32_t j = 0; c->ivf != NULL && j < c->ivf->count; j++) {
      const ty_ivf_part *part = &c->ivf->parts[j];
      if (c->spans[part->span].key == of[i].code)
        p.nlist = part->nlist, p.nprobe = part->nprobe, p.drift = ty_ivf_drift(part);
    }
    uint64_t padded = (key.bytes + 7) & ~(uint64_t)7;
    if (args->out_bytes + sizeof p + padded <= args->out_capacity) {
      memcpy(args->out + args->out_bytes, &p, sizeof p);
      memset(args->out + args->out_bytes + sizeof p, 0, (size_t)padded);
      if (key.bytes > 0) memcpy(args->out + args->out_bytes + sizeof p, key.data, (size_t)key.bytes);
    }
    args->out_bytes += sizeof p + padded;
  }
  ty_leave(c);
  bool failed = of == NULL;
  free(of);
  if (failed) return ty_fail(err, TY_NO_MEMORY, "out of memory to count partitions");
  if (args->out_bytes > args->out_capacity)
    return ty_fail(err, TY_BUFFER, "the answer needs %llu bytes", (unsigned long long)args->out_bytes);
  return TY_OK;
}

ty_status ty_stats(ty_collection *c, ty_stats_args *args, ty_error *err) {
  memset(args, 0, sizeof *args);
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  uint64_t *v = args->values;
  const ty_files *f = &c->store->files;
  v[TY_STAT_GENERATION] = c->generation;
  v[TY_STAT_LIVE_ROWS] = c->base.live + c->delta.live;
  v[TY_STAT_TOTAL_ROWS] = ty_total_rows(c);
  v[TY_STAT_BASE_ROWS] = c->base.count;
  v[TY_STAT_DELTA_ROWS] = c->delta.count;
  v[TY_STAT_DISK_BYTES] = c->store->manifest_bytes + f->base.bytes + f->ivf.bytes + f->lexical.bytes + f->id_map.bytes;
  for (uint32_t i = 0; i < f->delta_count; i++) v[TY_STAT_DISK_BYTES] += f->deltas[i].bytes;
  v[TY_STAT_UNSAVED_ROWS] = c->delta.count - c->state->kept_rows;
  v[TY_STAT_PARTITIONS] = c->dicts[0].held;
  v[TY_STAT_IVF_PARTITIONS] = c->ivf == NULL ? 0 : c->ivf->count;
  if (ty_lexical_usable(c->lexical_index)) {
    v[TY_STAT_LEXICAL_BUILT] = 1;
    ty_lexical_parameters(c->lexical_index, &args->lexical_k1, &args->lexical_b, &v[TY_STAT_LEXICAL_TERMS]);
  }
  v[TY_STAT_SEARCHES] = atomic_load_explicit(&c->searches, memory_order_relaxed);
  ty_leave(c);
  return TY_OK;
}
