/* How much a query will read, estimated before it is answered: a caller that must not block runs a large one on another
 * thread. */
#pragma once

#include "lexical/question.h"

/* All in bytes of 8-bit codes, of which a core screens about 30 in a nanosecond; never much less than is read. Called
 * between ty_enter and ty_leave. A mutex that another thread holds counts as much work. */

/* The rows that a weighted query counts first. */
uint64_t ty_weights_cost(const ty_collection *c, const ty_filter *filter);
/* The rows that a search with a prepared query screens. `near`: by the lists of an index. */
uint64_t ty_search_cost(const ty_collection *c, const ty_filter *filter, bool near, const float *query);
/* The rows that came since the last lexical query, which the next one counts first. */
uint64_t ty_lexical_sync_cost(ty_lexical *x, const ty_collection *c);
/* What replacing the words that the rows searched do not have reads of the dictionaries of a chain. */
uint64_t ty_unknown_cost(const question *q);
/* The postings of a lexical query after ty_question_find: those that weighing it counts, and those that are ranked. */
uint64_t ty_question_cost(const question *q);
/* What searching a collection costs however few rows it has. */
#define TY_COST_COLLECTION ((uint64_t)1 << 20)

uint64_t ty_cost_plus(uint64_t a, uint64_t b); /* UINT64_MAX where it overflows */
/* TY_LARGE where the cost is above `most`, 0 being no bound. */
ty_status ty_cost_check(uint64_t cost, uint64_t most, ty_error *err);
