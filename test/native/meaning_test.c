/* Compares answers of ty_ask with the ranking by meaning computed in doubles (meaning_truth.h): for random collections,
 * for chosen ones, and while another thread fills and saves. */
#include "meaning_chosen.h"
#include "meaning_threads.h"

static inquiry draw_question(void) {
  inquiry q = {.top_k = 10, .what = TY_WITH_ALL | TY_WITH_SCORES | TY_WITH_WEIGHTS};
  uint64_t gate = rng() % 8;
  q.bytes = write_words((uint32_t)(rng() % 9), rng() % 3 == 0 ? 0 : 3 + rng() % 4, q.text);
  q.bytes += write_gate(gate == 0 ? 0 : gate < 4 ? (uint8_t)rng() : 255, q.text + q.bytes);
  for (uint32_t d = 0; d < DIM; d++) q.vector[d] = (float)(rng() % 2001) / 1000 - 1;
  q.dense_weight = rng() % 8 == 0 ? (double)(rng() % 2) : (double)(rng() % 1000) / 1000;
  q.part = rng() % 3 == 0 ? (uint32_t)(rng() % 4) : ALL_KEYS; /* no row has p3 */
  q.kind = rng() % 4 == 0 ? (uint32_t)(rng() % 2) : ALL_KEYS;
  if (rng() % 3 == 0) q.top_k = 1 + rng() % 200;
  return q;
}

static void change(library *l) {
  uint32_t i = (uint32_t)(rng() % l->count), n = 1 + (uint32_t)(rng() % 8);
  ty_compact_args compact = {0};
  ty_ivf_args ivf = {.min_rows = 20, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.6};
  ty_status status = TY_OK;
  uint64_t what = rng() % 8;
  if (what >= 5) CHECK(ty_begin(l->c, &err) == TY_OK);
  if (what < 2) delete_row(l, i);
  else if (what == 2) draw_rows(l, l->count, n, rng() % 2 == 0 ? TY_PUT_MEANING : 0);
  else if (what == 3) draw_rows(l, i, i + n < l->count ? n : 1, rng() % 2 == 0 ? TY_PUT_MEANING : 0);
  else if (what == 4) fill_rows(l->c, 1 + rng() % l->count, rng() % 3, false);
  else if (what == 5) status = ty_compact(l->c, &compact, NULL, &err);
  else if (what == 6) status = ty_build_ivf(l->c, &ivf, NULL, &err);
  else status = ty_build_lexical(l->c, &lexical, NULL, &err);
  CHECK_MESSAGE(status == TY_OK, "change %d: %s", (int)what, err.message);
}

static void test_random(uint64_t seed) {
  static const uint32_t sizes[] = {1, 3, 20, 60, 101, 150, 320, 400};
  for (uint32_t world = 0; world < 16; world++) {
    uint32_t path = world % ame_isa_count();
    if (ame_isa_supported(path)) CHECK(ame_isa_force(ame_isa_name(path)) == 0);
    library *l = library_of(sizes[world % 8], world == 13 ? FOREIGN : world % 3 == 2 ? MIXED : PROSE);
    if (world % 8 != 3) fill_rows(l->c, ROWS_MOST, world % 2 == 0 ? 4 : 0, false);
    for (uint32_t step = 0; step < 6; step++) {
      read_rows(l);
      for (uint32_t i = 0; i < 6; i++) {
        char name[400];
        inquiry q = draw_question();
        snprintf(name, sizeof name, "seed %llu, world %u, step %u: %.*s", (unsigned long long)seed, world, step,
                 (int)q.bytes, q.text);
        compare(l, &q, name);
      }
      change(l);
    }
    library_close(l);
  }
  CHECK_MESSAGE(seen.c_low > 0 && seen.c_between > 0 && seen.c_high > 0 && seen.rows_few > 0 && seen.rows_many > 0 &&
                    seen.gate_low > 0 && seen.gate_between > 0 && seen.gate_high > 0 && seen.unlisted > 0 &&
                    seen.meaning_only > 0 && seen.alternates > 0 && seen.ties > 0,
                "of %llu questions: c %llu %llu %llu, rows %llu %llu, gates %llu %llu %llu, beyond the head %llu, by "
                "meaning only %llu, replaced %llu, ties %llu",
                (unsigned long long)seen_questions, (unsigned long long)seen.c_low, (unsigned long long)seen.c_between,
                (unsigned long long)seen.c_high, (unsigned long long)seen.rows_few, (unsigned long long)seen.rows_many,
                (unsigned long long)seen.gate_low, (unsigned long long)seen.gate_between,
                (unsigned long long)seen.gate_high, (unsigned long long)seen.unlisted,
                (unsigned long long)seen.meaning_only, (unsigned long long)seen.alternates,
                (unsigned long long)seen.ties);
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "meaning-test", 1, &seed, &env)) return 2;
  /* program_begin opens an environment with the kernel's encoder. These tests need one with the stand-in. */
  ty_env_close(env);
  if (!marked_env()) return 2;
  rng_state = seed;
  test_random(seed);
  test_without();
  test_ties();
  test_many();
  test_tenth();
  test_counted_once();
  test_turn();
  test_threads();
  return program_end(env);
}
