/* Rows that only an exact bound by a part of a query's dimensions keeps (scan/lines_part.c). The score of each of these
 * rows equals its bound but for the allowance for rounding, and equal rows set the threshold, so that a bound that is
 * narrower by a thousandth excludes a row of the answer. The sample from which the part is chosen has no product with
 * it. Such bugs are planted, and each has to show in an answer. Part of lines_test.c. */
#pragma once

#include "calls/calls.h"
#include "lines_truth.h"
#include "os/plant.h"

/* The query is large in the first dimensions, the part, and small in the rest. */
enum { PART_DIM = 192, PART_BASE = 4417, PART_DELTA = 100, PART_LIKE = 6, PART_SAMPLE = 512 };
/* Which half width of the bound the rows reach: that by their widths, or that by the largest norm. */
enum { BY_WIDTH, BY_NORM };

static struct tight {
  uint32_t read, count; /* dimensions of the part, and of the query */
  float step, scale;    /* of the query's codes, and of the rows' */
  float query[PART_DIM], row[PART_DIM];
} tight;

/* The i-th dimension of the query; the even dimensions are those of other rows. */
static uint32_t tight_dim(uint32_t i) { return 2 * i + 1; }

/* Query and row for a bound by width: the row is as large as a row can be, with the signs of what the part misses. */
static void tight_by_width(void) {
  /* A 127th of the product of the codes in the part. It stays small, so that nearly all of the score is the bound's
   * half width, and no smaller part is chosen. */
  int sum = 0;
  for (uint32_t i = 1; i < tight.read; i++) {
    const int code = 90 + (int)(rng() % 30), sign = sum > 0 ? -1 : 1;
    tight.query[tight_dim(i)] = ((float)code + (float)sign * 0.4f) * tight.step;
    tight.row[tight_dim(i)] = (float)(127 * sign) * tight.scale;
    sum += sign * code;
  }
  /* This one sets the scale, and misses nothing. */
  tight.query[tight_dim(0)] = 127 * tight.step;
  tight.row[tight_dim(0)] = (float)(1 - sum) * tight.scale;
  for (uint32_t i = tight.read; i < tight.count; i++) {
    const int sign = chance(2) ? 1 : -1;
    tight.query[tight_dim(i)] = (float)sign * (20 + 20 * fabsf(random_unit())) * tight.step;
    tight.row[tight_dim(i)] = (float)(127 * sign) * tight.scale;
  }
}

/* For a bound by norm: the row is the query's rest, times a number. */
static void tight_by_norm(void) {
  for (uint32_t i = 0; i < tight.count; i++) {
    const int code = i < tight.read + 2 ? 127 : 20 + (int)((tight.count - i) * 80 / tight.count) + (int)(rng() % 20);
    const int sign = chance(2) ? 1 : -1;
    tight.query[tight_dim(i)] = (float)(sign * code) * tight.step;
    tight.row[tight_dim(i)] = i < tight.read ? 0 : (float)(sign * code) * tight.scale;
  }
  tight.row[tight_dim(0)] = copysignf(tight.scale, tight.query[tight_dim(0)]);
}

static void make_tight(int by) {
  memset(&tight, 0, sizeof tight);
  /* From about 1e-12 to 1e10: bounds are proved up to 2^50. */
  tight.step = (float)ldexp(1, (int)(rng() % 70) - 40);
  tight.scale = (float)ldexp(1, (int)(rng() % 70) - 40);
  tight.read = 4 * (2 + (uint32_t)(rng() % 8));
  tight.count = tight.read + 9 + (uint32_t)(rng() % 40);
  if (by == BY_WIDTH) tight_by_width();
  else tight_by_norm();
}

/* A base has its rows by partition, the delta as they were put. */
static uint32_t places[PART_BASE];
static void place_rows(void) {
  static const char *const parts[] = {"most", "some", "few"};
  for (uint32_t p = 0, place = 0; p < 3; p++)
    for (uint32_t id = 0; id < PART_BASE; id++)
      if (strcmp(part_of(id), parts[p]) == 0) places[id] = place++;
}
static uint32_t place_of_row(uint32_t id) { return id < PART_BASE ? places[id] : id; }

/* Some rows are the tight row, among them the last ones and those where blocks meet; two are better by one code. */
static bool is_tight(uint32_t id) {
  const uint32_t at = place_of_row(id);
  if (at % 512 == 1) return at > PART_SAMPLE;
  return at == 4095 || at == 4096 || (at < PART_BASE && at >= PART_BASE - PART_LIKE);
}
static bool is_better(uint32_t id) {
  const uint32_t at = place_of_row(id);
  return at == 3000 || at == PART_BASE + 37;
}

/* Puts n rows. Those of the sample have nothing in the dimensions of the query, so that no product with a part is
 * expected of the others, which have a little. */
static void put_tight(ty_collection *c, uint32_t first, uint32_t n) {
  float *vectors = calloc((uint64_t)n * PART_DIM, sizeof *vectors);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t id = first + i;
    float *row = vectors + (uint64_t)i * PART_DIM;
    if (is_tight(id) || is_better(id)) {
      memcpy(row, tight.row, sizeof tight.row);
      if (is_better(id)) row[tight_dim(0)] += tight.scale * (tight.query[tight_dim(0)] > 0 ? 1 : -1);
      continue;
    }
    row[2 * (rng() % (PART_DIM / 2))] = 127 * tight.scale / 8;
    for (uint32_t k = 0; k < 12; k++) {
      const uint32_t d = (uint32_t)(rng() % PART_DIM);
      row[place_of_row(id) < PART_SAMPLE ? d & ~1u : d] = (float)((int)(rng() % 255) - 127) * tight.scale / 8;
    }
    row[2 * (rng() % (PART_DIM / 2))] = 127 * tight.scale / 8;
  }
  put_lines(c, first, n, vectors);
  free(vectors);
}

/* Lists the last ones of the tight rows of the base that a filter allows: not more than are left. */
static uint64_t expect_tight(const ty_collection *c, const ty_filter *filter, ty_ref expected[PART_LIKE]) {
  uint64_t all = 0, n = 0;
  for (uint32_t id = 0; id < PART_BASE; id++)
    all += is_tight(id) && ty_filter_allows(filter, &c->base, place_of_row(id)) ? 1 : 0;
  for (uint32_t id = PART_BASE; id-- > 0 && n < all / 2 && n < PART_LIKE;) {
    if (is_tight(id) && ty_filter_allows(filter, &c->base, place_of_row(id)))
      expected[n++] = (ty_ref){&c->base, place_of_row(id)};
  }
  return n;
}

/* The answer of one scan, with expected rows or without, beside the truth. */
static bool scan_tight(ty_collection *c, const condition *f, uint64_t top_k, bool expects, const truth *t,
                       ty_scan_counts *counts) {
  ty_filter filter = {0};
  ty_scanner *s = NULL;
  ty_scored *found = NULL;
  ty_unpack u;
  ty_ref expected[PART_LIKE];
  uint64_t count = 0, n = 0, place = 0;
  const ty_slice key = {(const uint8_t *)f->key, f->key == NULL ? 0 : strlen(f->key)};
  const ty_slice under = {(const uint8_t *)f->under, f->under == NULL ? 0 : strlen(f->under)};
  ty_unpack_init(&u);
  CHECK(ty_enter(c, &err) == TY_OK && ty_filter_open(c, f->column, key, &filter, &err) == TY_OK);
  CHECK(ty_filter_under(c, 1, under, &filter, &err) == TY_OK && ty_filter_gather(c, &filter, &err) == TY_OK);
  if (expects) n = expect_tight(c, &filter, expected);
  CHECK(ty_scanner_open(c, &c->base, &c->delta, tight.query, top_k, ty_total_rows(c), &filter, &s, &err) == TY_OK);
  CHECK(ty_scanner_expect(s, expected, n));
  const ty_range runs[] = {{&c->delta, 0, c->delta.count}, {&c->base, filter.first, filter.count}};
  for (int i = 0; i < 2; i++) CHECK(ty_scanner_feed(s, &runs[i], &err) == TY_OK);
  CHECK(ty_scanner_answer(s, &found, &count, &err) == TY_OK);
  bool same = true;
  for (uint32_t i = 0; i < t->count && place < top_k && same; i++) {
    const uint32_t id = t->order[i];
    char text[16] = "";
    if (!allows(f, id)) continue;
    if (place == count) break;
    const ty_slice is = ty_row_id(found[place].ref.segment, found[place].ref.at, &u);
    memcpy(text, is.data, (size_t)is.bytes);
    same = strtoul(text, NULL, 10) == id && memcmp(&found[place].score, &t->scores[id], sizeof(float)) == 0;
    place++;
  }
  *counts = ty_scanner_counts(s);
  free(found);
  ty_scanner_close(s);
  ty_filter_close(&filter);
  CHECK(ty_leave(c, TY_OK, &err) == TY_OK);
  return same && place == count;
}

/* All scans of a collection; it stops at the first wrong answer, and returns false. `sums`, unless NULL, gets the
 * counts.
 */
static bool scan_all_tight(ty_collection *c, const truth *t, ty_scan_counts *sums) {
  static const uint64_t counts[] = {1, 2, 3, 5, PART_LIKE, PART_LIKE + 4};
  for (uint32_t f = 0; f < CONDITIONS; f++)
    for (uint32_t k = 0; k < sizeof counts / sizeof *counts; k++)
      for (int expects = 0; expects < 2; expects++) {
        ty_scan_counts one;
        if (!scan_tight(c, &conditions[f], counts[k], expects, t, &one)) return false;
        if (sums == NULL) continue;
        sums->parted_lines += one.parted_lines;
        sums->rest_lines += one.rest_lines;
      }
  return true;
}

static const struct {
  ty_plant which;
  const char *name;
  int by;
} part_plants[] = {{TY_PLANT_PART_NO_REST, "no bound of the other dimensions", BY_WIDTH},
                   {TY_PLANT_PART_NO_REST, "no bound of the other dimensions, by norm", BY_NORM},
                   {TY_PLANT_PART_NO_LAST, "no bound of the smallest dimension", BY_WIDTH},
                   {TY_PLANT_PART_NO_LAST, "no bound of the smallest dimension, by norm", BY_NORM},
                   {TY_PLANT_PART_NO_READ, "no bound of what codes miss", BY_WIDTH},
                   {TY_PLANT_PART_NARROW_SUM, "a narrow width", BY_WIDTH},
                   {TY_PLANT_PART_NARROW_LENGTH, "a narrow norm", BY_NORM},
                   {TY_PLANT_PART_UNREAD, "other dimensions not read", BY_WIDTH},
                   {TY_PLANT_TWICE_EXPECTED, "expected rows scanned", BY_WIDTH}};

/* Without a planted bug the answers are the truth and lines of both kinds were seen; with each bug one is not. */
static void check_tight(ty_collection *c, int by, const char *when) {
  static truth t;
  ty_scan_counts sums = {0};
  char best[16];
  snprintf(best, sizeof best, "%s", ame_isa_active());
  for (uint32_t path = 0; path < ame_isa_count(); path++) {
    if (ame_isa_force(ame_isa_name(path)) != 0) continue;
    find_truth(c, tight.query, false, NULL, &t); /* sums may end in other bits */
    CHECK_MESSAGE(scan_all_tight(c, &t, &sums), "%s, %s, %s: another answer by a part of %u of %u dimensions",
                  model_dtype, when, ame_isa_name(path), tight.read, tight.count);
  }
  CHECK(ame_isa_force(best) == 0);
  find_truth(c, tight.query, false, NULL, &t);
  if (is_int4()) {
    CHECK(sums.parted_lines == 0);
    return;
  }
  CHECK(c->base.vertical.sparse_rows == c->base.count);
  for (uint32_t id = 0; id < PART_BASE; id += 97) {
    char text[16];
    ty_unpack u;
    ty_unpack_init(&u);
    const ty_slice is = ty_row_id(&c->base, place_of_row(id), &u);
    CHECK(is.bytes == (uint64_t)sprintf(text, "%u", id) && memcmp(text, is.data, (size_t)is.bytes) == 0);
  }
  CHECK_MESSAGE(sums.rest_lines > 0 && sums.parted_lines > 4 * sums.rest_lines, "%s: %llu of %llu lines were read on",
                when, (unsigned long long)sums.rest_lines, (unsigned long long)sums.parted_lines);
  for (uint32_t i = 0; i < sizeof part_plants / sizeof *part_plants; i++) {
    if (part_plants[i].by != by) continue;
    ty_planted = part_plants[i].which;
    const bool same = scan_all_tight(c, &t, NULL);
    ty_planted = TY_PLANT_NONE;
    CHECK_MESSAGE(!same, "%s, %s: no answer shows %s", model_dtype, when, part_plants[i].name);
  }
}
