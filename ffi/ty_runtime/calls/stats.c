/* Counters, partitions, and what is damaged. */
#include <inttypes.h>
#include <string.h>
#include "calls/calls.h"
#include "ivf/ivf.h"
#include "lexical/stored_terms.h"
#include "lexical/lexical.h"
#include "state/ids.h"
#include "state/meanings.h"

ty_status ty_partitions(ty_collection *c, ty_partitions_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  if (args->column >= c->columns) {
    status = ty_fail(err, TY_INVALID, "there is no filter column %" PRIu64 ": the collection has %" PRIu32,
                     args->column, c->columns);
    return ty_leave(c, status, err);
  }
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity};
  const ty_dict *d = &c->dicts[args->column];
  uint32_t parts = c->ivf == NULL || args->column > 0 ? 0 : c->ivf->count, at = 0; /* both in the order of codes */
  for (uint32_t code = 0; code < d->count; code++) {
    if (d->live[code] == 0) continue;
    ty_slice key = ty_dict_value(d, code);
    ty_partition p = {.rows = d->live[code], .key_bytes = key.bytes};
    while (at < parts && c->spans[c->ivf->parts[at].span].key < code) at++;
    if (at < parts && c->spans[c->ivf->parts[at].span].key == code) {
      const ty_ivf_part *part = &c->ivf->parts[at];
      p.nlist = part->nlist, p.nprobe = part->nprobe, p.drift = ty_ivf_drift(part);
    }
    ty_answer_put(&answer, &p, sizeof p);
    ty_answer_put(&answer, key.data, key.bytes);
    args->out_count++;
  }
  status = ty_leave(c, ty_answer_end(&answer, TY_OK, c, err), err);
  args->out_bytes = answer.bytes;
  return status;
}

static void count_meaning(const ty_collection *c, uint64_t *v) {
  const ty_meaning_view view = ty_meaning_view_of(c);
  v[TY_STAT_TEXT_ROWS] = ty_texts(c);
  v[TY_STAT_MEANING_ROWS] = view.at == NULL ? 0 : c->meaning->live;
  v[TY_STAT_MEANING_BYTES] = c->store->files.meaning.bytes;
  v[TY_STAT_MEANING_LOST] =
      c->store->files.meaning.name[0] != 0 && atomic_load(&c->meaning->ready) && !atomic_load(&c->meaning->usable);
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
  v[TY_STAT_DISK_BYTES] = c->store->manifest_bytes + ty_files_bytes(f);
  v[TY_STAT_UNSAVED_ROWS] = c->delta.count - c->state->kept_rows;
  v[TY_STAT_PARTITIONS] = c->dicts[0].held;
  v[TY_STAT_IVF_PARTITIONS] = c->ivf == NULL ? 0 : c->ivf->count;
  double k1, b;
  uint64_t terms;
  if (ty_lexical_usable(c->lexical_index) && ty_lexical_parameters(c->lexical_index, &k1, &b, &terms)) {
    v[TY_STAT_LEXICAL_BUILT] = 1;
    v[TY_STAT_LEXICAL_TERMS] = terms;
    args->lexical_k1 = k1;
    args->lexical_b = b;
  }
  v[TY_STAT_LEXICAL_LOST] = ty_stored_terms_lost(c);
  v[TY_STAT_SEARCHES] = atomic_load_explicit(&c->searches, memory_order_relaxed);
  v[TY_STAT_DAMAGES] = ty_damage_count(c);
  v[TY_STAT_BASE_BYTES] = f->base.bytes + f->ivf.bytes + f->lexical.bytes;
  count_meaning(c, v);
  v[TY_STAT_DELTA_BYTES] = ty_delta_bytes(f);
  v[TY_STAT_SAVES] = c->store->blocks;
  v[TY_STAT_BASE_DEAD] = c->base.count - c->base.live;
  v[TY_STAT_DELTA_DEAD] = c->delta.count - c->delta.live;
  v[TY_STAT_HISTORY_BYTES] = c->store->files.history.bytes;
  return ty_leave(c, TY_OK, err);
}

ty_status ty_damages(ty_collection *c, ty_damages_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  uint64_t room = args->out_capacity / sizeof(ty_damage);
  args->out_count = ty_damage_copy(c, (ty_damage *)(void *)args->out, room);
  status = ty_leave(c, TY_OK, err);
  args->out_bytes = args->out_count * sizeof(ty_damage);
  if (status != TY_OK) return status;
  if (args->out_count <= room) return TY_OK;
  return ty_fail(err, TY_BUFFER, "%llu bytes are needed", (unsigned long long)args->out_bytes);
}
