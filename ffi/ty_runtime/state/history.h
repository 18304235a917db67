/* What saves have changed. Saves before the base are in the history file, a sealed slab (disk/history.h). Saves since
 * are in the blocks of the deltas; the rows that they replaced are still in base and deltas, as dead rows. So a save
 * only adds its origin. A rewrite of the base drops dead rows, and writes the next history file. "Past" is both
 * together.
 *
 * Rows whose texts are not stored, as those of a repository's files, are not part of it: they follow the files. */
#pragma once

#include "disk/history.h"
#include "state/state.h"

/* A save. Its changes have the indices from `first` to `end` - 1. */
typedef struct ty_past_save {
  uint64_t save, time, first, end;
  uint32_t added, replaced, deleted;
  ty_slice origin;
} ty_past_save;

/* The saves and changes, both oldest first: those of the file, then those of the deltas. */
typedef struct ty_past {
  const ty_collection *c;
  ty_history_view file;
  uint64_t from;                      /* the first save that is not too old */
  const struct ty_past_block *blocks; /* of the deltas */
  const struct ty_past_change *changes;
  uint64_t save_count, change_count; /* in all */
  ty_past_memory staged;             /* where unsaved changes are among them, all of them */
  uint64_t now;
} ty_past;

/* Reads both. Callers are between ty_enter and ty_leave, or in a change; ty_past_close follows, also on failure.
 * `staged`: with the unsaved changes as a last save. TY_CORRUPT where the file is damaged, which is noted. */
ty_status ty_past_open(const ty_collection *c, bool staged, ty_past *out, ty_error *err);
/* The same for a rewrite, which must not wait for a damaged file: without what cannot be read. */
ty_status ty_past_open_readable(const ty_collection *c, bool staged, ty_past *out, ty_error *err);
void ty_past_close(ty_past *p);
/* Frees what was read of the deltas. Call it when the deltas are replaced. */
void ty_past_forget(ty_collection *c);
ty_past_save ty_past_save_at(const ty_past *p, uint64_t i);
/* The index of the save that made a change. The search begins at the save `from`, which is not a later one. */
uint64_t ty_past_save_of(const ty_past *p, uint64_t change, uint64_t from);
uint32_t ty_past_kind(const ty_past *p, uint64_t change);
ty_slice ty_past_id(const ty_past *p, uint64_t change, ty_unpack *u);
/* The row before a change that is not TY_CHANGE_ADDED; its slices are valid until the next use of `metas`, `texts` and
 * `vector`, which has ty_vector_bytes for one of the deltas; NULL: without its vector. False where it is damaged, and
 * where memory ran out (texts->text.failed). */
bool ty_past_row(const ty_past *p, uint64_t change, ty_unpack *metas, ty_text_reader *texts, uint8_t *vector,
                 ty_history_parts *out);
/* Scratch for the vectors of rows. NULL: out of memory. The caller frees it. */
uint8_t *ty_past_scratch(const ty_collection *c);
/* The vector of that row in the collection's stored form, ty_vector_bytes at `out`. TY_CORRUPT where it is damaged. */
ty_status ty_past_vector(const ty_past *p, uint64_t change, uint8_t *scratch, uint8_t *out, ty_error *err);

/* ---- history_write.c ---- */

/* What is written, and what of it is left out. */
typedef struct ty_history_wish {
  bool drop;          /* all of it */
  bool unsaved;       /* the unsaved changes are in; only the thread that makes them may ask for it */
  const uint8_t *ids; /* what was done to these ids, n of them */
  const uint64_t *id_ends;
  uint64_t n;
} ty_history_wish;
/* Where it is written: under the lock of `dir`, beside the base that `files` has. */
typedef struct ty_history_place {
  const ty_collection *dir;
  const ty_files *files;
  uint64_t generation, base_generation;
} ty_history_place;
/* Writes what `c` remembers and maps it. `out` has no name where there is nothing; on failure its file may have been
 * written. */
ty_status ty_history_write(const ty_collection *c, const ty_history_place *place, const ty_history_wish *wish,
                           ty_file *out, ty_error *err);
