/* What is known to be damaged in an open collection: noted where it is found, reported by ty_damages. The list belongs
 * to a state, as its files do: a state that was loaded later has its own. */
#pragma once

#include "rows/collection.h"

/* Further ones are only counted. */
#define TY_DAMAGES_KEPT 256u

/* NULL: out of memory. */
ty_damage_list *ty_damage_list_new(void);
/* Frees what ty_damage_memory gave, too. NULL is fine. */
void ty_damage_list_free(ty_damage_list *x);
/* Zeroed memory that lives as long as the list: for the states of blocks, which are as old as the mapping. NULL: out of
 * memory. */
void *ty_damage_memory(ty_damage_list *x, uint64_t bytes);

/* Fills in a record; `what` is printed, cut to its room. `part` is a ty_part, `rows` 0 where it is not of rows. */
ty_damage ty_damage_of(const char *file, uint32_t part, uint32_t section, uint64_t offset, uint64_t bytes,
                       const char *what);
/* Thread-safe, also under the shared lock of the collection. Once for each file and offset. */
void ty_damage_add(ty_damage_list *x, const ty_damage *d);
void ty_damage_note(const ty_collection *c, const ty_damage *d);
/* How many were noted. */
uint64_t ty_damage_count(const ty_collection *c);
/* Copies up to `capacity` records that are kept; returns how many are. */
uint64_t ty_damage_copy(const ty_collection *c, ty_damage *out, uint64_t capacity);
