/* The tables of sparse.h, computed by the compiler: an entry for each of the 256 masks of eight bits. RANK(m, i) is how
 * many bits of m are set below bit i. */
#include "sparse/sparse.h"

#define RANK(m, i)    ((uint8_t)__builtin_popcount((m) & ((1u << (i)) - 1u)))
#define SPREAD1(m, i) ((m) >> (i) & 1u ? RANK(m, i) : 0x80)
#define SPREAD(m)                                                                                                      \
  {SPREAD1(m, 0), SPREAD1(m, 1), SPREAD1(m, 2), SPREAD1(m, 3),                                                         \
   SPREAD1(m, 4), SPREAD1(m, 5), SPREAD1(m, 6), SPREAD1(m, 7)}

/* The place of the k-th bit: i where that bit is set and k are below it. */
#define PLACE(m, k, i) (((m) >> (i) & 1u) && RANK(m, i) == (k) ? (i) : 0)
#define SQUEEZE1(m, k)                                                                                                 \
  (PLACE(m, k, 1) + PLACE(m, k, 2) + PLACE(m, k, 3) + PLACE(m, k, 4) + PLACE(m, k, 5) + PLACE(m, k, 6) + PLACE(m, k, 7))
#define SQUEEZE(m)                                                                                                     \
  {SQUEEZE1(m, 0), SQUEEZE1(m, 1), SQUEEZE1(m, 2), SQUEEZE1(m, 3),                                                     \
   SQUEEZE1(m, 4), SQUEEZE1(m, 5), SQUEEZE1(m, 6), SQUEEZE1(m, 7)}

#define FOUR(what, m)    what(m), what((m) + 1u), what((m) + 2u), what((m) + 3u)
#define SIXTEEN(what, m) FOUR(what, m), FOUR(what, (m) + 4u), FOUR(what, (m) + 8u), FOUR(what, (m) + 12u)
#define SIXTY(what, m)   SIXTEEN(what, m), SIXTEEN(what, (m) + 16u), SIXTEEN(what, (m) + 32u), SIXTEEN(what, (m) + 48u)
#define ALL(what)        SIXTY(what, 0u), SIXTY(what, 64u), SIXTY(what, 128u), SIXTY(what, 192u)

const sparse_table sparse_groups = {{ALL(SPREAD)}, {ALL(SQUEEZE)}};

/* Group g begins with the byte of row 4 (g / 2) + 32 (g % 2); in it byte k is row 16 (k / 4) + k % 4 from there. */
#define ROW_OF_GROUP(g) (4 * ((g) / 2) + 32 * ((g) % 2))
#define ROW_OF_BYTE(k)  (16 * ((k) / 4) + (k) % 4)
#define PLACES(m, of)                                                                                                  \
  {of(SQUEEZE1(m, 0)), of(SQUEEZE1(m, 1)), of(SQUEEZE1(m, 2)), of(SQUEEZE1(m, 3)),                                     \
   of(SQUEEZE1(m, 4)), of(SQUEEZE1(m, 5)), of(SQUEEZE1(m, 6)), of(SQUEEZE1(m, 7))}
#define GROUPS(m) PLACES(m, ROW_OF_GROUP)
#define BITS(m)   PLACES(m, ROW_OF_BYTE)

const sparse_places sparse_rows_of = {{ALL(GROUPS)}, {ALL(BITS)}};
