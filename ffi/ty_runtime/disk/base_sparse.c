/* Writes the rows of a vertical base of eight bits. One sparse block is in memory at a time; the directory and the
 * checksums of all blocks are kept until the lines are written. */
#include <string.h>

#include "disk/base_writer.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "rows/weights.h"

/* A block of the old base is decoded as a whole if at least one of WHOLE_PART rows of it is wanted: to decode a row
 * alone takes some twenty times its share of the whole. Few rows are wanted after an IVF index has put rows into a new
 * order. */
#define WHOLE_PART 16u

typedef struct sparse_writer {
  base_writer *w;
  uint64_t stride;      /* of `stored` */
  uint8_t *stored;      /* room for each row of a block in the form of TY_INT8: see slot_of */
  const int8_t **codes; /* of each row of a block: in `stored`, or in place where they lie there with their zeros */
  int8_t **wanted;      /* for each row of an old block: where its codes go; `unwanted` for a row that is not used */
  int8_t *unwanted;     /* dim bytes, never read */
  void *scratch;        /* for sparse_put */
  uint8_t *data;        /* of a block */
  uint8_t *directory;   /* of all blocks */
  uint32_t *sums;       /* of their runs */
  uint64_t at;          /* where the next block begins in the lines */
} sparse_writer;

/* Room for the codes of the k-th row of the block, after its scale. */
static int8_t *slot_of(const sparse_writer *x, uint64_t k) {
  return (int8_t *)x->stored + k * x->stride + sizeof(float);
}

/* Whether the codes of a row are only in a sparse block of the old base. Rows of a delta have them in their operations
 * too, where they are read faster. */
static bool is_old(ty_ref r) { return r.segment->is_base && ty_is_sparse(r.segment, r.at); }

/* The codes of a row that is not in such a block. */
static const int8_t *codes_of(const sparse_writer *x, uint64_t i, uint64_t k) {
  base_writer *w = x->w;
  const ty_collection *c = w->r->c;
  const ty_ref r = w->r->rows[i + k];
  const ty_payload *own = r.segment->is_base ? NULL : &r.segment->payload[r.at];
  if (own != NULL && ty_form_of(c, own->coded) == TY_INT8)
    return (const int8_t *)ty_payload_stored(c, own, (uint8_t *)(slot_of(x, k) - sizeof(float))) + sizeof(float);
  const int8_t *codes = base_codes(w, i + k);
  return codes == w->codes ? memcpy(slot_of(x, k), codes, c->dim) : codes;
}

/* Decodes the rows of the new block that are in the same block of the old base as its k-th row, from that one on. */
static void take_block(const sparse_writer *x, uint64_t i, uint64_t k, uint64_t n) {
  const base_writer *w = x->w;
  const ty_collection *c = w->r->c;
  const ty_segment *old = w->r->rows[i + k].segment;
  const uint64_t first = w->r->rows[i + k].at / TY_SPARSE_ROWS * TY_SPARSE_ROWS,
                 left = old->vertical.sparse_rows - first;
  const uint64_t rows = left < TY_SPARSE_ROWS ? left : TY_SPARSE_ROWS;
  const ame_sparse_block *block = ty_sparse_block_at(old, first);
  uint64_t count = 0;
  for (uint64_t row = 0; row < rows; row++) x->wanted[row] = x->unwanted;
  for (; k < n; k++) {
    const ty_ref r = w->r->rows[i + k];
    if (x->codes[k] != NULL || r.at - first >= rows) continue; /* has its codes, or is in another block */
    x->codes[k] = x->wanted[r.at - first] = slot_of(x, k);
    count++;
  }
  if (count >= rows / WHOLE_PART) {
    (void)c->env->kernel->sparse_rows(block, (size_t)rows, x->wanted);
    return;
  }
  for (uint64_t row = 0; row < rows; row++)
    if (x->wanted[row] != x->unwanted)
      (void)c->env->kernel->sparse_take(block, (size_t)row, NULL, c->dim, x->wanted[row]);
}

/* Fills `codes` for the n rows of the new block, from row i of the base on. */
static void gather(const sparse_writer *x, uint64_t i, uint64_t n) {
  base_writer *w = x->w;
  for (uint64_t k = 0; k < n && base_go_on(w, i + k); k++)
    x->codes[k] = is_old(w->r->rows[i + k]) ? NULL : codes_of(x, i, k);
  for (uint64_t k = 0; k < n && w->slab.status == TY_OK; k++)
    if (x->codes[k] == NULL) take_block(x, i, k, n);
}

/* Adds the rows of the block to the sums for weighted queries. */
static void count(const sparse_writer *x, uint64_t i, uint64_t n) {
  base_writer *w = x->w;
  uint64_t end;
  for (uint64_t k = 0; k < n && w->counted != 0; k++) {
    const ty_ref r = w->r->rows[i + k];
    const float scale = r.segment->vertical.lines != NULL ? r.segment->vertical.scales[r.at] : base_info(w, r).scale;
    ty_weights_count_codes(base_sums_of(w, i + k, &end), x->codes[k], scale, w->r->c->dim);
  }
}

static void put_block(sparse_writer *x, uint64_t block, uint64_t i, uint64_t n) {
  base_writer *w = x->w;
  const uint32_t dim = w->r->c->dim;
  const ame_kernel *k = w->r->c->env->kernel;
  uint8_t *directory = x->directory + block * ty_directory_bytes(dim);
  uint32_t *entries = (uint32_t *)(void *)(directory + sizeof x->at);
  gather(x, i, n);
  if (w->slab.status != TY_OK) return;
  count(x, i, n);
  const uint64_t bytes = k->sparse_put(x->codes, (size_t)n, dim, x->scratch, entries, x->data);
  memcpy(directory, &x->at, sizeof x->at);
  for (uint32_t d = 0; d < dim; d++) {
    const uint32_t from = entries[d] >> 2;
    x->sums[block * dim + d] = k->crc32c(0, x->data + from, (entries[d + 1] >> 2) - from);
  }
  ty_slab_append(&w->slab, x->data, bytes);
  x->at += bytes;
}

void base_put_sparse(base_writer *w) {
  const ty_collection *c = w->r->c;
  const uint64_t rows = w->r->count, blocks = (rows + TY_SPARSE_ROWS - 1) / TY_SPARSE_ROWS;
  const uint64_t most = rows < TY_SPARSE_ROWS ? rows : TY_SPARSE_ROWS, listed = blocks * ty_directory_bytes(c->dim);
  ty_arena memory = {0};
  sparse_writer x = {.w = w,
                     .stride = (sizeof(float) + (uint64_t)c->dim + 3) / 4 * 4,
                     .codes = ty_arena_take(&memory, most, sizeof *x.codes),
                     .wanted = ty_arena_take(&memory, TY_SPARSE_ROWS, sizeof *x.wanted),
                     .unwanted = ty_arena_take(&memory, c->dim, 1),
                     .scratch = ty_arena_align(&memory, AME_SPARSE_SCRATCH, 1),
                     .data = ty_arena_align(&memory, c->env->kernel->sparse_bound((size_t)most, c->dim), 1),
                     .directory = ty_arena_zero(&memory, listed, 1),
                     .sums = ty_arena_take(&memory, blocks * c->dim, sizeof *x.sums)};
  x.stored = ty_arena_take(&memory, most, x.stride);
  if (memory.failed) ty_slab_no_memory(&w->slab);
  ty_slab_section_start(&w->slab, TY_SECTION_LINES);
  for (uint64_t block = 0; block < blocks && w->slab.status == TY_OK; block++) {
    const uint64_t i = block * TY_SPARSE_ROWS;
    put_block(&x, block, i, rows - i < TY_SPARSE_ROWS ? rows - i : TY_SPARSE_ROWS);
  }
  ty_slab_section_end(&w->slab);
  if (w->slab.status == TY_OK) ty_slab_section_put(&w->slab, TY_SECTION_DIRECTORY, x.directory, listed);
  if (w->slab.status == TY_OK) ty_slab_section_put(&w->slab, TY_SECTION_RUNS, x.sums, blocks * c->dim * sizeof *x.sums);
  ty_arena_free(&memory);
}
