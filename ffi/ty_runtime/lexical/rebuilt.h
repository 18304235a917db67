/* An index made in memory of the texts of the base's rows, in place of a stored one that cannot be used: queries by
 * words alone have no other ranking. It scores as the stored one did, of the same texts; where k1 and b were lost with
 * it, by the defaults. */
#pragma once

#include "lexical/lexical.h"

/* Beyond so many bytes of texts it is not made: 0.6 s for each process that asks. */
#define TY_REBUILT_TEXTS ((uint64_t)64 << 20)

/* About how many bytes of codes are read in the time that making it takes; 0 where it was made already. */
uint64_t ty_rebuilt_cost(const ty_lexical *x, const ty_collection *c);
/* The index in place of `x`, the collection's own, which is not usable; made by the first call, for which others wait.
 * TY_INDEX where it cannot be made: rows' terms are lost as they have no texts, or the texts are too long or cannot be
 * read. Under the collection's lock. */
ty_status ty_rebuilt(ty_lexical *x, const ty_collection *c, ty_lexical **out, ty_error *err);
