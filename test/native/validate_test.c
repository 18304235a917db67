/* The validator of an open collection finds each broken invariant: it is broken in memory, named by the failure, and
 * restored. */
#include <signal.h>
#include <sys/wait.h>
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/lexical/index.h"
#include "../../ffi/ty_runtime/rows/weights_state.h"
#include "../../ffi/ty_runtime/state/ids.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;

/* Writes `value` over `field`, which is read-only elsewhere, validates, and restores the field. */
#define BROKEN(field, value, word)                                                                                     \
  do {                                                                                                                 \
    __typeof__(field) *at_ = &(field), kept_ = *at_, value_ = value;                                                   \
    memcpy((void *)(uintptr_t)at_, &value_, sizeof kept_);                                                             \
    ty_status status_ = ty_validate(c, &err);                                                                          \
    CHECK_MESSAGE(status_ == TY_CORRUPT && strstr(err.message, word) != NULL, "%s: status %d, %s", #field, status_,    \
                  status_ == TY_OK ? "nothing was said" : err.message);                                                \
    memcpy((void *)(uintptr_t)at_, &kept_, sizeof kept_);                                                              \
  } while (0)

static uint64_t first_live(const ty_segment *s) {
  uint64_t at = 0;
  while (s->dead[at]) at++;
  return at;
}

static void break_rows(ty_collection *c) {
  uint64_t at = first_live(&c->delta), other = first_live(&c->base);
  BROKEN(c->base.live, c->base.live - 1, "live rows");
  BROKEN(c->delta.live, c->delta.count + 1, "live of");
  BROKEN(c->delta.dead[at], 2, "is marked");
  BROKEN(c->delta.dead[at], 1, "live rows");
  BROKEN(c->next_row, c->next_row + 1, "the next row");
  BROKEN(c->delta.payload[at].id.bytes, 0, "no id");
  BROKEN(c->delta.payload[at].has_text, 0, "marked not to have");
  BROKEN(((uint64_t *)(uintptr_t)c->delta.row)[at], c->delta.row[at] + 1, "has number");
  BROKEN(((uint64_t *)(uintptr_t)c->delta.birth)[at], c->base.birth[other], "share birth");
  BROKEN(((uint64_t *)(uintptr_t)c->delta.birth)[at], c->next_row, "after it came");
  BROKEN(((uint64_t *)(uintptr_t)c->delta.updated)[at], c->delta.created[at] - 1, "updated before it came");
}

static void break_values(ty_collection *c) {
  uint32_t code = c->delta.keys[1][first_live(&c->delta)];
  BROKEN(c->dicts[1].live[code], c->dicts[1].live[code] + 1, "live rows");
  BROKEN(c->dicts[0].held, c->dicts[0].held + 1, "in use");
  BROKEN(c->dicts[1].ends[code], c->dicts[1].ends[code - 1], "outside of its bytes");
  BROKEN(c->dicts[1].bytes.data[c->dicts[1].ends[code] - 1], '?', "not found by its bytes");
  BROKEN(((uint32_t *)(uintptr_t)c->delta.keys[1])[0], c->dicts[1].count, "no dictionary knows");
  ty_by_value *list = &c->base.by_value[1];
  ty_by_value_entry entries[2] = {list->entries[0], {0}}; /* of one block */
  entries[0].first++;
  BROKEN(list->count, list->count - 1, "rows by value");
  BROKEN(list->left_out, list->left_out == 1 ? 2 : 1, "rows by value");
  BROKEN(list->entries, entries, "out of order");
  BROKEN(c->spans[0].count, c->spans[0].count + 1, "partition");
  BROKEN(c->spans[1].key, c->spans[0].key, "smaller key");
  BROKEN(c->span_count, c->span_count - 1, "partitions hold");
}

static void break_tables(ty_collection *c) {
  struct ty_state *s = c->state;
  ty_id_slot *slots = s->id_table.data;
  ty_place *order = s->order.data, *base_at = s->base_at.data;
  uint64_t used = 0, born = 0, dead = 0;
  if (!CHECK(s->ids_ready && s->order_ready && base_at != NULL)) return;
  while (slots[used].place == 0 || slots[used].place == TY_SLOT_GONE) used++;
  while (order[born] == 0) born++;
  while (!c->base.dead[dead]) dead++;
  BROKEN(slots[used].place, TY_SLOT_GONE, "of live rows");
  BROKEN(slots[used].place, (uint32_t)dead + 1, "dead row");
  BROKEN(slots[used].tag, slots[used].tag + 1, "");
  BROKEN(s->id_table_used, s->id_table_used + 1, "slots");
  BROKEN(order[born], 0, "table of births");
  BROKEN(order[born], (ty_place)dead + 1, "table of births");
  BROKEN(base_at[0], base_at[1], "row numbers");
  /* Without a table two rows of one id are found as well. */
  uint64_t a = first_live(&c->delta), b = a + 1;
  while (c->delta.dead[b]) b++;
  atomic_store(&s->ids_ready, false);
  ty_slice twin = c->delta.payload[b].id;
  BROKEN(c->delta.payload[a].id, twin, "under one id");
  atomic_store(&s->ids_ready, true);
}

static void break_lines(ty_collection *c, uint64_t at) {
  ty_vertical *v = &c->delta.vertical;
  uint8_t *line = (uint8_t *)(uintptr_t)v->lines + AME_LINE_BYTE(at % 64);
  if (!CHECK(at < 64)) return;
  BROKEN(*line, (uint8_t)(*line ^ 0x55), "codes of row");
  BROKEN(((float *)(uintptr_t)v->norms)[at], v->norms[at] / 2, "the vertical codes of row");
  BROKEN(((float *)(uintptr_t)v->errs)[at], 1, "larger than the largest");
  BROKEN(v->width_most, 0, "larger than the largest");
  BROKEN(v->norm_most, 0, "larger than the largest");
  BROKEN(v->scales, NULL, "lacks a column of vertical codes");
  BROKEN(((float *)(uintptr_t)v->scales)[at], v->scales[at] * 2, "codes of row");
  BROKEN(c->delta.blocks, v->lines, "codes that its form does not have");
}

/* The last checksum of a run, in a copy of the base's file. */
static void break_runs(ty_collection *c) {
  const ty_file *base = &c->store->files.base;
  uint8_t *copy = aligned_alloc(64, (base->mapped + 63) / 64 * 64);
  const ty_slab_header *h = (const ty_slab_header *)(const void *)base->map;
  const ty_slab_section *s = (const ty_slab_section *)(const void *)(h + 1);
  if (!CHECK(copy != NULL)) return;
  memcpy(copy, base->map, base->bytes);
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].id == TY_SECTION_RUNS) copy[s[i].offset + s[i].bytes - 1] ^= 1;
  }
  BROKEN(c->store->files.base.map, copy, "is not that of its run");
  free(copy);
}

static void break_indexes(ty_collection *c) {
  if (!CHECK(c->ivf != NULL && c->ivf->count > 0 && ty_lexical_usable(c->lexical_index))) return;
  ty_ivf_part *p = &c->ivf->parts[0];
  ty_lexical *x = c->lexical_index;
  uint64_t starts[64], at = first_live(&c->delta);
  if (!CHECK(p->nlist < 64)) return;
  float small[64] = {0};
  memcpy(starts, p->list_starts, (p->nlist + 1) * sizeof *starts);
  starts[0] = starts[p->nlist] + 1;
  BROKEN(p->list_starts, starts, "ends before it begins");
  BROKEN(p->nprobe, p->nlist + 1, "more are read");
  BROKEN(p->most, small, "outside of its list");
  if (model_vertical) {
    break_lines(c, at);
    break_runs(c);
  } else {
    BROKEN(((ame_code_info *)(uintptr_t)c->delta.info)[at].err, 0, "8-bit codes");
    const char *why = at < c->state->kept_rows ? "the codes of row" : "is not of the next row";
    BROKEN(c->delta.payload[at].coded, !c->delta.payload[at].coded, why);
    BROKEN(((uint8_t *)(uintptr_t)c->delta.blocks)[at * 4], (uint8_t)(c->delta.blocks[at * 4] ^ 0xff), "4-bit codes");
  }
  BROKEN(x->delta_docs, x->delta_docs + 1, "lexical statistics");
  BROKEN(x->base_totals.tokens, x->base_totals.tokens + 1, "tokens");
  BROKEN(x->delta_totals.docs, x->delta_totals.docs + 1, "lengths of rows");
  BROKEN(x->change[0].added, x->change[0].added + 1, "a term is counted");
  BROKEN(x->base_dead[0], !x->base_dead[0], "deaths");
  BROKEN(x->image.tokens, x->image.tokens + 1, "the lexical index has");
  uint64_t *sums = malloc(c->dim * sizeof *sums);
  memcpy(sums, c->base.squares, c->dim * sizeof *sums);
  sums[3]++;
  BROKEN(c->base.squares, sums, "sums of squares");
  free(sums);
  if (!CHECK(c->base.span_squares != NULL && c->weights->scoped_count > 0)) return;
  uint64_t *stored = malloc(c->span_count * c->dim * sizeof *stored);
  memcpy(stored, c->base.span_squares, c->span_count * c->dim * sizeof *stored);
  stored[2]++;
  BROKEN(c->base.span_squares, stored, "the stored sums of a partition");
  free(stored);
  BROKEN(c->weights->scoped[0].base.sums[3], c->weights->scoped[0].base.sums[3] + 1, "the kept sums of a partition");
}

static void break_change(ty_collection *c) {
  struct ty_store *store = c->store;
  struct ty_state *s = c->state;
  BROKEN(store->ops, store->ops + 1, "unsaved operations");
  BROKEN(s->killed_count, s->killed_count - 1, "are noted");
  BROKEN(s->kept_rows, s->kept_rows - 1, "a change remembers");
  BROKEN(store->lock_fd, -1, "lock");
  BROKEN(store->chunks[0].used, store->chunks[0].used - 64, "unsaved operation");
}

/* A collection with everything in it, and a change under way. */
static void test_each(uint64_t seed) {
  FRESH_DIR(dir);
  env->weighed_from = env->summed_from = 1;
  rng_state = seed;
  model m = {0};
  ty_collection *c = open_new(env, dir);
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  float query[DIM];
  ty_ask_args weighted = {.by = TY_BY_VECTOR, .vector = query, .top_k = 1, EXACTLY, .weighted = 1, ANSWER_IN(answer)};
  ty_ask_args words = {.by = TY_BY_WORDS, TEXT_OF("text"), .top_k = 1, .column = TY_NO_FILTER, ANSWER_IN(answer)};
  model_query(query);
  CHECK(ty_begin(c, &err) == TY_OK);
  while (c->delta.live < IDS / 2) random_changes(c, &m, IDS); /* some partition has four */
  CHECK(ty_build_ivf(c, &ivf, NULL, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK);
  while (c->delta.live < 4 || c->base.live == c->base.count) random_changes(c, &m, 8);
  CHECK(ty_save(c, &err) == TY_OK && ty_begin(c, &err) == TY_OK);
  do random_changes(c, &m, 8);
  while (c->state->killed_count == 0 || c->delta.count == c->state->kept_rows || c->base.live == 0);
  ty_place place;
  CHECK(ty_place_of_row(c, c->store->first_row, &place)); /* makes the table of row numbers */
  CHECK(model_equal(c, &m));
  CHECK(ty_ask(c, &weighted, &err) == TY_OK && ty_ask(c, &words, &err) == TY_OK);
  weighted.column = 0; /* of each partition too */
  weighted.key_bytes = 2;
  for (int i = 0; i < 3; i++) {
    weighted.key = (const uint8_t *)(i == 0 ? "p0" : i == 1 ? "p1" : "p2");
    CHECK(ty_ask(c, &weighted, &err) == TY_OK);
  }
  CHECK(whole(c));
  break_rows(c);
  break_values(c);
  break_tables(c);
  break_indexes(c);
  break_change(c);
  CHECK(whole(c) && ty_save(c, &err) == TY_OK && saved_equal(env, dir, &m));
  close_checked(c);
}

/* These programs are built with the asserts on: one that does not hold ends the process. */
static void test_asserts(void) {
  int how = 0;
  pid_t child = fork();
  if (child == 0) {
    ty_dict none = {0};
    fclose(stderr);
    ty_dict_uncount(&none, 0);
    _exit(0);
  }
  CHECK(child > 0 && waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "validate-test", 1, &seed, &env)) return 2;
  for (uint64_t i = 0; i < 8; i++) {
    set_vertical(env, i >= 4);
    model_codes = i >= 4 ? ALL_CODES : NO_CODES;
    test_each(seed + i);
  }
  test_asserts();
  return program_end(env);
}
