/* Codes, the bounds of their errors, the radii of lists and the sums over rows, against the rows. */
#include "validate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "disk/slab.h"
#include "ivf/signs.h"
#include "rows/checks.h"
#include "rows/block.h"
#include "rows/coding.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "rows/weights_state.h"

/* Lengths below are sums in double; a bound in f32 is rounded up by far more. */
#define ROUNDED (1 + 0x1p-40)

typedef struct rows {
  const ty_collection *c;
  float *row, *turned;  /* dim each, and one more of the second */
  uint8_t *codes;       /* AME_I4_BYTES(dim) */
  int8_t *taken;        /* AME_CODE_STRIDE(dim) */
  uint64_t *all, *live; /* dim sums over a segment's rows */
} rows;

/* |x - x^| and |x^|, where x^ is the decoded row. */
typedef struct lengths {
  double apart, coded;
} lengths;

static lengths of_i8(const float *x, const int8_t *codes, float scale, uint32_t dim) {
  lengths l = {0};
  for (uint32_t i = 0; i < dim; i++) {
    double decoded = (double)scale * codes[i];
    l.apart += ((double)x[i] - decoded) * ((double)x[i] - decoded);
    l.coded += decoded * decoded;
  }
  return (lengths){sqrt(l.apart), sqrt(l.coded)};
}

static lengths of_i4(const float *x, const uint8_t *codes, const ame_i4_info *info, uint32_t dim) {
  lengths l = {0};
  for (uint32_t i = 0; i < dim; i++) {
    int code = codes[i / 8 * 4 + i % 4] >> (i % 8 < 4 ? 0 : 4) & 15;
    double decoded = (double)info->offset + (double)info->scale * (2 * code - 15);
    l.apart += ((double)x[i] - decoded) * ((double)x[i] - decoded);
    l.coded += decoded * decoded;
  }
  return (lengths){sqrt(l.apart), sqrt(l.coded)};
}

static bool bounds(lengths l, float err, float norm) {
  return l.apart <= (double)err * ROUNDED && l.coded <= (double)norm * ROUNDED;
}

static bool near(double is, double stored) {
  return fabs(is - stored) <= fabs(is) * 0x1p-20 + 0x1p-120 || is == stored;
}

/* Vertical codes are the row, but for rows of a delta that say how far they are from it. */
static ty_status check_lines(const rows *r, const ty_segment *s, uint64_t at, const float *x, ty_error *err) {
  const ty_collection *c = r->c;
  const ty_vertical *v = &s->vertical;
  double apart = 0, coded = 0;
  float width = ty_line_width(v->scales[at], v->offsets == NULL ? 0 : v->offsets[at]);
  ty_line_decode(c, s, at, r->turned);
  for (uint32_t i = 0; i < c->dim; i++) {
    apart += ((double)x[i] - (double)r->turned[i]) * ((double)x[i] - (double)r->turned[i]);
    coded += (double)r->turned[i] * (double)r->turned[i];
  }
  double most = v->errs == NULL || v->errs[at] == 0 ? 0 : (double)v->errs[at] + sqrt(coded) * 0x1p-23;
  TY_HOLD(sqrt(apart) <= most * ROUNDED && sqrt(coded) <= (double)v->norms[at] * (1 + 0x1p-22),
          "the vertical codes of row %" PRIu64 " are farther from it than their bound", s->row[at]);
  TY_HOLD(width <= v->width_most && v->norms[at] <= v->norm_most && (v->errs == NULL || v->errs[at] <= v->err_most),
          "the levels of row %" PRIu64 " are larger than the largest", s->row[at]);
  return TY_OK;
}

static ty_status check_codes(const rows *r, const ty_segment *s, uint64_t at, const float *x, ty_error *err) {
  const ty_collection *c = r->c;
  uint64_t number = s->row[at];
  double squares = 0;
  for (uint32_t i = 0; i < c->dim; i++) squares += (double)x[i] * (double)x[i];
  double bias = c->metric == TY_L2 ? (double)(float)(-0.5 * squares) : 0;
  TY_HOLD(c->metric != TY_COSINE || squares == 0 || fabs(squares - 1) < 0x1p-8, "row %" PRIu64 " is not of unit length",
          number);
  if (s->codes != NULL) {
    lengths l = of_i8(x, s->codes + at * AME_CODE_STRIDE(c->dim), s->info[at].scale, c->dim);
    TY_HOLD(bounds(l, s->info[at].err, s->info[at].norm) && near(bias, (double)s->info[at].bias),
            "the 8-bit codes of row %" PRIu64 " are farther from it than their bound", number);
  }
  if (s->vertical.lines != NULL) return check_lines(r, s, at, x, err);
  ame_i4_info info;
  float stored;
  ty_block_summary(s->blocks, c->dim, at, &info, &stored);
  ty_block_codes(s->blocks, c->dim, at, 0, AME_I4_BYTES(c->dim) / 4, r->codes);
  TY_HOLD(near(bias, (double)stored), "the bias of row %" PRIu64 " is not its length's", number);
  if (isinf(info.err)) return TY_OK; /* no bound excludes it */
  memcpy(r->turned, x, c->dim * sizeof *x);
  if (c->dtype != TY_INT4) {
    const ty_coding *coding = &c->base.coding;
    for (uint32_t i = 0; coding->anchor != NULL && i < c->dim; i++) r->turned[i] -= coding->anchor[i];
    ty_coding_turn(c->env->kernel, coding, c->dim, r->turned);
  }
  TY_HOLD(bounds(of_i4(r->turned, r->codes, &info, c->dim), info.err, info.norm),
          "the 4-bit codes of row %" PRIu64 " are farther from it than their bound", number);
  return TY_OK;
}

/* What is stored of a row of a delta is what it is screened and scored by. */
static ty_status check_coded(const rows *r, uint64_t at, ty_error *err) {
  const ty_collection *c = r->c;
  const ty_segment *s = &c->delta;
  const ty_payload *p = &s->payload[at];
  const bool vertical = s->vertical.lines != NULL;
  if (c->dtype != TY_F32) {
    TY_HOLD(!p->coded, "row %" PRIu64 " is marked as codes, which its dtype does not have", s->row[at]);
  } else if (p->coded) {
    const float *scale = vertical ? &s->vertical.scales[at] : &s->info[at].scale;
    if (vertical) ty_line_take(c, s, at, r->taken);
    const int8_t *codes = vertical ? r->taken : s->codes + at * AME_CODE_STRIDE(c->dim);
    const uint8_t *stored = ty_payload_stored(c, p, (uint8_t *)r->turned);
    TY_HOLD(memcmp(stored, scale, sizeof(float)) == 0 && memcmp(stored + sizeof(float), codes, c->dim) == 0,
            "the codes of row %" PRIu64 " are not those that are stored", s->row[at]);
  }
  return TY_OK;
}

/* False if the sums of a segment, the base or the delta, differ from `live`, dim sums over its live rows, although no
 * sync is due. */
static bool weights_agree(const ty_collection *c, const ty_segment *s, const uint64_t *live) {
  ty_weights *w = c->weights;
  const part *p = s->is_base ? &w->base : &w->delta;
  pthread_mutex_lock(&w->lock);
  bool good = w->stale || w->delta.rows != c->delta.count ||
              (p->rows == s->count && p->counted == s->live &&
               (s->count == 0 || memcmp(p->dead, s->dead, (size_t)s->count) == 0) &&
               memcmp(p->sums, live, c->dim * sizeof *live) == 0);
  pthread_mutex_unlock(&w->lock);
  return good;
}

static ty_status check_segment(const rows *r, const ty_segment *s, ty_error *err) {
  const ty_collection *c = r->c;
  memset(r->all, 0, c->dim * sizeof *r->all);
  memset(r->live, 0, c->dim * sizeof *r->live);
  for (uint64_t at = 0; at < s->count; at += ty_validate_step(s)) {
    const float *x = ty_row_vector(c, s, at, r->row);
    TY_HOLD(c->env->kernel->all_finite(x, c->dim), "row %" PRIu64 " is not finite", s->row[at]);
    ty_status status = s->is_base ? TY_OK : check_coded(r, at, err);
    if (status == TY_OK) status = check_codes(r, s, at, x, err);
    if (status != TY_OK) return status;
    ty_weights_count(r->all, x, c->dim, false);
    if (!s->dead[at]) ty_weights_count(r->live, x, c->dim, false);
    ty_touched(c->resident, s->is_base ? TY_OF_BASE : TY_OF_DELTA, ty_vector_bytes(c) + AME_CODE_STRIDE(c->dim),
               TY_RESIDENT_MOST);
  }
  if (!ty_validate_all(c)) return TY_OK;
  TY_HOLD(s->squares == NULL || s->count == 0 || memcmp(s->squares, r->all, c->dim * sizeof *r->all) == 0,
          "the base's sums of squares are not those of its rows");
  TY_HOLD(weights_agree(c, s, r->live), "weighted queries use other sums than those of the live rows");
  return TY_OK;
}

static void add_rows(const rows *r, const ty_segment *s, uint64_t first, uint64_t end, uint32_t code, bool all) {
  for (uint64_t at = first; at < end; at++)
    if (s->keys[0][at] == code && (all || !s->dead[at]))
      ty_weights_count(r->all, ty_row_vector(r->c, s, at, r->row), r->c->dim, false);
}

/* The sums of partitions, stored and kept, are those of their rows. */
static ty_status check_partitions(const rows *r, ty_error *err) {
  const ty_collection *c = r->c;
  const uint64_t bytes = c->dim * sizeof *r->all, *stored = c->base.span_squares;
  ty_weights *w = c->weights;
  bool good = true;
  if (!ty_validate_all(c)) return TY_OK;
  for (uint32_t i = 0; i < c->span_count && stored != NULL; i++) {
    if (c->spans[i].count < c->env->summed_from) continue;
    memset(r->all, 0, bytes);
    add_rows(r, &c->base, c->spans[i].first, c->spans[i].first + c->spans[i].count, c->spans[i].key, true);
    TY_HOLD(memcmp(r->all, stored, bytes) == 0, "the stored sums of a partition are not those of its rows");
    stored += c->dim;
  }
  pthread_mutex_lock(&w->lock);
  for (uint32_t i = 0; i < w->scoped_count && !w->moved; i++) {
    const scoped *p = &w->scoped[i];
    if (p->version != w->version || p->seen != c->delta.count) continue;
    memset(r->all, 0, bytes);
    add_rows(r, &c->base, 0, c->base.count, p->code, false);
    add_rows(r, &c->delta, 0, c->delta.count, p->code, false);
    good &= memcmp(r->all, p->base.sums, bytes) == 0;
  }
  pthread_mutex_unlock(&w->lock);
  TY_HOLD(good, "the kept sums of a partition are not those of its live rows");
  return TY_OK;
}

/* The stored checksums of a vertical base's runs are theirs; where rows are a sample, those of its last block. */
static ty_status check_runs(const ty_collection *c, ty_error *err) {
  const ty_segment *b = &c->base;
  ty_slab slab;
  ty_slice crcs;
  if (b->vertical.lines == NULL || b->count == 0) return TY_OK;
  const ty_line_runs runs = b->checks->lines.runs;
  const uint64_t blocks = runs.blocks;
  ty_status status = ty_slab_open(c, &c->store->files.base, TY_SLAB_BASE, &slab, err);
  if (status == TY_OK)
    status = ty_slab_get(c, &slab, TY_SECTION_RUNS, blocks * c->dim * sizeof(uint32_t), false, &crcs, err);
  if (status != TY_OK) return status;
  for (uint64_t i = ty_validate_all(c) ? 0 : blocks - 1; i < blocks; i++) {
    for (uint32_t d = 0; d < c->dim; d++) {
      const ty_line_run run = ty_line_run_of(&runs, i, d);
      uint32_t crc;
      memcpy(&crc, crcs.data + (i * c->dim + d) * sizeof crc, sizeof crc);
      TY_HOLD(crc == c->env->kernel->crc32c(0, b->vertical.lines + run.at, (size_t)run.bytes),
              "the checksum of dimension %" PRIu32 " of block %" PRIu64 " is not that of its run", d, i);
    }
    if (b->vertical.sparse == NULL) continue;
    const ame_sparse_block block = ty_sparse_block_of(&runs, b->vertical.lines, i);
    TY_HOLD(c->env->kernel->sparse_check(&block, 0, c->dim) == 0,
            "block %" PRIu64 " has a run in a form that no writer writes", i);
  }
  return TY_OK;
}

static bool is_summed(const ty_collection *c, const ty_intact *sums, uint64_t nth, const void *data, uint64_t bytes,
                      const ame_code_info *info) {
  if (sums->data == NULL) return true; /* a base may lack them */
  uint32_t stored, crc = c->env->kernel->crc32c(0, data, (size_t)bytes);
  if (info != NULL) crc = c->env->kernel->crc32c(crc, info, sizeof *info);
  memcpy(&stored, sums->data + nth * sizeof stored, sizeof stored);
  return stored == crc;
}

/* Whether a stored text of the base is what its text is coded as. */
static bool is_coded_form(const ty_segment *s, ty_slice stored) {
  if (s->symbols == NULL || s->checks == NULL || s->checks->symbols_lost) return true;
  ty_symbol_coder *coder = ty_symbol_coder_new(s->symbols);
  ty_buffer text = {0}, coded = {0};
  bool same = coder != NULL && ty_symbols_decode(s->symbols, stored, UINT64_MAX, &text);
  if (same) ty_symbols_encode(coder, (ty_slice){text.data, text.bytes}, &coded);
  same = same && coded.bytes == stored.bytes && (coded.bytes == 0 || memcmp(coded.data, stored.data, coded.bytes) == 0);
  ty_buffer_free(&text);
  ty_buffer_free(&coded);
  free(coder);
  return same;
}

/* The checksums of what can be read alone are those of the base's rows. */
static ty_status check_row_sums(const ty_collection *c, ty_error *err) {
  const ty_segment *s = &c->base;
  const ty_checks *k = s->checks;
  const uint64_t v = ty_vector_bytes(c), stride = AME_CODE_STRIDE(c->dim), block = AME_BLOCK_BYTES(c->dim);
  for (uint64_t at = 0; k != NULL && at < s->count; at += ty_validate_step(s)) {
    const uint64_t meta = at / TY_PACKED_ROWS, nth = c->dtype == TY_INT4 ? at / AME_BLOCK_ROWS : at;
    bool good = true;
    ty_slice text = ty_row_stored_text(s, at);
    if (s->vectors != NULL) good = is_summed(c, &k->vector_sums, nth, s->vectors + at * v, v, NULL);
    if (s->codes != NULL) good &= is_summed(c, &k->code_sums, at, s->codes + at * stride, stride, s->info + at);
    if (c->dtype == TY_INT4 && s->blocks != NULL)
      good = is_summed(c, &k->vector_sums, nth, s->blocks + nth * block, block, NULL);
    TY_HOLD(good, "a checksum of the vector of row %" PRIu64 " is not its", s->row[at]);
    TY_HOLD(s->text_ends == NULL || is_summed(c, &k->text_sums, at, text.data, text.bytes, NULL),
            "the checksum of the text of row %" PRIu64 " is not its", s->row[at]);
    TY_HOLD(is_coded_form(s, text), "the text of row %" PRIu64 " is not coded as a writer codes it", s->row[at]);
    uint64_t from = meta == 0 || s->metas.ends == NULL ? 0 : s->metas.ends[meta - 1];
    TY_HOLD(s->metas.ends == NULL ||
                is_summed(c, &k->meta_sums, meta, s->metas.bytes + from, s->metas.ends[meta] - from, NULL),
            "the checksum of the metadata of row %" PRIu64 " is not its", s->row[at]);
  }
  return TY_OK;
}

/* So are the stored checksums of the blocks of each section. */
static ty_status check_sums(const ty_collection *c, const ty_file *file, uint32_t kind, ty_error *err) {
  ty_slab slab;
  if (file->name[0] == 0 || file->map == NULL || !ty_validate_all(c)) return TY_OK;
  ty_status status = ty_slab_open(c, file, kind, &slab, err);
  if (status != TY_OK) return status;
  TY_HOLD(slab.sums != NULL, "%s has damaged checksums of blocks", file->name);
  for (uint32_t i = 0; i + 1 < slab.header->sections && status == TY_OK; i++) {
    ty_intact x;
    if (slab.sections[i].id == TY_SECTION_LINES && kind == TY_SLAB_BASE) continue;
    status = ty_slab_intact(c, &slab, slab.sections[i].id, TY_PART_BASE, &x, err);
    if (status != TY_OK) return status;
    TY_HOLD(ty_is_intact(&x, 0, x.bytes), "%s has a block in section %u that is not as its checksum says", file->name,
            slab.sections[i].id);
  }
  return TY_OK;
}

/* Rows of the sample lie within their list's radius; the codes and half norm of a centroid match it. */
static ty_status check_part(const rows *r, const ty_ivf_part *p, ty_error *err) {
  const ty_collection *c = r->c;
  uint64_t step = ty_validate_step(&c->base);
  for (uint32_t l = 0; l < p->nlist; l++) {
    const float *centroid = p->centroids + (uint64_t)l * c->dim;
    double squares = 0;
    for (uint32_t i = 0; i < c->dim; i++) squares += (double)centroid[i] * (double)centroid[i];
    TY_HOLD(near(squares / 2, (double)p->half_norms[l]) || isinf(p->half_norms[l]),
            "half norm %u is not its centroid's", l);
    TY_HOLD(bounds(of_i8(centroid, p->codes + l * AME_CODE_STRIDE(c->dim), p->info[l].scale, c->dim), p->info[l].err,
                   p->info[l].norm),
            "the codes of centroid %u are farther from it than their bound", l);
    for (uint64_t at = (p->list_starts[l] + step - 1) / step * step; at < p->list_starts[l + 1]; at += step) {
      const float *x = ty_row_vector(c, &c->base, at, r->row);
      double apart = 0;
      for (uint32_t i = 0; i < c->dim; i++)
        apart += ((double)x[i] - (double)centroid[i]) * ((double)x[i] - (double)centroid[i]);
      TY_HOLD(sqrt(apart) <= (double)p->most[l], "row %" PRIu64 " lies outside of its list", c->base.row[at]);
      ty_touched(c->resident, TY_OF_BASE, ty_vector_bytes(c), TY_RESIDENT_MOST);
    }
  }
  return TY_OK;
}

/* The signs of the sample's rows are those that a rewrite makes. */
static ty_status check_signs(const rows *r, const ty_ivf_part *p, ty_error *err) {
  const ty_collection *c = r->c;
  const ame_kernel *k = c->env->kernel;
  uint64_t step = ty_validate_step(&c->base), bytes = AME_SIGN_BLOCK_BYTES(c->dim);
  if (p->signs.rows == NULL || !ty_is_intact(p->signs.intact, 0, p->signs.intact->bytes)) return TY_OK;
  uint8_t *block = malloc((size_t)bytes);
  float *rest = malloc(c->dim * sizeof *rest);
  ty_status status = block == NULL || rest == NULL ? ty_invalid_memory(err) : TY_OK;
  for (uint32_t l = 0; l < p->nlist && status == TY_OK; l++) {
    const float *centroid = p->centroids + (uint64_t)l * c->dim;
    memcpy(r->turned, centroid, c->dim * sizeof *rest);
    k->rotate(r->turned, 1, c->dim);
    for (uint64_t at = (p->list_starts[l] + step - 1) / step * step; at < p->list_starts[l + 1]; at += step) {
      const float *x = ty_row_vector(c, &c->base, at, r->row);
      uint64_t place = at - p->list_starts[l];
      uint32_t lane = (uint32_t)(place % AME_BLOCK_ROWS);
      const uint8_t *stored = p->signs.rows + (p->signs.starts[l] + place / AME_BLOCK_ROWS) * bytes;
      double squares = 0;
      for (uint32_t i = 0; i < c->dim; i++) {
        rest[i] = x[i] - centroid[i];
        squares += (double)x[i] * (double)x[i];
      }
      memset(block, 0, (size_t)bytes);
      ty_sign_put(k, c->dim, centroid, r->turned, c->metric == TY_L2 ? -squares / 2 : 0, rest, block, lane);
      bool same = true;
      for (uint64_t i = lane; i < 64 * AME_SIGN_LINES(c->dim); i += AME_BLOCK_ROWS) same &= block[i] == stored[i];
      for (uint64_t i = 64 * AME_SIGN_LINES(c->dim) + 4 * lane; i < bytes; i += 64)
        same &= memcmp(block + i, stored + i, sizeof(float)) == 0;
      ty_touched(c->resident, TY_OF_BASE, ty_vector_bytes(c), TY_RESIDENT_MOST);
      if (!same) status = ty_fail(err, TY_CORRUPT, "row %" PRIu64 " has other signs", c->base.row[at]);
    }
  }
  free(block);
  free(rest);
  return status;
}

ty_status ty_validate_vectors(const ty_collection *c, ty_error *err) {
  rows r = {.c = c,
            .row = malloc(c->dim * sizeof(float)),
            .turned = malloc((c->dim + 1) * sizeof(float)),
            .codes = malloc(AME_I4_BYTES(c->dim)),
            .taken = malloc(AME_CODE_STRIDE(c->dim)),
            .all = malloc(c->dim * sizeof(uint64_t)),
            .live = malloc(c->dim * sizeof(uint64_t))};
  ty_status status = TY_OK;
  if (r.row == NULL || r.turned == NULL || r.codes == NULL || r.taken == NULL || r.all == NULL || r.live == NULL)
    status = ty_invalid_memory(err);
  if (status == TY_OK) status = check_segment(&r, &c->base, err);
  if (status == TY_OK) status = check_segment(&r, &c->delta, err);
  if (status == TY_OK) status = check_runs(c, err);
  if (status == TY_OK) status = check_row_sums(c, err);
  const ty_files *f = &c->store->files;
  if (status == TY_OK) status = check_sums(c, &f->base, TY_SLAB_BASE, err);
  if (status == TY_OK) status = check_sums(c, &f->ivf, TY_SLAB_IVF, err);
  if (status == TY_OK) status = check_sums(c, &f->lexical, TY_SLAB_LEXICAL, err);
  if (status == TY_OK) status = check_partitions(&r, err);
  for (uint32_t i = 0; c->ivf != NULL && i < c->ivf->count && status == TY_OK; i++)
    status = check_part(&r, &c->ivf->parts[i], err);
  for (uint32_t i = 0; c->ivf != NULL && i < c->ivf->count && status == TY_OK; i++)
    status = check_signs(&r, &c->ivf->parts[i], err);
  free(r.row);
  free(r.turned);
  free(r.codes);
  free(r.taken);
  free(r.all);
  free(r.live);
  return status;
}
