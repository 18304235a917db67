/* Blocks and streams of postings. Widths are chosen so that a block is smallest; numbers that need more bits are
 * exceptions (PFOR: Zukowski et al., "Super-scalar RAM-CPU cache compression", 2006). Otherwise one large tf or gap
 * would widen all 128. */
#include "lexical/format.h"
#include "lexical/terms.h"

#define HEAD 4u
/* 128 gaps below this, from a position below 2^31 on, stay within 32 bits. */
#define GAP_SMALL ((uint32_t)1 << 23)

static unsigned bits_of(uint32_t v) { return v == 0 ? 0 : 32 - (unsigned)__builtin_clz(v); }

/* The width at which packed numbers and exceptions together take the fewest bytes. */
static unsigned best_width(const uint32_t *values) {
  uint32_t of[33] = {0}, all = 0;
  for (uint32_t i = 0; i < AME_PACK; i++) all |= values[i];
  unsigned most = bits_of(all), best = most;
  if (most == 0) return 0;
  for (uint32_t i = 0; i < AME_PACK; i++) of[bits_of(values[i])]++;
  uint64_t least = 16ull * most;
  for (unsigned width = most; width-- > 0;) {
    uint64_t cost = 16ull * width;
    for (unsigned b = width + 1; b <= most; b++) cost += of[b] * (1ull + (b - width + 6) / 7);
    if (cost < least) least = cost, best = width;
    if (cost > 2 * least) break; /* narrower ones have ever more exceptions */
  }
  return best;
}

static uint64_t put_exceptions(const uint32_t *values, unsigned width, uint8_t *out, uint8_t *count) {
  uint64_t n = 0;
  *count = 0;
  for (uint32_t i = 0; i < AME_PACK && width < 32; i++) {
    if (values[i] >> width == 0) continue;
    out[n++] = (uint8_t)i;
    n += ty_leb_put(out + n, values[i] >> width);
    ++*count;
  }
  return n;
}

uint64_t ty_block_pack(const ame_kernel *k, const uint32_t *docs, const uint32_t *tfs, uint64_t next, uint8_t *out) {
  uint32_t gaps[AME_PACK], more[AME_PACK];
  for (uint32_t i = 0; i < AME_PACK; i++) {
    gaps[i] = (uint32_t)(docs[i] - next);
    more[i] = tfs[i] - 1;
    next = (uint64_t)docs[i] + 1;
  }
  unsigned gap_bits = best_width(gaps), tf_bits = best_width(more);
  uint64_t n = HEAD;
  out[0] = (uint8_t)gap_bits;
  out[1] = (uint8_t)tf_bits;
  k->pack(gaps, gap_bits, out + n);
  n += 16ull * gap_bits;
  k->pack(more, tf_bits, out + n);
  n += 16ull * tf_bits;
  n += put_exceptions(gaps, gap_bits, out + n, &out[2]);
  return n + put_exceptions(more, tf_bits, out + n, &out[3]);
}

/* Adds the upper bits of exceptions to the values; with values NULL skips them. */
static bool patch(const uint8_t **at, const uint8_t *end, uint32_t count, unsigned width, uint32_t *values) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t upper;
    if (*at == end) return false;
    uint32_t which = *(*at)++;
    if (!ty_leb_get(at, end, &upper) || which >= AME_PACK || width >= 32 || upper > UINT32_MAX >> width) return false;
    if (values != NULL) values[which] |= (uint32_t)upper << width;
  }
  return true;
}

static bool head_fits(const uint8_t *block, uint64_t bytes) {
  return bytes >= HEAD && block[0] <= 32 && block[1] <= 32 && bytes >= HEAD + 16ull * (block[0] + block[1]);
}

bool ty_block_docs(const ame_kernel *k, const uint8_t *block, uint64_t bytes, uint64_t next, uint32_t last,
                   uint32_t *docs) {
  if (!head_fits(block, bytes)) return false;
  const uint8_t *at = block + HEAD + 16ull * (block[0] + block[1]);
  k->unpack(block + HEAD, block[0], docs);
  if (block[2] > 0 && !patch(&at, block + bytes, block[2], block[0], docs)) return false;
  uint32_t all = 0;
  for (uint32_t i = 0; i < AME_PACK; i++) all |= docs[i];
  if (all < GAP_SMALL && next <= INT32_MAX) return k->ascend((uint32_t)next, docs) == last;
  /* Summed in 64 bits: where the last one is right, no position before it was truncated. */
  for (uint32_t i = 0; i < AME_PACK; i++) {
    next += docs[i];
    docs[i] = (uint32_t)next++;
  }
  return next == (uint64_t)last + 1;
}

bool ty_block_tfs(const ame_kernel *k, const uint8_t *block, uint64_t bytes, uint32_t *tfs) {
  if (!head_fits(block, bytes)) return false;
  const uint8_t *at = block + HEAD + 16ull * (block[0] + block[1]);
  k->unpack(block + HEAD + 16ull * block[0], block[1], tfs);
  if (block[3] > 0 &&
      (!patch(&at, block + bytes, block[2], block[0], NULL) || !patch(&at, block + bytes, block[3], block[1], tfs)))
    return false;
  uint32_t all = 0;
  for (uint32_t i = 0; i < AME_PACK; i++) {
    all |= tfs[i];
    tfs[i]++;
  }
  return all < TY_TF_MAX;
}

static inline bool get_number(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  if (*at < end && **at < 128) {
    *value = *(*at)++;
    return true;
  }
  if (end - *at >= 2 && (*at)[1] < 128) {
    *value = ((uint64_t)(*at)[0] & 127) | (uint64_t)(*at)[1] << 7;
    *at += 2;
    return true;
  }
  return ty_leb_get(at, end, value);
}

uint32_t ty_stream_get(const uint8_t **at, const uint8_t *end, uint64_t *next, uint64_t docs, uint32_t n,
                       uint32_t *out_docs, uint32_t *out_tfs) {
  uint32_t read = 0;
  while (read < n && *at < end) {
    uint64_t gap, tf = 1;
    if (!get_number(at, end, &gap) || ((gap & 1) == 0 && !get_number(at, end, &tf))) return 0;
    gap >>= 1;
    if (*next > docs || gap >= docs - *next || tf == 0 || tf > TY_TF_MAX) return 0;
    out_docs[read] = (uint32_t)(*next + gap);
    out_tfs[read++] = (uint32_t)tf;
    *next += gap + 1;
  }
  return read;
}
