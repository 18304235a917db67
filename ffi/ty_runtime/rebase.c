/* Rewriting the base: the live rows in the order partition, IVF list, insertion, under fresh names; then the manifest;
 * then the old files go. The first save is the same with nothing to throw away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lexical/lexical.h"
#include "store.h"

typedef struct rebase {
  ty_collection *c;
  ty_collection *t; /* the state to come */
  ty_rebase r;
  ty_base_plan plan;
  ty_place *rank, *by_birth;
  ty_spill rank_memory, by_birth_memory, rows_memory;
  bool id_map_moved;
} rebase;

ty_rebase_wish ty_rebase_keep(const ty_collection *c) {
  ty_rebase_wish wish = {0};
  uint64_t terms;
  if (c->ivf != NULL) {
    wish.ivf = true;
    wish.ivf_min_rows = c->ivf->min_rows;
    wish.ivf_target_recall = c->ivf->target_recall;
  }
  if (c->lexical_index != NULL) {
    /* One that cannot be read any more is made anew, if it still tells with what. */
    wish.lexical = ty_lexical_parameters(c->lexical_index, &wish.k1, &wish.b, &terms);
  }
  return wish;
}

/* Rows by birth, their ranks, and from both the order (partition, birth) by a counting sort over the partitions' codes.
 */
static ty_status gather(rebase *w, ty_error *err) {
  ty_collection *c = w->c;
  ty_status status = ty_order_need(c, err);
  if (status != TY_OK) return status;
  uint64_t live = c->base.live + c->delta.live, n = 0;
  uint32_t codes = c->dicts[0].count > 0 ? c->dicts[0].count : 1;
  uint64_t *starts = calloc((size_t)codes + 1, sizeof *starts);
  w->r.spans = malloc(((size_t)codes + 1) * sizeof *w->r.spans);
  if (starts == NULL || w->r.spans == NULL ||
      !ty_spill_grow(ty_dir_of(c), &w->rank_memory, 0, ty_total_rows(c) * sizeof *w->rank) ||
      !ty_spill_grow(ty_dir_of(c), &w->by_birth_memory, 0, live * sizeof *w->by_birth) ||
      !ty_spill_grow(ty_dir_of(c), &w->rows_memory, 0, live * sizeof *w->r.rows)) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory to order %llu rows", (unsigned long long)live);
    goto done;
  }
  w->rank = w->rank_memory.data;
  w->by_birth = w->by_birth_memory.data;
  w->r.rows = w->rows_memory.data;
  for (uint64_t slot = 0; slot < c->store->order_size && n <= live; slot++) {
    ty_place place = ty_order(c)[slot];
    if (place == 0) continue;
    if (n < live) {
      w->rank[place - 1] = (ty_place)n;
      w->by_birth[n] = place - 1;
    }
    n++;
  }
  if (n != live) {
    status = ty_fail(err, TY_CORRUPT, "%s: two rows share a birth", c->store->files.base.name);
    goto done;
  }
  for (uint64_t i = 0; i < live; i++) {
    ty_ref row = ty_ref_of(c, w->by_birth[i]);
    starts[row.segment->keys[0][row.at] + 1]++;
  }
  for (uint32_t code = 0; code < codes; code++) {
    if (starts[code + 1] > 0) w->r.spans[w->r.span_count++] = (ty_span){code, 0, starts[code], starts[code + 1]};
    starts[code + 1] += starts[code];
  }
  for (uint64_t i = 0; i < live; i++) {
    ty_ref row = ty_ref_of(c, w->by_birth[i]);
    TY_ASSERT(starts[row.segment->keys[0][row.at]] < live && !row.segment->dead[row.at]);
    w->r.rows[starts[row.segment->keys[0][row.at]]++] = row;
  }
  TY_ASSERT(w->r.span_count <= codes && (live == 0 || w->r.span_count > 0));
  w->r.count = live;
done:
  free(starts);
  return status;
}

static ty_slice id_by_birth(const void *ctx, uint64_t i) {
  const rebase *w = ctx;
  ty_ref row = ty_ref_of(w->c, w->by_birth[i]);
  return ty_row_id(row.segment, row.at);
}

static ty_status start_index(rebase *w, uint32_t kind, ty_slab_writer *slab, ty_error *err) {
  ty_status status = ty_slab_create(slab, w->c, kind, w->plan.generation, w->plan.generation, 1, err);
  if (status == TY_OK) ty_slab_section_start(slab, TY_SECTION_INDEX);
  return status;
}

static ty_status write_ivf(rebase *w, ty_file *out, ty_error *err) {
  ty_buffer bytes = {0};
  ty_slab_writer slab;
  ty_status status = ty_ivf_calibrate(&w->r, &w->t->base, err);
  if (status == TY_OK) status = ty_ivf_encode(w->r.ivf, w->t->dim, &bytes, err);
  if (status == TY_OK) status = start_index(w, TY_SLAB_IVF, &slab, err);
  if (status == TY_OK) {
    ty_slab_append(&slab, bytes.data, bytes.bytes);
    ty_slab_section_end(&slab);
    status = ty_slab_finish(&slab, out);
  }
  ty_buffer_free(&bytes);
  return status;
}

static bool append(void *context, const void *data, uint64_t bytes) {
  ty_slab_writer *slab = context;
  ty_slab_append(slab, data, bytes);
  return slab->status == TY_OK;
}

/* It is written as it is made: it may be larger than memory. */
static ty_status write_lexical(rebase *w, ty_file *out, ty_error *err) {
  ty_slab_writer slab;
  ty_status status = start_index(w, TY_SLAB_LEXICAL, &slab, err);
  if (status != TY_OK) return status;
  status = ty_lexical_encode(&w->r, &(ty_lexical_sink){append, &slab}, err);
  ty_slab_section_end(&slab);
  if (slab.status == TY_OK) slab.status = status;
  return ty_slab_finish(&slab, out);
}

static ty_status write_files(rebase *w, ty_error *err) {
  ty_collection *t = w->t;
  ty_files *files = &t->store->files;
  ty_status status = TY_OK;
  if (w->r.want_ivf) status = ty_ivf_train(&w->r, err);
  if (status == TY_OK) status = ty_base_write(&w->plan, &files->base, err);
  if (status == TY_OK) status = ty_file_map(t, &files->base, 0, err);
  if (status == TY_OK) status = ty_base_open(t, err);
  if (status == TY_OK && w->r.ivf != NULL) status = write_ivf(w, &files->ivf, err);
  if (status == TY_OK && w->r.want_lexical) status = write_lexical(w, &files->lexical, err);
  if (status == TY_OK) status = ty_open_indexes(t, w->c, err);
  if (status == TY_OK && ty_cancelled(w->r.phases.progress))
    status = ty_fail(err, TY_CANCELLED, "cancelled; the last saved state stands");
  if (status == TY_OK) {
    w->id_map_moved = true;
    ty_phases_set(&w->r.phases, TY_PHASE_COMMIT, 0, 1);
    status = ty_id_map_write(w->c, w->r.count, id_by_birth, w, &files->id_map, err);
  }
  if (status == TY_OK) status = ty_file_sync_dir(w->c, w->c->dir, err);
  return status;
}

/* ---- Clearing away --------------------------------------------------------------------------------------------------
 */
typedef struct leftovers {
  const ty_files *files;
  ty_buffer names; /* each with its NUL */
} leftovers;

static bool starts_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static bool named(const ty_files *f, const char *name) {
  if (strcmp(f->base.name, name) == 0 || strcmp(f->ivf.name, name) == 0 || strcmp(f->lexical.name, name) == 0)
    return true;
  for (uint32_t i = 0; i < f->delta_count; i++) {
    if (strcmp(f->deltas[i].name, name) == 0) return true;
  }
  return false;
}

/* Ours and in no manifest: what the last state used, and what a writer that was killed left behind. */
static void note(void *ctx, const char *name) {
  leftovers *l = ctx;
  size_t n = strlen(name);
  bool temporary = starts_with(name, TY_MANIFEST_NAME ".tmp-") || starts_with(name, TY_ID_MAP_NAME ".tmp-") ||
                   starts_with(name, TY_SPILL_NAME ".tmp-");
  if (n < 128 && (temporary || (ty_is_slab(name) && !named(l->files, name)))) ty_buffer_append(&l->names, name, n + 1);
}

/* Failures are passed over: the next rewrite tries again. */
static void clear_away(ty_collection *c) {
  leftovers l = {.files = &c->store->files};
  if (c->env->os.list(&c->env->os, c->dir, note, &l) == 0) {
    for (uint64_t at = 0; at < l.names.bytes; at += strlen((char *)l.names.data + at) + 1)
      ty_file_remove(c, (char *)l.names.data + at);
  }
  ty_buffer_free(&l.names);
}

/* ---- The whole ------------------------------------------------------------------------------------------------------
 */
static ty_status set_recall(ty_collection *t, double recall, ty_error *err) {
  char text[40];
  int n = 0;
  for (int digits = 1; digits <= 17; digits++) { /* the shortest that reads back the same */
    n = snprintf(text, sizeof text, "%.*g", digits, recall);
    for (char *p = text; *p != 0; p++) *p = *p == ',' ? '.' : *p;
    double back;
    if (ty_json_double((ty_slice){(uint8_t *)text, (uint64_t)n}, &back) && back == recall) break;
  }
  return ty_schema_set(t, TY_KEY_DEFAULT_TARGET_RECALL, (ty_slice){(uint8_t *)text, (uint64_t)n}, err);
}

/* Opening checks the small sections of a base only. What is copied gets a checksum that fits whatever it is, so damage
 * in the large ones is told now or never. */
static ty_status check_source(rebase *w, ty_error *err) {
  const ty_file *file = &w->c->store->files.base;
  ty_slab slab;
  ty_slice bytes;
  if (w->c->generation == 0) return TY_OK;
  ty_status status = ty_slab_open(w->c, file, TY_SLAB_BASE, &slab, err);
  for (uint32_t i = 0; status == TY_OK && i < slab.header->sections; i++) {
    if (ty_cancelled(w->r.phases.progress)) return ty_fail(err, TY_CANCELLED, "cancelled; the last saved state stands");
    status = ty_slab_get(w->c, &slab, slab.sections[i].id, UINT64_MAX, true, &bytes, err);
    ty_phases_set(&w->r.phases, TY_PHASE_CHECK, i + 1, slab.header->sections);
  }
  return status;
}

/* How much of the rows stays resident where an index is built or kept. */
static uint64_t resident_build(const ty_collection *c) {
  const ty_files *files = &c->store->files;
  uint64_t bytes = files->base.bytes;
  for (uint32_t i = 0; i < files->delta_count; i++) bytes += files->deltas[i].bytes;
  return bytes <= TY_RESIDENT_FILES ? UINT64_MAX : TY_RESIDENT_BUILD;
}

static ty_status prepare(rebase *w, const ty_rebase_wish *wish, ty_error *err) {
  ty_collection *c = w->c;
  ty_schema schema;
  ty_status status = ty_shell(c->env, c->dir, &w->t, err);
  if (status == TY_OK) status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  if (status == TY_OK) status = ty_adopt_schema(w->t, &schema, err);
  if (status == TY_OK && wish->retrain) status = set_recall(w->t, wish->ivf_target_recall, err);
  if (status == TY_OK) status = check_source(w, err);
  if (status == TY_OK) status = gather(w, err);
  return status;
}

ty_status ty_rebase_run(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, bool *unknown,
                        ty_error *err) {
  rebase w = {.c = c};
  w.r = (ty_rebase){.c = c,
                    .phases = {.progress = progress,
                               .skips = {[TY_PHASE_TRAIN] = !wish->ivf,
                                         [TY_PHASE_CALIBRATE] = !wish->ivf,
                                         [TY_PHASE_LEXICAL] = !wish->lexical}},
                    .most = wish->ivf ? resident_build(c) : TY_RESIDENT_MOST,
                    .want_ivf = wish->ivf,
                    .retrain_ivf = wish->retrain,
                    .ivf_min_rows = wish->ivf_min_rows,
                    .ivf_target_recall = wish->ivf_target_recall,
                    .want_lexical = wish->lexical,
                    .k1 = wish->k1,
                    .b = wish->b};
  ty_next next = {.generation = c->generation + 1, .first = c->generation == 0};
  TY_ASSERT(atomic_load(&c->store->writing) && c->store->lock_fd >= 0);
  ty_status status = ty_lock_still(c, err);
  if (progress != NULL) __atomic_store_n(&progress->done, 0, __ATOMIC_RELAXED);
  ty_phases_set(&w.r.phases, TY_PHASE_CHECK, 0, 1);
  if (status == TY_OK) status = prepare(&w, wish, err);
  if (status == TY_OK && next.first) status = ty_first_begin(c, err);
  if (status == TY_OK) {
    /* Numbers that nobody has seen may be given again; all others are never reused. */
    w.plan = (ty_base_plan){.rebase = &w.r,
                            .rank = w.rank,
                            .first_row = c->generation == 0 ? 0 : c->next_row,
                            .generation = next.generation};
    status = write_files(&w, err);
  }
  if (status == TY_OK) {
    next.schema_of = w.t;
    next.files = &w.t->store->files;
    next.live = next.total = w.r.count;
    status = ty_commit(c, &next, err);
    *unknown = next.unknown;
  }
  if (status == TY_OK) {
    pthread_rwlock_wrlock(&c->lock);
    w.t->generation = next.generation;
    w.t->store->manifest_bytes = next.bytes;
    ty_swap_state(c, w.t);
    c->store->stamp = next.stamp;
    c->store->id_map_checked = true;
    c->store->abandon_delta = false;
    pthread_rwlock_unlock(&c->lock);
    if (next.first) ty_first_end(c);
    clear_away(c);
    ty_phases_set(&w.r.phases, TY_PHASE_COMMIT, 1, 1);
  } else {
    if (w.id_map_moved) c->store->id_map_checked = false;
    if (ty_lock_lost(c, err)) {
      /* The names that were fresh here may be another's files there. */
      status = TY_IO;
      *unknown = true;
    } else if (w.t != NULL && !next.unknown) {
      const ty_files *files = &w.t->store->files;
      if (files->base.name[0] != 0) ty_file_remove(c, files->base.name);
      if (files->ivf.name[0] != 0) ty_file_remove(c, files->ivf.name);
      if (files->lexical.name[0] != 0) ty_file_remove(c, files->lexical.name);
    }
  }
  ty_ivf_free(w.r.ivf);
  ty_shell_free(w.t);
  ty_spill_free(c->env, &w.rank_memory);
  ty_spill_free(c->env, &w.by_birth_memory);
  ty_spill_free(c->env, &w.rows_memory);
  free(w.r.spans);
  return status;
}
