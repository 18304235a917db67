/* The folders that a walk has yet to visit, in the order of its visits: first those above the path `after` and itself,
 * then those after it, then the rest; each in the order of their paths. A heap: a walk of 5,000 folders compares each
 * with a dozen others, most of them of the same folder. */
#pragma once

#include "tree/nodes.h"

typedef struct ty_pending {
  ty_node **nodes;
  uint64_t count, capacity;
} ty_pending;

#define TY_PHASE_ABOVE  0u
#define TY_PHASE_BEHIND 1u
#define TY_PHASE_REST   2u

/* The phase of the first folder of a walk. */
uint8_t ty_pending_phase(const ty_node *start, const char *after, uint32_t after_bytes);
/* Sets a folder's phase by its parent's and adds it. False: out of memory. It must not be pending. */
bool ty_pending_add(ty_pending *pending, ty_node *node, const char *after, uint32_t after_bytes);
/* The same with the phase that it has. */
bool ty_pending_add_first(ty_pending *pending, ty_node *node);
/* The first one, which is no longer pending; NULL: none is left. It may have been dropped since. */
ty_node *ty_pending_take(ty_pending *pending);
void ty_pending_clear(ty_pending *pending);
void ty_pending_free(ty_pending *pending);
