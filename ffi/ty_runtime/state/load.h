/* From a manifest to memory. */
#pragma once

#include "disk/manifest.h"

/* An empty collection object for a directory. */
ty_status ty_shell(ty_env *env, const char *dir, ty_collection **out, ty_error *err);
void ty_shell_free(ty_collection *c);
ty_status ty_adopt_schema(ty_collection *c, const ty_schema *schema, ty_error *err);
/* Swaps the saved state (rows, files, indexes) of two objects of one collection. */
void ty_swap_state(ty_collection *c, ty_collection *t);
/* Whether a file is damaged or out of reach; not where the process lacks descriptors or memory, which passes. */
bool ty_is_lost(ty_status status, const ty_error *why);
/* Loads what a manifest names into the fresh `t`, with indexes that belong to `owner`. */
ty_status ty_load(ty_collection *t, const ty_collection *owner, const ty_saved *m, ty_error *err);
/* Reserves room for all rows of a delta before it is read, so that the columns are not copied as they grow: for the
 * rows that the manifest counts, but no more than the file can hold. Under the exclusive lock. */
ty_status ty_reserve_delta_rows(ty_collection *t, const ty_saved *m, const ty_file *file, ty_error *err);
/* Maps and opens the IVF and lexical slabs that store->files names. With `spare` one that is damaged or missing is
 * noted and done without. */
ty_status ty_open_indexes(ty_collection *t, const ty_collection *owner, bool spare, ty_error *err);
/* Replaces one member of the schema in memory. */
ty_status ty_schema_set(ty_collection *c, int key, ty_slice json, ty_error *err);
/* Sets the description in it, or removes it where `json` is empty. */
ty_status ty_schema_describe(ty_collection *c, ty_slice json, ty_error *err);

/* Brings `c` to the state in the directory, under the exclusive lock. `missing_ok`: of a collection that was never
 * saved, no manifest is not an error. */
ty_status ty_follow(ty_collection *c, bool missing_ok, ty_error *err);
/* The same, but only if the saves of others added blocks: the base, the indexes and the history are the same files, and
 * rows keep their positions. If not, `*replaced` is set and the state stays as it was. */
ty_status ty_follow_additions(ty_collection *c, bool *replaced, ty_error *err);
