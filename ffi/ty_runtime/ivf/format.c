/* The bytes of an IVF index. All integers little-endian, offsets from the start of the bytes, sections 64-byte aligned:
 *
 *   offset  size  field
 *        0     4  dim
 *        4     4  parts
 *        8     8  min_rows
 *       16     8  target_recall, f64
 *       24    40  zero
 *       64  64*p  for each part: span u32, nlist u32, nprobe u32, zero u32, offset u64, reach f64, reach_alone f64,
 *                 built_square f64, calibrated_square f64, calibrated_rows u64
 *
 *   and at a part's offset, each aligned: nlist * dim f32 centroids, nlist f32 half norms, nlist f32 rms, nlist f32
 *   most, nlist ame_code_info, nlist * AME_CODE_STRIDE(dim) i8 codes of the centroids, nlist + 1 u64 list starts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf/builder.h"

typedef struct ivf_header {
  uint32_t dim, parts;
  uint64_t min_rows;
  double target_recall;
  uint64_t zero[5];
} ivf_header;

typedef struct ivf_entry {
  uint32_t span, nlist, nprobe, zero;
  uint64_t offset;
  double reach, reach_alone, built_square, calibrated_square;
  uint64_t calibrated_rows;
} ivf_entry;

/* Where a part's arrays start, counted from its offset. No overflow: nlist < 2^32, dim <= 2^16. */
enum { CENTROIDS, HALF_NORMS, RMS, MOST, INFO, CODES, LIST_STARTS, ARRAYS };
typedef struct layout {
  uint64_t bytes[ARRAYS], at[ARRAYS + 1];
} layout;

static layout layout_of(uint64_t nlist, uint64_t dim) {
  layout l = {.bytes = {nlist * dim * 4, nlist * 4, nlist * 4, nlist * 4, nlist * sizeof(ame_code_info),
                        nlist * AME_CODE_STRIDE(dim), (nlist + 1) * 8}};
  for (int i = 0; i < ARRAYS; i++) l.at[i + 1] = l.at[i] + ty_align_up(l.bytes[i]);
  return l;
}

static uint64_t part_bytes(uint64_t nlist, uint64_t dim) { return layout_of(nlist, dim).at[ARRAYS]; }

ty_ivf *ty_ivf_new(uint32_t parts) {
  ty_ivf *ivf = calloc(1, sizeof *ivf);
  if (ivf == NULL) return NULL;
  ivf->parts = ty_arena_zero(&ivf->memory, parts, sizeof *ivf->parts);
  if (ivf->parts != NULL) return ivf;
  free(ivf);
  return NULL;
}

void ty_ivf_free(ty_ivf *ivf) {
  if (ivf == NULL) return;
  ty_arena_free(&ivf->memory);
  free(ivf);
}

ty_status ty_ivf_encode(const ty_ivf *ivf, uint32_t dim, ty_buffer *out, ty_error *err) {
  uint64_t start = out->bytes;
  uint64_t offset = ty_align_up(sizeof(ivf_header) + (uint64_t)ivf->count * sizeof(ivf_entry));
  ivf_header header = {.dim = dim, .parts = ivf->count, .min_rows = ivf->min_rows, .target_recall = ivf->target_recall};
  ty_buffer_append(out, &header, sizeof header);
  for (uint32_t i = 0; i < ivf->count; i++) {
    const ty_ivf_part *p = &ivf->parts[i];
    ivf_entry entry = {p->span,
                       p->nlist,
                       p->nprobe,
                       0,
                       offset,
                       p->reach,
                       p->reach_alone,
                       p->built_square,
                       p->calibrated_square,
                       p->calibrated_rows};
    ty_buffer_append(out, &entry, sizeof entry);
    offset += part_bytes(p->nlist, dim);
  }
  /* Offsets are relative to the start of this index, which the caller has aligned to 64. */
  ty_buffer_align(out, 64);
  for (uint32_t i = 0; i < ivf->count; i++) {
    const ty_ivf_part *p = &ivf->parts[i];
    layout l = layout_of(p->nlist, dim);
    const void *arrays[ARRAYS] = {p->centroids, p->half_norms, p->rms, p->most, p->info, p->codes, p->list_starts};
    for (int j = 0; j < ARRAYS; j++) {
      ty_buffer_append(out, arrays[j], l.bytes[j]);
      ty_buffer_align(out, 64);
    }
  }
  if (out->failed || out->bytes - start != offset)
    return ty_fail(err, TY_NO_MEMORY, "not enough memory to write the IVF index");
  return TY_OK;
}

static ty_status corrupt(ty_error *err, uint64_t offset, const char *what) {
  return ty_fail(err, TY_CORRUPT, "the IVF index is damaged at offset %" PRIu64 ": %s", offset, what);
}

static ty_status open_part(const ty_collection *c, const ivf_entry *e, const ty_span *span, const uint8_t *data,
                           ty_ivf *ivf, ty_ivf_part *out, ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  const void *arrays[ARRAYS];
  layout l = layout_of(e->nlist, c->dim);
  uint64_t starts = e->offset + l.at[LIST_STARTS];
  for (int i = 0; i < ARRAYS; i++) arrays[i] = data + e->offset + l.at[i];
  /* A copy: where the file is truncated, the mapping reads as zeros, which are not starts of lists. */
  void *list_starts = ty_arena_align(&ivf->memory, l.bytes[LIST_STARTS], 1);
  if (list_starts == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to open an IVF index");
  memcpy(list_starts, arrays[LIST_STARTS], (size_t)l.bytes[LIST_STARTS]);
  *out = (ty_ivf_part){.span = e->span,
                       .nlist = e->nlist,
                       .nprobe = e->nprobe,
                       .reach = e->reach,
                       .reach_alone = e->reach_alone,
                       .built_square = e->built_square,
                       .calibrated_square = e->calibrated_square,
                       .calibrated_rows = e->calibrated_rows,
                       .width_share = 1,
                       .centroids = arrays[CENTROIDS],
                       .half_norms = arrays[HALF_NORMS],
                       .rms = arrays[RMS],
                       .most = arrays[MOST],
                       .info = arrays[INFO],
                       .codes = arrays[CODES],
                       .list_starts = list_starts};
  if (!k->all_finite(out->centroids, (size_t)e->nlist * c->dim))
    return corrupt(err, e->offset, "a centroid is not finite");
  /* A half norm or a radius may be infinite (centroids of 1e30s), but not NaN. */
  for (uint32_t i = 0; i < e->nlist; i++) {
    if (isnan(out->half_norms[i])) return corrupt(err, e->offset + l.at[HALF_NORMS], "a norm is not a number");
    if (!(out->rms[i] >= 0) || !(out->most[i] >= 0))
      return corrupt(err, e->offset + l.at[RMS], "a radius is not a distance");
  }
  if (out->list_starts[0] != span->first || out->list_starts[e->nlist] != span->first + span->count) {
    return corrupt(err, starts, "the lists do not cover their partition");
  }
  for (uint32_t i = 0; i < e->nlist; i++) {
    if (out->list_starts[i] > out->list_starts[i + 1])
      return corrupt(err, starts + i * 8ull, "the lists are not in order");
  }
  return TY_OK;
}

bool ty_ivf_parameters(ty_slice bytes, uint64_t *min_rows, double *target_recall) {
  ivf_header header;
  if (bytes.bytes < sizeof header) return false;
  memcpy(&header, bytes.data, sizeof header);
  if (!(header.target_recall > 0 && header.target_recall <= 1)) return false;
  *min_rows = header.min_rows;
  *target_recall = header.target_recall;
  return true;
}

ty_status ty_ivf_open(const ty_collection *c, const ty_segment *base, const ty_span *spans, uint32_t span_count,
                      ty_slice bytes, ty_ivf **out, ty_error *err) {
  *out = NULL;
  ivf_header header;
  if (bytes.bytes < sizeof header) return corrupt(err, 0, "it is too short");
  memcpy(&header, bytes.data, sizeof header);
  if (header.dim != c->dim) return corrupt(err, 0, "it is of another dimension");
  if (header.parts > span_count) return corrupt(err, 4, "it has more parts than the base has partitions");
  if (!(header.target_recall > 0 && header.target_recall <= 1))
    return corrupt(err, 16, "its target recall is outside of (0, 1]");
  if (!ty_all_zero(header.zero, sizeof header.zero)) return corrupt(err, 24, "a reserved field is not zero");
  uint64_t expected = ty_align_up(sizeof header + (uint64_t)header.parts * sizeof(ivf_entry));
  if (expected > bytes.bytes) return corrupt(err, 64, "it is too short for its parts");

  ty_status status = TY_OK;
  ty_ivf *ivf = ty_ivf_new(header.parts);
  if (ivf == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to open an IVF index");
  const uint8_t *data = bytes.data;
  if (((uintptr_t)data & 63) != 0) {
    /* Mapped sections are aligned; other bytes are copied to aligned memory. */
    uint8_t *copy = ty_arena_align(&ivf->memory, bytes.bytes, 1);
    if (copy == NULL) {
      status = ty_fail(err, TY_NO_MEMORY, "not enough memory to open an IVF index");
      goto done;
    }
    memcpy(copy, data, (size_t)bytes.bytes);
    data = copy;
  }
  ivf->min_rows = header.min_rows;
  ivf->target_recall = header.target_recall;
  uint64_t next_first = 0;
  for (uint32_t i = 0; i < header.parts; i++) {
    ivf_entry e;
    uint64_t at = sizeof header + (uint64_t)i * sizeof e;
    memcpy(&e, data + at, sizeof e);
    if (e.zero != 0) status = corrupt(err, at + 12, "a reserved field is not zero");
    else if (e.span >= span_count) status = corrupt(err, at, "a part names a partition that does not exist");
    else if (e.nlist == 0 || e.nprobe == 0 || e.nprobe > e.nlist)
      status = corrupt(err, at + 4, "a part's number of lists is impossible");
    else if (!(e.reach >= 0 && e.reach_alone >= e.reach))
      status = corrupt(err, at + 24, "a part's reach is not a distance");
    else if (!(e.built_square >= 0 && e.calibrated_square >= 0))
      status = corrupt(err, at + 40, "a part's mean distance is not a distance");
    else if (e.offset != expected) status = corrupt(err, at + 16, "a part is not where it should be");
    else if (part_bytes(e.nlist, c->dim) > bytes.bytes - expected)
      status = corrupt(err, at + 4, "a part is longer than the index");
    else if (spans[e.span].first < next_first || spans[e.span].count > base->count ||
             spans[e.span].first > base->count - spans[e.span].count)
      status = corrupt(err, at, "the parts are not in the order of their partitions");
    else status = open_part(c, &e, &spans[e.span], data, ivf, &ivf->parts[i], err);
    if (status != TY_OK) goto done;
    ivf->count = i + 1;
    expected += part_bytes(e.nlist, c->dim);
    next_first = spans[e.span].first + spans[e.span].count;
  }
  if (expected != bytes.bytes) status = corrupt(err, expected, "bytes follow the last part");
done:
  if (status == TY_OK) *out = ivf;
  else ty_ivf_free(ivf);
  return status;
}
