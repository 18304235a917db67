/* ty_ask: one or two rankings, all of one saved state; and how ty_ask_many makes its own (ask_many.c). */
#include <inttypes.h>
#include <stdlib.h>

#include "calls/ask_run.h"
#include "calls/cost.h"
#include "calls/arguments.h"
#include "lexical/labels.h"
#include "lexical/rebuilt.h"
#include "state/state.h"
#include "work/crew.h"

/* A text up to here is embedded and tokenised on the caller's thread: about a millisecond. */
#define TEXT_BYTES_HERE ((uint64_t)16 << 10)
/* A label's weight stays far within a float. */
#define LABEL_SHARE_MOST 1e6
/* If both rankings read more bytes than this, collections are ranked on several threads. Starting a thread pays off
 * from half a millisecond of work on. */
#define APART_BYTES ((uint64_t)16 << 20)

static ty_status check_vector(const ty_collection *c, const ty_ask_args *a, ty_error *err) {
  if (a->weighted > 1) return ty_fail(err, TY_INVALID, "weighted must be 0 or 1, not %" PRIu64, a->weighted);
  if (!(a->target_recall >= 0 && a->target_recall <= 1))
    return ty_fail(err, TY_INVALID, "target_recall must be in [0, 1], not %g", a->target_recall);
  if (a->vector != NULL) return ty_check_vectors(c, a->vector, c->dim, false, err);
  return ty_check_model(c, a->model, err);
}

/* TY_OK where a ranking by words is possible. */
static ty_status check_words(const ty_collection *c, ty_error *err) {
  if (!c->lexical) return ty_fail(err, TY_NO_LEXICAL, "this collection was created without a lexical index");
  TY_ASSERT(c->lexical_index != NULL);
  if (c->lexical_index->built) return TY_OK;
  return ty_fail(err, TY_UNBUILT, "the lexical index of this collection was not built yet");
}

static ty_status check_labels(const ty_ask_args *a, ty_error *err) {
  if (a->label_bytes == 0) return TY_OK;
  if ((a->by & TY_BY_WORDS) == 0) return ty_fail(err, TY_INVALID, "labels are for rankings by words");
  if (!(a->label_share > 0 && a->label_share <= LABEL_SHARE_MOST))
    return ty_fail(err, TY_INVALID, "label_share must be above 0 and at most %.0f, not %g", LABEL_SHARE_MOST,
                   a->label_share);
  return ty_labels_check((ty_slice){a->labels, a->label_bytes}, err);
}

ty_status ty_ask_run_check(const ty_collection *c, const ty_ask_args *a, ty_error *err) {
  if (a->by < TY_BY_VECTOR || a->by > TY_BY_BOTH)
    return ty_fail(err, TY_INVALID, "there is no ranking %" PRIu64, a->by);
  if (a->top_k == 0) return ty_fail(err, TY_INVALID, "top_k must be at least 1, not 0");
  if (a->text_bytes > 0 && a->text == NULL) return ty_fail(err, TY_INVALID, "the text is a null pointer");
  if (!(a->dense_weight >= 0 && a->dense_weight <= 1))
    return ty_fail(err, TY_INVALID, "dense_weight must be in [0, 1], not %g", a->dense_weight);
  ty_status status = check_labels(a, err);
  if (status != TY_OK) return status;
  if ((a->by & TY_BY_VECTOR) != 0) return check_vector(c, a, err);
  return check_words(c, err);
}

static ty_status embed(const ty_ask_run *x, float *out, ty_error *err) {
  const ty_ask_args *a = x->a;
  uint64_t end = ty_cut((ty_slice){a->text, a->text_bytes}, a->embed_most);
  if (x->env->kernel->embed((uint32_t)a->model, AME_ROLE_QUERY, a->text, &end, 1, out) == 0) return TY_OK;
  return ty_fail(err, TY_INVALID, "there is no embedding model %" PRIu64, a->model);
}

static ty_status go_on(const ty_ask_run *x, ty_error *err) {
  return ty_cancelled(x->progress) ? ty_fail(err, TY_CANCELLED, "the search was cancelled") : TY_OK;
}

/* Makes the query that is compared with the rows. *cost is what the ranking will read: of vertical codes the dimensions
 * that the query has. */
static ty_status prepare_vector(ty_ask_run *x, uint64_t *cost, ty_error *err) {
  const ty_ask_args *a = x->a;
  const float *given = a->vector;
  uint64_t weighing = 0;
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->n && a->weighted; i++)
    weighing = ty_cost_plus(weighing, ty_weights_cost(x->parts[i].c, &x->parts[i].filter));
  if (a->weighted) status = ty_cost_check(weighing, a->most_bytes, err);
  if (status == TY_OK && a->weighted) status = ty_ask_run_weigh(x, err);
  if (status != TY_OK) return status;
  x->memory = malloc((size_t)x->dim * 2 * sizeof *x->memory);
  if (x->memory == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
  if (given == NULL) {
    status = embed(x, x->memory + x->dim, err);
    given = x->memory + x->dim;
  }
  if (status != TY_OK) return status;
  x->query = ty_query_prepare(x->parts[0].c, given, a->weighted ? &x->weighing : NULL, x->memory);
  for (uint64_t i = 0; i < x->n; i++) {
    const ty_ask_part *part = &x->parts[i];
    bool near = ty_search_probes(part->c, &part->filter, ty_ask_run_target(x, part));
    *cost = ty_cost_plus(*cost, ty_search_cost(part->c, &part->filter, near, x->query));
  }
  return TY_OK;
}

/* What the rankings by words of all parts read. */
static uint64_t words_cost(const ty_ask_run *x) {
  uint64_t cost = 0;
  for (const question *q = x->words; q != NULL; q = q->next) cost = ty_cost_plus(cost, ty_question_cost(q));
  return cost;
}

/* Reads the question for each part, and looks its words up. `dense`: what the other rankings read. */
static ty_status read_words(ty_ask_run *x, uint64_t dense, ty_error *err) {
  const ty_ask_args *a = x->a;
  uint64_t pending = 0;
  ty_status status = TY_OK;
  for (question *q = x->words; q != NULL; q = q->next) {
    if (!ty_question_read(q, (ty_slice){a->text, a->text_bytes}) ||
        !ty_question_label(q, (ty_slice){a->labels, a->label_bytes}, a->label_share))
      return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query of %" PRIu64 " bytes", a->text_bytes);
    pending = ty_cost_plus(pending, ty_lexical_sync_cost(q->x, q->c));
  }
  status = ty_cost_check(ty_cost_plus(dense, pending), a->most_bytes, err);
  for (question *q = x->words; q != NULL && status == TY_OK; q = q->next) {
    status = go_on(x, err);
    if (status == TY_OK) status = ty_lexical_sync(q->x, q->c, err);
    if (status == TY_OK) status = ty_question_find(q, err);
    q->failed = status != TY_OK && status != TY_CANCELLED;
  }
  return status;
}

/* Prepares both rankings. TY_LARGE where together they would read more than the bound. */
static ty_status prepare(ty_ask_run *x, ty_error *err) {
  const ty_ask_args *a = x->a;
  question *q = x->words;
  uint64_t most = a->most_bytes, dense = 0, words;
  ty_status status = TY_OK;
  if ((x->by_words || a->vector == NULL) && (a->text_bytes > TEXT_BYTES_HERE || a->label_bytes > TEXT_BYTES_HERE))
    status = ty_cost_check(UINT64_MAX, most, err);
  if (status == TY_OK && x->by_vector) status = prepare_vector(x, &dense, err);
  if (status == TY_OK) status = ty_cost_check(dense, most, err);
  if (status != TY_OK || !x->by_words) return status;
  if (x->by_vector) dense = ty_cost_plus(dense, ty_ask_run_meaning_cost(x));
  status = read_words(x, dense, err);
  if (status == TY_OK) status = ty_cost_check(ty_cost_plus(dense, words_cost(x)), most, err);
  if (status == TY_OK) status = ty_question_count(q, err);
  if (status == TY_OK) status = ty_cost_check(ty_cost_plus(dense, ty_unknown_cost(q)), most, err);
  if (status == TY_OK) status = ty_unknown_replace(q, err);
  if (status != TY_OK) return status;
  for (; q != NULL; q = q->next) ty_question_weigh(q);
  words = words_cost(x);
  x->apart = x->n > 1 && dense > APART_BYTES && words > APART_BYTES;
  return ty_cost_check(ty_cost_plus(dense, words), most, err);
}

static ty_status fuse(ty_ask_run *x, ty_error *err) {
  uint64_t dense = x->ranked[0], words = x->ranked[1], all = dense + words;
  ty_candidate *lists = all < SIZE_MAX / sizeof *x->fused ? malloc((size_t)(all + 1) * sizeof *lists) : NULL;
  if (lists != NULL) x->fused = malloc((size_t)(all + TY_FUSE_HEAD + TY_TURNS_MOST + 1) * sizeof *x->fused);
  if (x->fused == NULL) {
    free(lists);
    return ty_fail(err, TY_NO_MEMORY, "not enough memory to fuse %" PRIu64 " rows", all);
  }
  ty_fuse_scales scales;
  for (uint64_t i = 0; i < all; i++) lists[i] = ty_ask_run_candidate(x, i >= dense, i < dense ? i : i - dense);
  x->count = ty_fuse(lists, dense, lists + dense, words, x->a->dense_weight, x->fused, &scales);
  x->least = ty_fuse_least(&scales, x->a->dense_weight);
  ty_status status = ty_ask_run_meaning(x, err);
  if (status == TY_OK) status = ty_ask_run_passages(x, &scales, err);
  if (status == TY_OK) status = ty_ask_run_turns(x, err);
  if (status == TY_OK) status = ty_ask_run_newer(x, err);
  if (x->count > x->a->top_k && (x->a->what & TY_WITH_ALL) == 0) x->count = x->a->top_k;
  free(lists);
  return status;
}

/* Makes both rankings of a part. The ranking by words is first, because its rows are likely to be among the best by
 * vector too: the ranking by vector begins with them (ty_wanted). */
static ty_status rank_one(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  (void)worker;
  ty_ask_run *x = context;
  ty_ask_part *part = &x->parts[task];
  ty_wanted wanted = {
      .top_k = x->depth, .query = x->query, .filter = &part->filter, .target = ty_ask_run_target(x, part)};
  ty_ref *expected = NULL;
  ty_status status = TY_OK;
  if (part->words.x != NULL) status = ty_question_rank(&part->words, x->depth, &part->best, err);
  if (status == TY_OK && x->by_vector && part->best.count > 0) {
    expected = malloc((size_t)part->best.count * sizeof *expected);
    if (expected == NULL) status = ty_fail(err, TY_NO_MEMORY, "not enough memory to rank rows");
    for (; status == TY_OK && wanted.expected_count < part->best.count; wanted.expected_count++) {
      const ty_ranked *one = &part->best.items[wanted.expected_count];
      expected[wanted.expected_count] = (ty_ref){one->delta ? &part->c->delta : &part->c->base, one->at};
    }
    wanted.expected = expected;
  }
  if (status == TY_OK) status = go_on(x, err);
  if (status == TY_OK && x->by_vector) status = ty_search_hits(part->c, &wanted, &part->found, err);
  free(expected);
  return ty_ask_run_in(part, status);
}

static ty_status rank(ty_ask_run *x, ty_error *err) {
  bool both = x->by_vector && x->by_words;
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->n && x->by_vector && status == TY_OK; i++)
    status = ty_ask_run_in(&x->parts[i], ty_filter_gather(x->parts[i].c, &x->parts[i].filter, err));
  if (status != TY_OK) return status;
  x->depth = both || (x->a->what & TY_WITH_ALL) != 0 ? ty_fuse_depth(x->a->top_k) : x->a->top_k;
  if (x->apart) {
    ty_crew crew;
    ty_crew_init(&crew, TY_CREW_MAX, x->progress);
    status = ty_crew_run(&crew, x->n, rank_one, x, err);
  } else {
    for (uint64_t i = 0; i < x->n && status == TY_OK; i++) {
      status = go_on(x, err);
      if (status == TY_OK) status = rank_one(x, i, 0, err);
    }
  }
  if (status == TY_OK) status = ty_ask_run_merge(x, err);
  if (status == TY_OK && both) return fuse(x, err);
  x->count = x->ranked[x->by_vector ? 0 : 1];
  return status;
}

/* Opens the filters of the parts, and chains their questions. */
static ty_status open_parts(ty_ask_run *x, ty_error *err) {
  const ty_ask_args *a = x->a;
  question **last = &x->words;
  uint64_t births = 0;
  for (uint64_t i = 0; i < x->n; i++) {
    ty_ask_part *part = &x->parts[i];
    part->births = births;
    births += part->c->next_row;
    ty_status status = ty_filter_open(part->c, part->column, (ty_slice){a->key, a->key_bytes}, &part->filter, err);
    if (status == TY_OK)
      status = ty_filter_under(part->c, a->under_column, (ty_slice){a->under, a->under_bytes}, &part->filter, err);
    if (ty_ask_run_in(part, status) != TY_OK) return status;
    part->words.c = part->c;
    part->words.filter = &part->filter;
    if (part->words.x == NULL) continue;
    part->words.weighs = x->words == NULL && (a->what & TY_WITH_WEIGHTS) != 0;
    *last = &part->words;
    last = &part->words.next;
  }
  x->by_words = x->words != NULL;
  return TY_OK;
}

ty_status ty_ask_run_all(ty_ask_run *x, ty_error *err) {
  x->by_vector = (x->a->by & TY_BY_VECTOR) != 0;
  ty_status status = open_parts(x, err);
  if (status == TY_OK) status = prepare(x, err);
  if (status != TY_OK) return status;
  for (uint64_t i = 0; i < x->n; i++) atomic_fetch_add_explicit(&x->parts[i].c->searches, 1, memory_order_relaxed);
  status = rank(x, err);
  return status == TY_OK ? ty_ask_run_answer(x, err) : status;
}

void ty_ask_run_close(ty_ask_run *x) {
  ty_weights_close(&x->weighing);
  free(x->memory);
  free(x->fused);
  free(x->meant);
  free(x->listed[0]);
  free(x->listed[1]);
  for (uint64_t i = 0; i < x->n; i++) {
    ty_ask_part *part = &x->parts[i];
    ty_turns_close(&part->turns);
    free(part->found.hits);
    free(part->best.items);
    ty_question_free(&part->words);
    ty_filter_close(&part->filter);
  }
}

/* By words in `index`; NULL: by vector alone. */
static ty_status ask(ty_collection *c, ty_ask_args *a, ty_lexical *index, ty_error *err) {
  ty_ask_part part = {.c = c, .column = a->column, .words = {.x = index}};
  ty_ask_run x = {.parts = &part, .n = 1, .env = c->env, .dim = c->dim, .a = a};
  ty_status status = ty_ask_run_all(&x, err);
  ty_ask_run_close(&x);
  return status;
}

/* By words alone, in an index made of the texts where the stored one cannot be used. */
static ty_status ask_made(ty_collection *c, ty_ask_args *a, ty_error *err) {
  ty_lexical *index;
  ty_status status = ty_cost_check(ty_rebuilt_cost(c->lexical_index, c), a->most_bytes, err);
  if (status == TY_OK) status = ty_rebuilt(c->lexical_index, c, &index, err);
  return status == TY_OK ? ask(c, a, index, err) : status;
}

ty_status ty_ask_entered(ty_collection *c, ty_ask_args *a, ty_error *err) {
  a->by_meaning = 0;
  a->meaning_weight = 0;
  a->out_bytes = a->out_count = a->fused = a->screened_rows = a->scored_rows = a->probed_lists = a->trouble = 0;
  ty_status status = ty_ask_run_check(c, a, err);
  if (status != TY_OK) return status;
  ty_lexical *stored = (a->by & TY_BY_WORDS) != 0 ? c->lexical_index : NULL;
  a->words = a->known = a->replaced = a->weights = 0;
  if ((a->by & TY_BY_VECTOR) != 0 && c->ivf_lost.lost) a->trouble |= TY_TROUBLE_IVF;
  if (stored == NULL) return ask(c, a, NULL, err);
  if (ty_lexical_usable(stored)) {
    status = ask(c, a, stored, err);
    if (status != TY_INDEX) return status;
    /* Damage between head and foot is found by the query that reads there. */
    ty_lexical_found_damage(stored);
  }
  a->trouble |= TY_TROUBLE_WORDS;
  return a->by == TY_BY_BOTH ? ask(c, a, NULL, err) : ask_made(c, a, err);
}

ty_status ty_ask(ty_collection *c, ty_ask_args *args, ty_error *err) {
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  status = ty_ask_entered(c, args, err);
  return ty_leave(c, status, err);
}
