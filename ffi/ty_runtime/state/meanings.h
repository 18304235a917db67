/* The vectors of meaning of an open collection: read when they are first needed, extended by saves and by following,
 * written with a save or with a new base. */
#pragma once

#include "disk/meanings.h"
#include "meaning/meaning.h"
#include "rows/rewrite.h"

/* Reads the file if it was not read yet. Callers are between ty_enter and ty_leave, or in a change. False: no vector
 * can be used. */
bool ty_meaning_load(const ty_collection *c);
/* For a handle that has asked for vectors before: whether they cannot be read now, perhaps because a writer has just
 * replaced their file. Reads them. */
bool ty_meaning_missed(const ty_collection *c);
/* Reads the file as ty_meaning_load does, and returns the vectors: none if another encoder than the environment's made
 * them. */
ty_meaning_view ty_meaning_view_of(const ty_collection *c);
/* TY_CORRUPT where the file was truncated since it was read; from then on it is not used. */
ty_status ty_meaning_check_truncated(const ty_collection *c, ty_error *err);
/* The generation of the base, which row numbers belong to; 0: nothing was saved. */
uint64_t ty_meaning_base_generation(const ty_collection *c);

/* Switches to the file `to` of a newer state, under the exclusive lock. If it is the same file with more blocks, only
 * these are read. */
void ty_meaning_follow(ty_collection *c, const ty_file *to);

/* ---- meanings_write.c ---- */
/* Stages a record for the next save. */
ty_status ty_meaning_stage(ty_collection *c, const ame_encoding *encoding, uint64_t row, ty_error *err);
/* A save's part. ty_meaning_append writes the staged records to the file that `files` names, or to a fresh one, and
 * begins its sync; `open` says whether ty_meaning_file_finish has to follow. */
typedef struct ty_meaning_save {
  ty_meaning_writer write;
  bool open;
} ty_meaning_save;
ty_status ty_meaning_append(ty_collection *c, ty_files *files, uint64_t generation, ty_meaning_save *s, ty_error *err);
/* After a save that failed, where no manifest names what it wrote: frees that. */
void ty_meaning_failed(ty_collection *c, const ty_files *files);
/* For a rewrite, after the new base was written and opened in `t`: writes the records of the rows of `r` to the file of
 * meaning of `t`, which is created with the first record. Then ty_meaning_rewrite_put may add records, and
 * ty_meaning_rewrite_end has to follow once, also after a failure: it syncs and closes the file. */
ty_status ty_meaning_rewrite(ty_collection *t, const ty_rebase *r, uint64_t generation, ty_meaning_save *s,
                             ty_error *err);
ty_status ty_meaning_rewrite_put(ty_meaning_save *s, const ame_encoding *encoding, uint64_t row, ty_error *err);
ty_status ty_meaning_rewrite_end(ty_meaning_save *s, ty_error *err);
