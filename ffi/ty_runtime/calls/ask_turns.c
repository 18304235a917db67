/* Adds to a turn of a conversation some of the scores of the turns beside it: an answer seldom repeats the words of the
 * question that it follows. */
#include <stdlib.h>

#include "calls/ask_run.h"
#include "lexical/passage.h"

/* A neighbour gets SHARE of the score of a turn, the next one SHARE^2. locomo gains .0350
 * ± .0037 nDCG@10; with .3 it gains .0258, with .3 and one step .0169. */
#define SHARE 0.4
#define STEPS 2
/* A long turn takes a quarter: it has words of many questions anyhow, and in logs of chats with an assistant it would
 * pass the short turn before it, which has what is asked for. */
#define LONG_SHARE 0.25

typedef struct gain {
  uint32_t part;
  uint32_t turn; /* in its turns.rows, which are by birth */
  bool listed;   /* the ranking has it */
  double score;
} gain;

static int by_turn(const void *a, const void *b) {
  const gain *x = a, *y = b;
  if (x->part != y->part) return x->part > y->part ? 1 : -1;
  if (x->turn != y->turn) return x->turn > y->turn ? 1 : -1;
  return (x->score < y->score) - (x->score > y->score); /* a sum is the same on every platform */
}

static bool has_turns(const ty_ask_run *x, ty_unpack *metas) {
  for (uint64_t i = 0; i < x->count && i < TY_TURNS_LOOKED; i++) {
    ty_ref ref = ty_ask_run_row(x, &x->fused[i]).ref;
    if (ty_is_turn(ref.segment, ref.at, metas)) return true;
  }
  return false;
}

bool ty_ask_run_has_turns(const ty_ask_run *x) {
  ty_unpack metas;
  ty_unpack_init(&metas);
  return has_turns(x, &metas);
}

static bool is_long(ty_ref row, ty_text_reader *r) {
  bool has_text;
  return ty_may_be_long(ty_row_stored_text(row.segment, row.at)) &&
         ty_is_long_text(ty_row_text(row.segment, row.at, r, &has_text));
}

/* What the best rows, which lie in `rows`, give to the turns beside them. */
static bool gains_of(ty_ask_run *x, const ty_ask_row *rows, uint64_t heads, ty_text_reader *r, gain *out,
                     uint32_t *count) {
  for (uint64_t i = 0; i < heads; i++) {
    ty_ask_part *in = rows[i].part;
    double score = x->fused[i].row.score;
    uint32_t head = ty_turns_find(&in->turns, x->fused[i].row.birth - in->births);
    if (score <= 0 || head == TY_NO_TURN) continue;
    for (int direction = -1; direction <= 1; direction += 2) {
      double part = score;
      uint32_t at = head;
      for (int step = 0; step < STEPS; step++) {
        if (!ty_turns_step(&in->turns, at, direction, &at)) return false;
        if (at == TY_NO_TURN) break;
        part *= SHARE;
        bool shrinks = is_long(in->turns.rows[at].ref, r);
        out[(*count)++] = (gain){(uint32_t)(in - x->parts), at, false, shrinks ? part * LONG_SHARE : part};
      }
    }
  }
  return !r->text.failed;
}

/* One gain of each turn: the sum of its. Returns how many. */
static uint32_t sum_up(gain *gains, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool same = kept > 0 && gains[kept - 1].turn == gains[i].turn && gains[kept - 1].part == gains[i].part;
    if (same) gains[kept - 1].score += gains[i].score;
    else gains[kept++] = gains[i];
  }
  return kept;
}

/* The birth of the row that has a gain, through all parts. */
static uint64_t birth_of(const ty_ask_run *x, const gain *g) {
  const ty_ask_part *part = &x->parts[g->part];
  return part->births + part->turns.rows[g->turn].birth;
}

/* The gain of the row with a birth; NULL: it has none. */
static gain *gain_of(const ty_ask_run *x, gain *gains, uint32_t count, uint64_t birth) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (birth_of(x, &gains[middle]) < birth) low = middle + 1;
    else high = middle;
  }
  return low < count && birth_of(x, &gains[low]) == birth ? &gains[low] : NULL;
}

/* Adds the gains to the rows of the ranking, and rows that it lacks. */
static void add_gains(ty_ask_run *x, gain *gains, uint32_t count) {
  for (uint64_t i = 0; i < x->count; i++) {
    gain *g = gain_of(x, gains, count, x->fused[i].row.birth);
    if (g == NULL) continue;
    x->fused[i].row.score += g->score;
    g->listed = true;
  }
  for (uint32_t i = 0; i < count; i++) {
    const ty_candidate row = {birth_of(x, &gains[i]), x->least + gains[i].score};
    if (!gains[i].listed) x->fused[x->count++] = (ty_fused){row, UINT64_MAX, UINT64_MAX};
  }
}

/* Finds the turns near the best rows of each part. */
static ty_status open_turns(ty_ask_run *x, const ty_ask_row *rows, uint64_t heads, ty_unpack *metas, ty_error *err) {
  ty_ref refs[TY_TURN_HEADS];
  for (uint64_t i = 0; i < heads; i++) {
    ty_ask_part *part = rows[i].part;
    uint64_t n = 0;
    bool first = true;
    for (uint64_t k = 0; k < heads; k++) {
      if (rows[k].part != part) continue;
      first &= k >= i;
      refs[n++] = rows[k].ref;
    }
    if (!first) continue;
    ty_status status = ty_turns_open(&part->turns, part->c, &part->filter, refs, n, metas, err);
    if (ty_ask_run_in(part, status) != TY_OK) return status;
    x->has_turns |= part->turns.count > 0;
  }
  return TY_OK;
}

ty_status ty_ask_run_turns(ty_ask_run *x, ty_error *err) {
  ty_ask_row rows[TY_TURN_HEADS];
  gain gains[TY_TURNS_MOST];
  ty_unpack metas;
  uint64_t heads = x->count < TY_TURN_HEADS ? x->count : TY_TURN_HEADS;
  uint32_t count = 0;
  ty_unpack_init(&metas);
  if (!has_turns(x, &metas)) return TY_OK;
  for (uint64_t i = 0; i < heads; i++) rows[i] = ty_ask_run_row(x, &x->fused[i]);
  ty_status status = open_turns(x, rows, heads, &metas, err);
  if (status != TY_OK) return status;
  ty_text_reader r = {.most = TY_LONG_TEXT_BYTES};
  const bool good = gains_of(x, rows, heads, &r, gains, &count);
  ty_buffer_free(&r.text);
  if (!good) return ty_fail(err, TY_NO_MEMORY, "not enough memory for the turns of a conversation");
  if (count == 0) return TY_OK;
  qsort(gains, count, sizeof *gains, by_turn);
  add_gains(x, gains, sum_up(gains, count));
  ty_fused_sort(x->fused, x->count);
  return TY_OK;
}
