/* Queries without scores: by id, the turns beside rows, in order, samples, the manifest. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "calls/calls.h"
#include "calls/arguments.h"
#include "calls/having.h"
#include "calls/newest.h"
#include "calls/turns.h"
#include "disk/manifest.h"
#include "os/numbers.h"
#include "rows/checks.h"
#include "rows/vector.h"
#include "state/ids.h"

static void answer_missing(ty_answer *a, ty_slice id) {
  ty_record record = {.id_bytes = (uint32_t)id.bytes, .meta_bytes = TY_ABSENT, .text_bytes = TY_ABSENT};
  ty_answer_put(a, &record, sizeof record);
  ty_answer_put(a, id.data, id.bytes);
  a->count++;
}

static ty_status check_ends(const uint64_t *ends, uint64_t n, ty_error *err) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < n; before = ends[i++]) {
    if (ends[i] < before || ends[i] - before > UINT32_MAX)
      return ty_fail(err, TY_INVALID, "the ends of the ids are not ascending");
  }
  return TY_OK;
}

ty_status ty_get(ty_collection *c, ty_get_args *args, ty_error *err) {
  args->out_bytes = 0;
  ty_status status = check_ends(args->id_ends, args->n, err);
  if (status == TY_OK) status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity, .text_most = args->text_most};
  ty_ref few[TY_FEW];
  bool at_once = args->n > 0 && args->n <= TY_FEW;
  if (at_once) status = ty_find_few(c, args->ids, args->id_ends, args->n, few, err);
  for (uint64_t i = 0; i < args->n && status == TY_OK; i++) {
    ty_slice id = ty_nth(args->ids, args->id_ends, i);
    ty_ref row = {NULL, 0};
    bool found;
    if (at_once) row = few[i];
    else status = ty_find(c, id, &row, &found, err);
    if (row.segment != NULL) ty_answer_row(&answer, c, row, 0, args->what, (ty_slice){NULL, 0});
    else answer_missing(&answer, id);
  }
  status = ty_answer_end(&answer, status, c, err);
  status = ty_leave(c, status, err);
  args->out_bytes = answer.bytes;
  return status;
}

/* The rows of the ids, without a segment where an id is not live, and after these n the *live ones among them. The
 * caller frees them, also on failure. */
static ty_status find_rows(const ty_collection *c, const ty_neighbours_args *a, ty_ref **rows, uint64_t *live,
                           ty_error *err) {
  *live = 0;
  *rows = a->n < SIZE_MAX / 2 / sizeof **rows ? calloc((size_t)(2 * a->n + 1), sizeof **rows) : NULL;
  if (*rows == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %" PRIu64 " rows", a->n);
  for (uint64_t i = 0; i < a->n; i++) {
    ty_ref row;
    bool found;
    ty_status status = ty_find(c, ty_nth(a->ids, a->id_ends, i), &row, &found, err);
    if (status != TY_OK) return status;
    if (found) (*rows)[i] = (*rows)[a->n + (*live)++] = row;
  }
  return TY_OK;
}

static ty_status answer_turns(const ty_collection *c, const ty_neighbours_args *a, const ty_ref *rows, uint64_t live,
                              ty_answer *answer, ty_error *err) {
  ty_filter all;
  ty_turns turns = {0};
  ty_unpack metas;
  ty_unpack_init(&metas);
  ty_status status = ty_filter_open(c, TY_NO_FILTER, (ty_slice){NULL, 0}, &all, err);
  if (status == TY_OK) status = ty_turns_open(&turns, c, &all, rows + a->n, live, &metas, err);
  for (uint64_t i = 0; i < 2 * a->n && status == TY_OK; i++) {
    ty_ref row = rows[i / 2];
    uint32_t at = row.segment == NULL ? TY_NO_TURN : ty_turns_find(&turns, row.segment->birth[row.at]);
    if (at != TY_NO_TURN && !ty_turns_step(&turns, at, i % 2 == 0 ? -1 : 1, &at))
      status = ty_fail(err, TY_NO_MEMORY, "not enough memory for the turns of a conversation");
    else if (at != TY_NO_TURN) ty_answer_row(answer, c, turns.rows[at].ref, 0, a->what, (ty_slice){NULL, 0});
    else answer_missing(answer, (ty_slice){NULL, 0});
  }
  ty_turns_close(&turns);
  ty_filter_close(&all);
  return status;
}

ty_status ty_neighbours(ty_collection *c, ty_neighbours_args *args, ty_error *err) {
  args->out_bytes = 0;
  ty_status status = check_ends(args->id_ends, args->n, err);
  if (status == TY_OK) status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity, .text_most = args->text_most};
  ty_ref *rows;
  uint64_t live;
  status = find_rows(c, args, &rows, &live, err);
  if (status == TY_OK) status = answer_turns(c, args, rows, live, &answer, err);
  free(rows);
  status = ty_answer_end(&answer, status, c, err);
  status = ty_leave(c, status, err);
  args->out_bytes = answer.bytes;
  return status;
}

/* Where in the order of insertion an answer begins: after the row of the id `after`. */
static ty_status start_after(const ty_collection *c, const ty_ids_args *args, uint64_t *slot, ty_error *err) {
  ty_ref after;
  bool found = false;
  *slot = 0;
  if (args->after == NULL) return TY_OK;
  if (args->newest > 0)
    return ty_fail(err, TY_INVALID, "the newest rows are not in the order of insertion: leave out `after`");
  ty_status status = ty_find(c, (ty_slice){args->after, args->after_bytes}, &after, &found, err);
  if (status != TY_OK) return status;
  if (!found)
    return ty_fail(err, TY_INVALID, "the id to go on after is not live: '%.*s'; start again from the first page",
                   (int)(args->after_bytes < 64 ? args->after_bytes : 64), args->after);
  *slot = after.segment->birth[after.at] - c->store->first_row + 1;
  return TY_OK;
}

static ty_status list_rows(const ty_collection *c, const ty_ids_args *a, const ty_filter *filter,
                           const ty_having *having, uint64_t slot, ty_answer *answer, ty_error *err) {
  ty_newest newest = {.wanted = a->limit > 0 && a->limit < a->newest ? a->limit : a->newest};
  bool timed = a->since > 0 || a->until > 0 || newest.wanted > 0, memory = true;
  for (; memory && slot < c->state->order_size && (a->limit == 0 || answer->count < a->limit); slot++) {
    if (ty_order(c)[slot] == 0) continue;
    ty_ref row = ty_ref_of(c, ty_order(c)[slot] - 1);
    if (!ty_filter_allows(filter, row.segment, row.at) || !ty_having_row(having, c, row)) continue;
    uint64_t updated = timed ? ty_row_times(row.segment, row.at).updated : 0;
    if (updated < a->since || (a->until > 0 && updated >= a->until)) continue;
    if (newest.wanted > 0) memory = ty_newest_offer(&newest, (ty_recent){updated, slot});
    else ty_answer_row(answer, c, row, 0, a->what, (ty_slice){NULL, 0});
  }
  ty_newest_end(&newest);
  for (uint64_t i = 0; memory && i < newest.count; i++)
    ty_answer_row(answer, c, ty_ref_of(c, ty_order(c)[newest.items[i].order] - 1), 0, a->what, (ty_slice){NULL, 0});
  free(newest.items);
  return memory ? TY_OK : ty_fail(err, TY_NO_MEMORY, "not enough memory for the newest rows");
}

ty_status ty_ids(ty_collection *c, ty_ids_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_answer answer = {.out = args->out, .capacity = args->out_capacity, .text_most = args->text_most};
  ty_filter filter;
  ty_having having = {0};
  uint64_t slot;
  status = ty_filter_open(c, args->column, (ty_slice){args->key, args->key_bytes}, &filter, err);
  if (status == TY_OK) status = ty_order_need(c, err);
  if (status == TY_OK) status = start_after(c, args, &slot, err);
  if (status == TY_OK && !filter.none && args->n > 0)
    status = ty_having_open(&having, c, &filter, (ty_strings){args->having, args->having_ends, args->n}, err);
  if (status == TY_OK && !filter.none) status = list_rows(c, args, &filter, &having, slot, &answer, err);
  ty_having_close(&having);
  status = ty_answer_end(&answer, status, c, err);
  status = ty_leave(c, status, err);
  args->out_bytes = answer.bytes;
  args->out_count = answer.count;
  return status;
}

/* Selection sampling (Knuth, volume 2, algorithm S): one pass, each subset equally likely. */
ty_status ty_sample(ty_collection *c, ty_sample_args *args, ty_error *err) {
  args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  uint64_t left = c->base.live + c->delta.live, want = args->n < left ? args->n : left, state = args->seed;
  for (uint64_t i = 0; i < ty_total_rows(c) && args->out_count < want; i++) {
    ty_ref r = ty_ref_of(c, (ty_place)i);
    if (r.segment->dead[r.at]) continue;
    if (ty_random(&state) % left-- >= want - args->out_count) continue;
    if (!ty_vector_intact(c, r.segment, r.at)) {
      want--;
      continue;
    }
    float *to = args->out + args->out_count++ * c->dim;
    const float *row = ty_row_vector(c, r.segment, r.at, to);
    if (row != to) memcpy(to, row, (size_t)c->dim * sizeof *to);
  }
  return ty_leave(c, TY_OK, err);
}

ty_status ty_manifest(ty_collection *c, ty_manifest_args *args, ty_error *err) {
  args->out_bytes = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  ty_buffer text = {0};
  status =
      ty_manifest_text(c, &c->store->files, c->generation, c->base.live + c->delta.live, ty_total_rows(c), &text, err);
  status = ty_leave(c, status, err);
  if (status == TY_OK) {
    args->out_bytes = text.bytes;
    if (text.bytes <= args->out_capacity) memcpy(args->out, text.data, (size_t)text.bytes);
    else status = ty_fail(err, TY_BUFFER, "the manifest needs %llu bytes", (unsigned long long)text.bytes);
  }
  ty_buffer_free(&text);
  return status;
}
