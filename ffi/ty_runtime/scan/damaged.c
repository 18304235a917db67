/* Rows of the base that cannot be read. Codes beside stored vectors only exclude rows: without them a row is scored by
 * its vector, and the answer is the same. Where the codes are the rows, or the vector is damaged, the row is left out
 * if it has a text, by which it can be found and from which its vector can be made again; without one the query fails.
 */
#include "rows/vertical.h"
#include "scan/inside.h"

void scan_look(ty_scanner *s) {
  const ty_checks *k = s->base->checks;
  s->careful = k != NULL && ty_intact_any(&k->vectors);
  s->codes_good = !s->careful && (k == NULL || ty_intact_whole(&k->codes));
  s->vectors_good = k == NULL || ty_intact_whole(&k->vectors);
}

bool scan_bounded(ty_scanner *s, uint64_t at, double least, double most) {
  if (s->careful && !ty_vector_intact(s->c, s->base, at)) {
    scan_leave_out(s, at);
    return false;
  }
  if (ty_codes_intact(s->c, s->base, at)) return true;
  if (s->base->vectors == NULL) {
    scan_leave_out(s, at);
  } else {
    s->counts.trouble |= TY_TROUBLE_CODES;
    scan_note(s, at, 0, INFINITY, least, most);
  }
  return false;
}

void scan_leave_out(ty_scanner *s, uint64_t at) {
  if (s->base->dead[at]) return;
  if ((s->base->presence[at] & TY_HAS_TEXT) != 0) {
    s->counts.trouble |= TY_TROUBLE_ROWS;
    return;
  }
  if (s->lost_count < SCAN_NAMED) s->lost[s->lost_count] = at;
  s->lost_count++;
}

void scan_leave_out_all(ty_scanner *s, uint64_t first, uint32_t n) {
  uint16_t offsets[TY_SPARSE_ROWS];
  TY_ASSERT(n <= TY_SPARSE_ROWS);
  uint32_t found = ty_filter_select(s->filter, s->base, first, n, offsets);
  for (uint32_t i = 0; i < found; i++) scan_leave_out(s, first + offsets[i]);
}

ty_status scan_whole(const ty_scanner *s, ty_error *err) {
  if (s->lost_count == 0) return TY_OK;
  uint64_t named = s->lost_count < SCAN_NAMED ? s->lost_count : SCAN_NAMED;
  return ty_rows_damaged(s->c, s->base, s->lost, (uint32_t)named, s->lost_count, err);
}
