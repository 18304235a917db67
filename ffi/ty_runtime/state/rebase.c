/* Rewriting the base: writes the live rows in the order partition, IVF list, insertion under new names, commits the
 * manifest, removes the old files. The first save is the same without old files. */
#include <stdlib.h>
#include <string.h>
#include "disk/base.h"
#include "disk/idmap.h"
#include "disk/json.h"
#include "disk/lock.h"
#include "disk/slab.h"
#include "ivf/signs.h"
#include "lexical/lexical.h"
#include "os/plant.h"
#include "state/commit.h"
#include "state/gather.h"
#include "state/load.h"
#include "state/meanings.h"
#include "state/rewriting.h"

ty_rebase_wish ty_rebase_keep(const ty_collection *c) {
  ty_rebase_wish wish = {0};
  uint64_t terms;
  if (c->ivf != NULL) {
    wish.ivf = true;
    wish.ivf_min_rows = c->ivf->min_rows;
    wish.ivf_target_recall = c->ivf->target_recall;
  } else if (c->ivf_lost.lost) {
    wish.ivf = true;
    wish.ivf_min_rows = c->ivf_lost.min_rows;
    wish.ivf_target_recall = c->ivf_lost.target_recall;
  }
  /* Indexes that cannot be read are made again, with the defaults if their parameters cannot be read either. */
  wish.lexical = c->lexical_index != NULL;
  if (wish.lexical) wish.lexical_built = ty_lexical_parameters(c->lexical_index, &wish.k1, &wish.b, &terms);
  return wish;
}

ty_slice ty_rewriting_id(void *ctx, uint64_t i) {
  ty_rewriting *w = ctx;
  ty_ref row = ty_ref_of(w->c, w->gathered.by_birth[i]);
  return ty_row_id(row.segment, row.at, &w->unpack);
}

static bool append(void *context, const void *data, uint64_t bytes) {
  ty_slab_writer *slab = context;
  ty_slab_append(slab, data, bytes);
  return slab->status == TY_OK;
}

static ty_status write_ivf(ty_rewriting *w, ty_file *out, ty_error *err) {
  ty_buffer bytes = {0};
  ty_slab_writer slab;
  ty_status status = ty_signs_make(&w->r, &w->t->base, err);
  if (status == TY_OK) status = ty_ivf_calibrate(&w->r, &w->t->base, err);
  bool signs = w->r.ivf->count > 0 && w->r.ivf->parts[0].signs.mean != NULL;
  if (status == TY_OK) status = ty_ivf_encode(w->r.ivf, w->t->dim, &bytes, err);
  if (status == TY_OK)
    status = ty_slab_create(&slab, w->t, TY_SLAB_IVF, w->plan.generation, w->plan.generation, signs ? 2 : 1, err);
  if (status == TY_OK) {
    ty_slab_section_put(&slab, TY_SECTION_INDEX, bytes.data, bytes.bytes);
    if (signs) {
      ty_slab_section_start(&slab, TY_SECTION_SIGNS);
      status = ty_signs_write(&w->r, &w->t->base, append, &slab, err);
      ty_slab_section_end(&slab);
      if (slab.status == TY_OK) slab.status = status;
    }
    status = ty_slab_finish(&slab, out);
  }
  ty_buffer_free(&bytes);
  return status;
}

/* Written while it is built: it may be larger than memory. */
static ty_status write_lexical(ty_rewriting *w, ty_file *out, ty_error *err) {
  ty_slab_writer slab;
  ty_status status = ty_slab_create(&slab, w->t, TY_SLAB_LEXICAL, w->plan.generation, w->plan.generation, 1, err);
  if (status != TY_OK) return status;
  ty_slab_section_start(&slab, TY_SECTION_INDEX);
  status = ty_lexical_encode(&w->r, &(ty_lexical_sink){append, &slab}, err);
  ty_slab_section_end(&slab);
  if (slab.status == TY_OK) slab.status = status;
  return ty_slab_finish(&slab, out);
}

ty_status ty_rewriting_write(ty_rewriting *w, ty_error *err) {
  ty_collection *t = w->t;
  ty_files *files = &t->store->files;
  ty_status status = TY_OK;
  if (w->r.want_ivf) status = ty_ivf_train(&w->r, err);
  if (status == TY_OK) status = ty_base_write(&w->plan, &files->base, err);
  if (status == TY_OK) status = ty_file_map(t, &files->base, 0, err);
  if (status == TY_OK) status = ty_base_open(t, err);
  if (status == TY_OK && w->r.ivf != NULL) status = write_ivf(w, &files->ivf, err);
  if (status == TY_OK && w->r.want_lexical) status = write_lexical(w, &files->lexical, err);
  if (status == TY_OK) status = ty_open_indexes(t, w->c, false, err);
  if (status == TY_OK) {
    const ty_history_place place = {t, files, w->plan.generation, w->plan.generation};
    ty_history_wish wish = *w->history;
    wish.unsaved = true;
    status = ty_history_write(w->c, &place, &wish, &files->history, err);
  }
  if (status == TY_OK) status = ty_meaning_rewrite(t, &w->r, w->plan.generation, &w->meaning, err);
  if (status == TY_OK && ty_cancelled(w->r.phases.progress))
    status = ty_fail(err, TY_CANCELLED, "cancelled; the last saved state stands");
  if (status == TY_OK) {
    w->id_map_moved = true;
    ty_phases_set(&w->r.phases, TY_PHASE_COMMIT, 0, 1);
    status = ty_id_map_write(t, &(ty_id_list){w->c, w->r.count, ty_rewriting_id, w}, &files->id_map, err);
  }
  return status;
}

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

/* The index before has the terms of the base's rows, where it is whole. Where it is not, rows' texts have them; a row
 * without one ends the rewrite. */
static ty_status check_kept(ty_rewriting *w, ty_error *err) {
  ty_collection *c = w->c;
  ty_slab slab;
  ty_slice bytes;
  ty_error damage;
  if (!w->r.want_lexical || !ty_lexical_usable(c->lexical_index)) return TY_OK;
  ty_status status = ty_slab_open(c, &c->store->files.lexical, TY_SLAB_LEXICAL, &slab, &damage);
  if (status == TY_OK) status = ty_slab_get(c, &slab, TY_SECTION_INDEX, UINT64_MAX, true, &bytes, &damage);
  if (status == TY_OK) w->r.kept = c->lexical_index;
  else if (status == TY_CORRUPT) ty_lexical_found_damage(c->lexical_index);
  else *err = damage;
  return status == TY_CORRUPT ? TY_OK : status;
}

/* Copied bytes get a new checksum, so what is copied of the base is compared before, read before or not. */
static ty_status check_source(ty_rewriting *w, ty_error *err) {
  if (w->c->generation == 0) return TY_OK;
  ty_status status = ty_source_check(w->c, &w->r.phases, err);
  return status == TY_OK ? check_kept(w, err) : status;
}

/* How many bytes of the rows may stay resident. One partition is read in the order of the files. */
static uint64_t resident_of(const ty_rebase *r) {
  const uint64_t bytes = r->c->store->files.base.bytes + ty_delta_bytes(&r->c->store->files);
  if (!r->want_ivf && r->span_count < 2) return TY_RESIDENT_MOST;
  return bytes <= (r->want_ivf ? TY_RESIDENT_FILES : r->c->env->rewrite_resident) ? UINT64_MAX : TY_RESIDENT_BUILD;
}

/* Whether rows of the delta are copied in their new order before they are written (sorted.h): for files of rows of the
 * text embedder that are too large to stay resident. The copies must not take the room that the new files need, which
 * are about as large as the old ones. */
static bool pays_to_sort(const ty_rebase *r) {
  const ty_collection *c = r->c;
  uint64_t room;
  return !r->want_ivf && r->span_count > 1 && r->most != UINT64_MAX && c->delta.live > 0 &&
         c->delta.vertical.lines != NULL && c->dtype != TY_INT4 && c->env->os.space(&c->env->os, c->dir, &room) >= 0 &&
         room / 4 > ty_files_bytes(&c->store->files);
}

static ty_status prepare(ty_rewriting *w, const ty_rebase_wish *wish, ty_error *err) {
  ty_collection *c = w->c;
  ty_schema schema;
  ty_status status = ty_shell(c->env, c->dir, &w->t, err);
  if (status == TY_OK) {
    w->t->store->lock_fd = c->store->lock_fd;
    status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, err);
  }
  if (status == TY_OK) status = ty_adopt_schema(w->t, &schema, err);
  if (status == TY_OK && wish->retrain) status = set_recall(w->t, wish->ivf_target_recall, err);
  if (status == TY_OK) status = check_source(w, err);
  if (status == TY_OK) status = ty_gather(c, &w->r, &w->gathered, err);
  w->r.most = resident_of(&w->r);
  if (status == TY_OK) status = ty_source_rows(&w->r, err);
  if (status == TY_OK && pays_to_sort(&w->r)) ty_sort_rows(&w->r, &w->sorted);
  return status;
}

ty_status ty_rewriting_open(ty_rewriting *w, ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress,
                            ty_error *err) {
  memset(w, 0, sizeof *w);
  w->c = c;
  w->history = &wish->history;
  w->r = (ty_rebase){.c = c,
                     .phases = {.progress = progress,
                                .skips = {[TY_PHASE_TRAIN] = !wish->ivf,
                                          [TY_PHASE_CALIBRATE] = !wish->ivf,
                                          [TY_PHASE_LEXICAL] = !wish->lexical}},
                     .want_ivf = wish->ivf,
                     .retrain_ivf = wish->retrain,
                     .ivf_min_rows = wish->ivf_min_rows,
                     .ivf_target_recall = wish->ivf_target_recall,
                     .want_lexical = wish->lexical,
                     .lexical_built = wish->lexical_built,
                     .k1 = wish->k1,
                     .b = wish->b};
  TY_ASSERT(atomic_load(&c->state->writing) && c->store->lock_fd >= 0);
  ty_status status = ty_lock_still(c, err);
  if (progress != NULL) __atomic_store_n(&progress->done, 0, __ATOMIC_RELAXED);
  ty_phases_set(&w->r.phases, TY_PHASE_CHECK, 0, 1);
  return status == TY_OK ? prepare(w, wish, err) : status;
}

void ty_rewriting_plan(ty_rewriting *w, uint64_t generation, uint64_t first_row) {
  w->plan = (ty_base_plan){
      .rebase = &w->r, .into = w->t, .rank = w->gathered.rank, .first_row = first_row, .generation = generation};
}

void ty_rewriting_remove(ty_rewriting *w) {
  const ty_files *files = &w->t->store->files;
  const ty_file *const each[] = {&files->base, &files->ivf, &files->lexical, &files->meaning, &files->history};
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    if (each[i]->name[0] != 0) ty_file_remove(w->t, each[i]->name);
  for (uint32_t i = 0; i < files->delta_count; i++) ty_file_remove(w->t, files->deltas[i].name);
}

void ty_rewriting_close(ty_rewriting *w) {
  ty_error unused;
  (void)ty_meaning_rewrite_end(&w->meaning, &unused);
  ty_ivf_free(w->r.ivf);
  if (w->t != NULL) w->t->store->lock_fd = -1;
  ty_shell_free(w->t);
  ty_gathered_free(w->c, &w->gathered);
  ty_sorted_free(&w->sorted);
  free(w->r.spans);
}

ty_status ty_rebase_run(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, bool *unknown,
                        ty_error *err) {
  ty_rewriting w;
  ty_next next = {.generation = c->generation + 1, .first = c->generation == 0};
  ty_status status = ty_rewriting_open(&w, c, wish, progress, err);
  if (status == TY_OK && next.first) status = ty_first_begin(c, err);
  if (status == TY_OK) {
    /* Row numbers of saved rows are never reused. */
    ty_rewriting_plan(&w, next.generation, c->generation == 0 ? 0 : c->next_row);
    status = ty_rewriting_write(&w, err);
  }
  if (status == TY_OK) status = ty_meaning_rewrite_end(&w.meaning, err);
  if (status == TY_OK) status = ty_file_sync_dir(c, c->dir, err);
  if (status == TY_OK) {
    next.schema_of = w.t;
    next.files = &w.t->store->files;
    next.live = next.total = w.r.count;
    if (TY_PLANTED(EARLY_CLEANUP)) ty_file_remove(c, c->store->files.base.name);
    if (TY_PLANTED(EARLY_HISTORY)) ty_file_remove(c, c->store->files.history.name);
    if (TY_PLANTED(EARLY_MARKER) && next.first) ty_first_end(c);
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
    c->store->abandon_delta = c->store->abandon_meaning = false;
    pthread_rwlock_unlock(&c->lock);
    if (next.first) ty_first_end(c);
    ty_clear_away(c);
    ty_phases_set(&w.r.phases, TY_PHASE_COMMIT, 1, 1);
  } else {
    if (w.id_map_moved) c->store->id_map_checked = false;
    if (ty_lock_lost(c, err)) {
      /* The new names may be another collection's files there. */
      status = TY_IO;
      *unknown = true;
    } else if (w.t != NULL && !next.unknown) {
      ty_rewriting_remove(&w);
    }
  }
  ty_rewriting_close(&w);
  return status;
}
