/* Rows that a caller expects among the best, because another ranking found them. They are scored before the scan, so
 * that it begins with a threshold. The scan leaves them out. */
#include <stdlib.h>

#include "os/plant.h"
#include "scan/inside.h"

static int by_place(const void *a, const void *b) {
  const scan_expected *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

/* The index of the first expected row from the position `at` on. */
static uint64_t first_from(const ty_scanner *s, uint64_t at) {
  uint64_t low = 0, end = s->expected_count;
  while (low < end) {
    const uint64_t middle = low + (end - low) / 2;
    if (s->expected[middle].at < at) low = middle + 1;
    else end = middle;
  }
  return low;
}

/* Whether the codes of a row, and its vector if it has one, match their checksums. If not, the row stays in the scan,
 * which reports the damage. */
static bool can_score(const ty_scanner *s, ty_ref ref) {
  const ty_segment *g = ref.segment;
  if (!g->is_base) return true;
  if (g->vectors != NULL && !s->vectors_good && !ty_vector_intact(s->c, g, ref.at)) return false;
  return s->lines.whole || g->checks == NULL ||
         ty_line_sums_good(&g->checks->lines, ref.at, s->lines.dims, s->lines.count);
}

bool ty_scanner_expect(ty_scanner *s, const ty_ref *rows, uint64_t n) {
  if (s->bounds.wanted == 0 || s->filter->none || s->lines.count == 0) return true;
  if (s->filter->count < s->c->env->expected_least) return true;
  TY_ASSERT(s->expected == NULL);
  if (n > s->bounds.wanted) n = s->bounds.wanted;
  s->expected = ty_arena_take(&s->memory, n, sizeof *s->expected);
  if (s->memory.failed) return false;
  for (uint64_t i = 0; i < n; i++) {
    if (rows[i].segment->vertical.lines == NULL || !ty_filter_allows(s->filter, rows[i].segment, rows[i].at)) continue;
    s->expected[s->expected_count++] = (scan_expected){rows[i].at | (rows[i].segment->is_base ? 0 : DELTA_BIT), 0};
  }
  qsort(s->expected, (size_t)s->expected_count, sizeof *s->expected, by_place);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < s->expected_count; i++) {
    scan_expected one = s->expected[i];
    const ty_ref ref = scan_ref(s, one.at);
    if (!can_score(s, ref)) continue;
    one.score = scan_score(s, scan_lines_row(s, ref.segment, ref.at));
    s->counts.scored++;
    const double value = scan_value(s, one.score);
    /* Codes that no writer writes may have the score NaN. It is left out of answers, and no heap can order it. */
    if (!isnan(value)) bounds_offer(&s->bounds, value);
    s->expected[kept++] = one;
  }
  s->expected_count = kept;
  return true;
}

void scan_expected_drop(const ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t *rows) {
  if (s->expected_count == 0 || TY_PLANTED(TWICE_EXPECTED)) return;
  const uint64_t from = first | (segment->is_base ? 0 : DELTA_BIT);
  for (uint64_t i = first_from(s, from); i < s->expected_count && s->expected[i].at < from + n; i++) {
    const uint64_t at = s->expected[i].at - from;
    rows[at / 64] &= ~(1ull << at % 64);
  }
}
