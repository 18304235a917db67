/* Making, writing and opening the signs of rows. */
#include "ivf/signs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/block.h"
#include "rows/vector.h"
#include "work/crew.h"

/* Bytes of the blocks that all threads together make before these are written. */
#define TOGETHER ((uint64_t)4 << 20)

/* What precedes the signs of a part. */
typedef struct sign_head {
  double width_share;
  uint64_t zero[7];
} sign_head;

uint64_t ty_sign_bytes(uint32_t dim, uint32_t nlist, const uint64_t *list_starts, uint64_t *starts) {
  uint64_t blocks = 0;
  for (uint32_t l = 0; l < nlist; l++) {
    if (starts != NULL) starts[l] = blocks;
    blocks += ty_block_count(list_starts[l + 1] - list_starts[l]);
  }
  if (starts != NULL) starts[nlist] = blocks;
  /* No overflow: each block has at least one row or centroid, so there are fewer than 2^32 blocks; each has at most
   * 2^18 bytes. */
  return sizeof(sign_head) + ty_align_up((uint64_t)dim * sizeof(float)) +
         (ty_block_count(nlist) + blocks) * AME_SIGN_BLOCK_BYTES(dim);
}

void ty_sign_put(const ame_kernel *k, uint32_t dim, const float *centre, const float *rotated, double bias, float *row,
                 uint8_t *block, uint32_t r) {
  double along = 0, squares = 0, sizes = 0, signed_sum = 0;
  float columns[3] = {0, 0, INFINITY};
  for (uint32_t i = 0; i < dim; i++) {
    along += (double)centre[i] * (double)row[i];
    squares += (double)row[i] * (double)row[i];
  }
  if (squares <=
      (double)AME_I4_MOST *
          (double)AME_I4_MOST) { /* larger residuals, and NaN, keep an infinite column: such rows are never excluded */
    k->rotate(row, 1, dim);
    for (uint32_t i = 0; i < dim; i++) {
      bool set = row[i] >= 0;
      sizes += fabs((double)row[i]);
      signed_sum += set ? (double)rotated[i] : -(double)rotated[i];
      block[i / 8 * AME_BLOCK_ROWS + r] |= (uint8_t)((set ? 1u : 0u) << i % 8);
    }
    double factor = sizes > 0 ? squares / sizes : 0, part = squares > 0 ? sizes * sizes / (squares * dim) : 1;
    columns[0] = (float)(along - factor * signed_sum + bias);
    columns[1] = (float)factor;
    columns[2] = (float)(factor * sqrt(part < 1 ? 1 - part : 0));
  }
  for (uint32_t i = 0; i < 3; i++)
    memcpy(block + 64 * (AME_SIGN_LINES(dim) + i) + sizeof(float) * r, &columns[i], sizeof(float));
}

ty_status ty_signs_make(ty_rebase *r, const ty_segment *base, ty_error *err) {
  const ame_kernel *k = r->c->env->kernel;
  uint32_t dim = r->c->dim;
  ty_arena memory = {0};
  if (r->ivf == NULL || dim < TY_SIGN_DIM_LEAST || base->vertical.lines != NULL) return TY_OK;
  float *residual = ty_arena_take(&memory, dim, sizeof *residual),
        *rotated = ty_arena_take(&memory, dim, sizeof *rotated);
  double *sums = ty_arena_take(&memory, dim, sizeof *sums);
  for (uint32_t i = 0; i < r->ivf->count && !memory.failed; i++) {
    ty_ivf_part *part = &r->ivf->parts[i];
    float *mean = ty_arena_align(&r->ivf->memory, dim, sizeof *mean);
    uint64_t bytes = ty_block_count(part->nlist) * AME_SIGN_BLOCK_BYTES(dim);
    uint8_t *blocks = ty_arena_align(&r->ivf->memory, bytes, 1);
    if (r->ivf->memory.failed) break;
    memset(blocks, 0, (size_t)bytes);
    memset(sums, 0, dim * sizeof *sums);
    for (uint32_t l = 0; l < part->nlist; l++) {
      for (uint32_t d = 0; d < dim; d++) sums[d] += (double)part->centroids[(uint64_t)l * dim + d];
    }
    for (uint32_t d = 0; d < dim; d++) mean[d] = (float)(sums[d] / part->nlist);
    memcpy(rotated, mean, dim * sizeof *rotated);
    k->rotate(rotated, 1, dim);
    for (uint32_t l = 0; l < part->nlist; l++) {
      for (uint32_t d = 0; d < dim; d++) residual[d] = part->centroids[(uint64_t)l * dim + d] - mean[d];
      ty_sign_put(k, dim, mean, rotated, 0, residual, blocks + l / AME_BLOCK_ROWS * AME_SIGN_BLOCK_BYTES(dim),
                  l % AME_BLOCK_ROWS);
    }
    part->signs = (ty_ivf_signs){.mean = mean, .centroids = blocks};
  }
  bool failed = memory.failed || r->ivf->memory.failed;
  ty_arena_free(&memory);
  return failed ? ty_fail(err, TY_NO_MEMORY, "not enough memory for the signs of IVF lists") : TY_OK;
}

typedef struct writing {
  ty_rebase *r;
  const ty_segment *base;
  const ty_ivf_part *part;
  const uint64_t *starts;
  uint32_t first; /* list */
  uint8_t *blocks;
  float *row[TY_CREW_MAX], *residual[TY_CREW_MAX], *rotated[TY_CREW_MAX];
} writing;

static ty_status list_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  (void)err;
  const writing *w = context;
  const ty_collection *c = w->r->c;
  const ame_kernel *k = c->env->kernel;
  uint32_t list = w->first + (uint32_t)task, dim = c->dim;
  const float *centre = w->part->centroids + (uint64_t)list * dim;
  uint64_t from = w->part->list_starts[list], to = w->part->list_starts[list + 1];
  uint8_t *blocks = w->blocks + (w->starts[list] - w->starts[w->first]) * AME_SIGN_BLOCK_BYTES(dim);
  memset(blocks, 0, (size_t)((w->starts[list + 1] - w->starts[list]) * AME_SIGN_BLOCK_BYTES(dim)));
  memcpy(w->rotated[worker], centre, dim * sizeof(float));
  k->rotate(w->rotated[worker], 1, dim);
  for (uint64_t at = from; at < to; at++) {
    const float *row = ty_row_vector(c, w->base, at, w->row[worker]);
    float *residual = w->residual[worker];
    double squares = 0;
    ty_read_row(c, (ty_ref){w->base, at}, ty_vector_bytes(c), w->r->most);
    for (uint32_t d = 0; d < dim; d++) {
      residual[d] = row[d] - centre[d];
      squares += (double)row[d] * (double)row[d];
    }
    ty_sign_put(k, dim, centre, w->rotated[worker], c->metric == TY_L2 ? -squares / 2 : 0, residual,
                blocks + (at - from) / AME_BLOCK_ROWS * AME_SIGN_BLOCK_BYTES(dim),
                (uint32_t)((at - from) % AME_BLOCK_ROWS));
  }
  return TY_OK;
}

/* Writes the blocks of the rows of a part: as many lists at a time as fit into `room` bytes. The largest list fits. */
static ty_status write_part(writing *w, ty_crew *crew, uint64_t room, ty_sign_sink sink, void *context, ty_error *err) {
  uint64_t bytes = AME_SIGN_BLOCK_BYTES(w->r->c->dim);
  ty_status status = TY_OK;
  for (w->first = 0; w->first < w->part->nlist && status == TY_OK;) {
    uint32_t end = w->first + 1;
    while (end < w->part->nlist && (w->starts[end + 1] - w->starts[w->first]) * bytes <= room) end++;
    status = ty_crew_run(crew, end - w->first, list_task, w, err);
    if (status == TY_OK && !sink(context, w->blocks, (w->starts[end] - w->starts[w->first]) * bytes)) return TY_OK;
    w->first = end;
  }
  return status;
}

ty_status ty_signs_write(ty_rebase *r, const ty_segment *base, ty_sign_sink sink, void *context, ty_error *err) {
  uint32_t dim = r->c->dim, lists = 0;
  uint64_t block = AME_SIGN_BLOCK_BYTES(dim), room = TOGETHER;
  writing w = {.r = r, .base = base};
  ty_crew crew;
  ty_arena memory = {0};
  ty_status status = TY_OK;
  ty_crew_init(&crew, r->ivf_threads, r->phases.progress);
  for (uint32_t i = 0; i < r->ivf->count; i++) {
    const ty_ivf_part *part = &r->ivf->parts[i];
    if (part->signs.mean == NULL) return TY_OK;
    lists = part->nlist > lists ? part->nlist : lists;
    for (uint32_t l = 0; l < part->nlist; l++) {
      uint64_t bytes = ty_block_count(part->list_starts[l + 1] - part->list_starts[l]) * block;
      room = bytes > room ? bytes : room;
    }
  }
  uint64_t *starts = ty_arena_take(&memory, (uint64_t)lists + 1, sizeof *starts);
  uint64_t mean_bytes = ty_align_up((uint64_t)dim * sizeof(float));
  float *mean = ty_arena_align(&memory, mean_bytes, 1);
  w.starts = starts;
  w.blocks = ty_arena_align(&memory, room, 1);
  for (uint32_t i = 0; i < crew.threads; i++) {
    w.row[i] = ty_arena_take(&memory, dim, sizeof(float));
    w.residual[i] = ty_arena_take(&memory, dim, sizeof(float));
    w.rotated[i] = ty_arena_take(&memory, dim, sizeof(float));
  }
  if (memory.failed) status = ty_fail(err, TY_NO_MEMORY, "not enough memory to write the signs of IVF lists");
  for (uint32_t i = 0; i < r->ivf->count && status == TY_OK; i++) {
    w.part = &r->ivf->parts[i];
    ty_sign_bytes(dim, w.part->nlist, w.part->list_starts, starts);
    memset(mean, 0, (size_t)mean_bytes);
    memcpy(mean, w.part->signs.mean, dim * sizeof *mean);
    sign_head head = {.width_share = w.part->width_share};
    if (!sink(context, &head, sizeof head) || !sink(context, mean, mean_bytes)) break; /* the sink has the error */
    if (!sink(context, w.part->signs.centroids, ty_block_count(w.part->nlist) * block)) break;
    status = write_part(&w, &crew, room, sink, context, err);
  }
  ty_arena_free(&memory);
  return status;
}

ty_status ty_signs_open(ty_ivf *ivf, uint32_t dim, ty_error *err) {
  uint64_t bytes = 0, used = 0;
  for (uint32_t i = 0; i < ivf->count; i++)
    bytes += ty_sign_bytes(dim, ivf->parts[i].nlist, ivf->parts[i].list_starts, NULL);
  if (bytes != ivf->signs.bytes || dim < TY_SIGN_DIM_LEAST)
    return ty_fail(err, TY_CORRUPT, "%s: the size of its signs does not fit its lists", ivf->signs.file);
  for (uint32_t i = 0; i < ivf->count; i++) {
    ty_ivf_part *part = &ivf->parts[i];
    uint64_t *starts = ty_arena_align(&ivf->memory, (uint64_t)part->nlist + 1, sizeof *starts);
    if (starts == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to open an IVF index");
    uint64_t own = ty_sign_bytes(dim, part->nlist, part->list_starts, starts);
    const uint8_t *data = ivf->signs.data + used + sizeof(sign_head);
    const uint8_t *centroids = data + ty_align_up((uint64_t)dim * sizeof(float));
    sign_head head;
    memcpy(&head, ivf->signs.data + used, sizeof head);
    bool good = ty_is_intact(&ivf->signs, used, sizeof head) && head.width_share >= 0 && head.width_share <= 1;
    part->width_share = good ? head.width_share : 1;
    part->signs = (ty_ivf_signs){.mean = (const float *)(const void *)data,
                                 .centroids = centroids,
                                 .rows = centroids + ty_block_count(part->nlist) * AME_SIGN_BLOCK_BYTES(dim),
                                 .starts = starts,
                                 .intact = &ivf->signs};
    used += own;
  }
  return TY_OK;
}
