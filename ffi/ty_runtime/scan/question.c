/* Preparing a query: its codes, and the factors of the bounds. */
#include <string.h>

#include "rows/coding.h"
#include "scan/inside.h"

/* The next float above a double. */
static float above(double value) { return nextafterf((float)value, INFINITY); }

/* A row is anchor + y; the blocks bound <q, y> + bias, with q and y turned where the coding says so. */
static bool prepare_screen(ty_scanner *s, int which, const ty_segment *segment, const ame_code_info *info) {
  const ty_coding *coding = &(which == 0 ? s->base : &s->c->base)->coding;
  if (segment == NULL || segment->blocks == NULL) return true;
  double value = 0, squares = 0, sum_error = (double)s->dim * 0x1p-22, err = (double)info->err;
  const int8_t *codes = s->query_codes;
  ame_code_info own = *info;
  for (uint32_t i = 0; coding->anchor != NULL && i < s->dim; i++) {
    value += (double)s->query[i] * (double)coding->anchor[i];
    squares += (double)coding->anchor[i] * (double)coding->anchor[i];
  }
  bool proved = info->norm >= AME_I4_LEAST && info->norm <= AME_I4_MOST && s->norm <= (double)AME_I4_MOST;
  if ((coding->rotated || coding->mirror != NULL) && proved) {
    s->screen[which].codes = ty_arena_align(&s->memory, s->stride, 1);
    if (s->screen[which].codes == NULL) return false;
    memset(s->screen[which].codes, 0, s->stride);
    memcpy(s->row, s->query, (size_t)s->dim * sizeof *s->row);
    ty_coding_turn(s->k, coding, s->dim, s->row);
    s->k->quantize_i8(s->row, 1, s->dim, s->screen[which].codes, &own);
    codes = s->screen[which].codes;
    err = (double)own.err + s->norm * 0x1p-17; /* turning rounded both the query and the rows */
    proved = own.norm >= AME_I4_LEAST && own.norm <= AME_I4_MOST;
  }
  int64_t sum = 0, squares_of_codes = 0; /* at most 127^2 * 65,536, times the dimension below 2^47 */
  for (uint32_t i = 0; i < s->dim; i++) {
    sum += codes[i];
    squares_of_codes += (int64_t)codes[i] * codes[i];
  }
  double apart = (double)(squares_of_codes * s->dim - sum * sum) / (double)s->dim;
  double rest = (double)own.scale * sqrt(apart > 0 ? apart : 0) * (1 + 0x1p-40);
  double each = (err + s->norm * sum_error) * (1 + 0x1p-18);
  s->screen[which].query = (ame_i4_query){.codes = codes,
                                          .sum = (int32_t)sum,
                                          .scale = own.scale,
                                          .length = own.norm,
                                          .per_err = above(each),
                                          .per_norm = above(each),
                                          /* |q - x|^2 <= 2 |q|^2 + 4 |bias| */
                                          .per_bias = above(0x1p-20 + 2 * s->l2_rounding),
                                          .rest = above(rest)};
  s->screen[which].proved = proved;
  s->screen[which].value = value;
  s->screen[which].slack = (sum_error + 0x1p-30) * s->norm * sqrt(squares) + s->slack + s->l2_rounding * s->squared;
  return true;
}

/* Sets the widths of bounds by 8-bit codes, with this share of the errors of codes. */
static void scan_widths(ty_scanner *s, double share) {
  double sum_error = (double)s->dim * 0x1p-22, rounding = 1 + 0x1p-40, err = s->codes_err * share;
  s->per_norm = (err + s->norm * sum_error + (s->norm + err) * 0x1p-40) * rounding;
  s->per_err = s->norm * (share + sum_error) * rounding;
}

void ty_scanner_narrow(ty_scanner *s, double share) {
  if (s->bounds.wanted != 0 && !s->filter->none) scan_widths(s, share);
}

bool scan_prepare(ty_scanner *s) {
  ame_code_info info;
  s->k->quantize_i8(s->query, 1, s->dim, s->query_codes, &info);
  double squares = 0;
  for (uint32_t i = 0; i < s->dim; i++) squares += (double)s->query[i] * (double)s->query[i];
  double norm = sqrt(squares) * (1 + 0x1p-30); /* rounded up: a sum of 65,536 doubles is good to 2^-36 */
  double sum_error = (double)s->dim * 0x1p-22;
  s->scale = info.scale;
  s->codes_err = (double)info.err;
  s->norm = norm;
  scan_widths(s, 1);
  s->slack = (double)s->dim * 0x1p-140;
  s->value_least = -FLT_MAX;
  s->value_most = FLT_MAX;
  if (s->c->metric == TY_L2) {
    s->squared = squares;
    s->l2_rounding = sum_error;
    s->slack += squares * 0x1p-34;
    s->value_least = (squares - FLT_MAX) / 2;
    s->value_most = INFINITY;
  }
  if (!prepare_screen(s, 0, s->base, &info) || !prepare_screen(s, 1, s->delta, &info)) return false;
  bool vertical = s->base->vertical.lines != NULL || (s->delta != NULL && s->delta->vertical.lines != NULL);
  return !vertical || scan_lines_prepare(s);
}

/* The kernel's f32 score; where that overflows, the sum in doubles, cut to the range of a float. */
float scan_score(const ty_scanner *s, const float *row) {
  float score;
  bool l2 = s->c->metric == TY_L2;
  if (l2) {
    s->k->sq_l2(s->query, row, 1, s->dim, &score);
    score = 0 - score; /* not -score: a distance of 0 is the score 0, not -0 */
  } else {
    s->k->dot_f32(s->query, row, 1, s->dim, &score);
  }
  if (isfinite(score)) return score;
  double sum = 0;
  for (uint32_t i = 0; i < s->dim; i++) {
    double q = s->query[i], x = row[i];
    sum += l2 ? -(q - x) * (q - x) : q * x;
  }
  return sum > FLT_MAX ? FLT_MAX : sum < -FLT_MAX ? -FLT_MAX : (float)sum;
}

double scan_value(const ty_scanner *s, float score) {
  return s->c->metric == TY_L2 ? ((double)score + s->squared) / 2 : (double)score;
}
