/* Threads that ask by meaning while one fills and saves. Every answer has to be that of one state, and no answer that
 * of an earlier state than the one before. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "meaning_reply.h"

#define STEPS   24u
#define STATES  (2 * STEPS)
#define ASKERS  3u
#define BASE_OF 90u /* rows at first */

static inquiry threads_question(void) {
  inquiry q = {.top_k = 20, .what = TY_WITH_SCORES, .part = ALL_KEYS, .kind = ALL_KEYS, .dense_weight = 0.3};
  q.bytes = (size_t)sprintf(q.text, "rudder velvet market wombats");
  q.bytes += write_gate(255, q.text + q.bytes);
  q.vector[1] = 1;
  return q;
}

/* A hash of the rows, scores and weight that a collection answers with; 0: it has to be asked again. */
static uint64_t answered(ty_collection *c, reply *r) {
  const inquiry q = threads_question();
  uint64_t parts[2 * 20 + 1] = {0};
  ty_status status = ask(c, &q, true, r);
  if (status == TY_BUSY) return 0; /* saves came too fast to follow */
  CHECK_MESSAGE(status == TY_OK, "status %d", (int)status);
  for (uint64_t i = 0; i < r->count; i++) {
    parts[2 * i] = r->hits[i].id;
    memcpy(&parts[2 * i + 1], &r->hits[i].score, sizeof(double));
  }
  memcpy(&parts[40], &r->args.meaning_weight, sizeof(double));
  return ame_kernel_table()->hash64((const uint8_t *)parts, sizeof parts, 0) | 1;
}

/* The answers of all states, in their order. */
typedef struct history {
  uint32_t count;
  uint64_t answers[STATES];
  reply reply;
} history;

static void note_state(history *h, library *l) {
  if (h == NULL) return;
  CHECK(h->count < STATES);
  h->answers[h->count++] = answered(l->c, &h->reply);
}

/* One change. Between put and save the changing handle already answers with the new rows, which have no vectors until
 * the save. */
static void advance(library *l, uint32_t step, history *h) {
  ty_compact_args compact = {0};
  if (step % 6 == 3) {
    CHECK(ty_begin(l->c, &err) == TY_OK && ty_compact(l->c, &compact, NULL, &err) == TY_OK);
  } else if (step % 6 == 1) {
    CHECK(ty_begin(l->c, &err) == TY_OK);
    for (uint32_t i = 0; i < 3; i++) draw_row(l, l->count++);
    put_rows(l, l->count - 3, 3, TY_PUT_MEANING);
    note_state(h, l);
    CHECK(ty_save(l->c, &err) == TY_OK);
  } else if (step % 6 == 5) {
    delete_row(l, step);
  } else {
    fill_rows(l->c, 7, 0, step % 2 == 0);
  }
  note_state(h, l);
}

typedef struct asker {
  ty_collection *c;
  const history *known;
  _Atomic uint32_t *stop;
  _Atomic uint64_t asked;
  uint32_t state; /* the one of the last answer, or an earlier one with the same answer */
  reply reply;
} asker;

static void *ask_on(void *context) {
  asker *a = context;
  while (!atomic_load(a->stop)) {
    uint64_t got = answered(a->c, &a->reply);
    uint32_t at = a->state;
    while (got != 0 && at < a->known->count && a->known->answers[at] != got) at++;
    CHECK_MESSAGE(at < a->known->count, "an answer is of no state after %u: by meaning %d, w %.12g", a->state,
                  (int)a->reply.args.by_meaning, a->reply.args.meaning_weight);
    if (at < a->known->count) a->state = at;
    atomic_fetch_add(&a->asked, 1);
  }
  return NULL;
}

static void test_threads(void) {
  static asker askers[ASKERS];
  static history h;
  const uint64_t begin = rng_state;
  _Atomic uint32_t stop = 0;
  pthread_t threads[ASKERS];
  library *l = library_of(BASE_OF, PROSE);
  note_state(&h, l);
  for (uint32_t i = 1; i < STEPS; i++) advance(l, i, &h);
  CHECK(h.reply.args.by_meaning == 1);
  library_close(l);
  rng_state = begin; /* the same again */
  l = library_of(BASE_OF, PROSE);
  for (uint32_t i = 0; i < ASKERS; i++) {
    askers[i].c = i == 0 ? open_saved(env, l->dir) : l->c; /* one of them follows as another process does */
    askers[i].known = &h;
    askers[i].stop = &stop;
    CHECK(pthread_create(&threads[i], NULL, ask_on, &askers[i]) == 0);
  }
  for (uint32_t i = 1; i <= STEPS; i++) {
    for (uint32_t k = 0; k < ASKERS; k++)
      while (atomic_load(&askers[k].asked) < 2 * (uint64_t)i) sched_yield();
    if (i < STEPS) advance(l, i, NULL);
  }
  stop = 1;
  for (uint32_t i = 0; i < ASKERS; i++) {
    pthread_join(threads[i], NULL);
    CHECK_MESSAGE(answered(askers[i].c, &askers[i].reply) == h.answers[h.count - 1], "asker %u at the end", i);
  }
  ty_collection_close(askers[0].c);
  library_close(l);
}
