/* What a question is going to read, computed before it is answered: a caller that must not be held up asks a large one
 * on another thread. */
#ifndef TY_COST_H
#define TY_COST_H

#include "lexical/question.h"

/* All in bytes of 8-bit codes, of which a core screens about 30 in a nanosecond. More than is read, never much less.
 * Callers have entered the question; a mutex that another thread holds counts as much work. */

/* The rows that a search screens, and those that it has to weigh first. `near`: by the lists of an index. */
uint64_t ty_search_cost(const ty_collection *c, const ty_filter *filter, bool near, bool weighted);
/* The rows that came or went since the last lexical question, which takes them into account first. */
uint64_t ty_lexical_sync_cost(ty_lexical *x, const ty_collection *c);
/* The postings of a prepared lexical question. */
uint64_t ty_question_cost(const question *q, const ty_filter *filter);

uint64_t ty_cost_plus(uint64_t a, uint64_t b); /* UINT64_MAX where it overflows */
/* TY_LARGE where the cost is above `most`, 0 being no bound. */
ty_status ty_cost_check(uint64_t cost, uint64_t most, ty_error *err);

#endif
