/* disk: the files of a collection, as bytes. Uses os, work and rows; FORMAT.md has the tables.
 *
 *   disk.h        a handle's state of its directory; directories without a manifest; leftover files
 *   format.h      every magic number and offset
 *   file.h        mapping, creating, replacing; lock.h: the writer's lock
 *   manifest.h    collection.json; schema.h: its first keys; json.h: the reader; seal.h: its checksum and version
 *   slab.h        sealed files of sections; base.h: the one with the rows; base_reader.h, base_writer.h: how that is
 * opened and written blocks.h      files that grow by blocks: delta.h, what saves are appended to, with operations.h,
 * its records, saved or not yet; and meanings.h, the vectors of meaning idmap.h       id_map.npy walk.h        reads
 * every byte and notes all damage; partial.h: reads what is left of damaged files ballast.h     blocks for deletions on
 * a full disk
 */
#pragma once

#include "disk/file.h"
#include "os/spill.h"

/* Memory for unsaved operations, in their form on disk. Chunks never move: rows point into them. */
typedef struct ty_chunk {
  ty_spill memory;
  uint64_t used;
} ty_chunk;

struct ty_store {
  char *manifest_path;
  int lock_fd;                /* -1: not held */
  bool temporary_names;       /* of the files that it opens, creates and removes: disk/file.h */
  bool marker_gone;           /* this handle removed the marker of a first save */
  bool abandon_delta;         /* a sync of the last delta failed: the next save creates a fresh one */
  bool abandon_meaning;       /* the same of the file of meaning */
  _Atomic bool wants_meaning; /* a call of this handle has asked for the vectors of meaning */
  bool ballast_whole;         /* this handle has seen it so: disk/ballast.h */

  /* The saved state. */
  ty_stamp stamp; /* of the manifest last read or written; all zero: unknown */
  uint64_t manifest_bytes;
  uint32_t version;   /* of the format; TY_SLAB_VERSION where nothing was saved */
  uint64_t first_row; /* of the base */
  ty_files files;
  uint64_t blocks;               /* of the deltas: saves of rows since the base was written */
  bool id_map_checked;           /* this handle compared its bytes once */
  ty_file meaning;               /* files.meaning as it is mapped, once it was read: state/meanings.h */
  _Atomic bool history_compared; /* this handle compared all of files.history but its rows */
  ty_buffer last_origin;         /* of the last block of the deltas; empty: not known, or there is none */

  /* Unsaved operations. */
  ty_chunk *chunks;
  uint32_t chunk_count, chunk_capacity;
  uint64_t ops;
  ty_buffer origin;            /* JSON: who makes the change, and with what */
  bool adopts;                 /* the next save names `adopted` in place of its own history */
  ty_file adopted;             /* a history; without a name: there is none */
  uint64_t adopted_generation; /* of the collection that it is of: the next save's is above it */
  ty_buffer staged;            /* of ty_meaning_record: what the next save adds to the file of meaning */
  bool drop_meaning;           /* the next save names no file of meaning */
};

/* Whether this is the name of a slab. */
bool ty_is_slab(const char *name);
/* For a directory without a manifest. TY_CORRUPT where it holds saved rows, so that no new collection may be created
 * there. A caller without the writer's lock looks for the manifest again: another process's first save may just have
 * ended. */
ty_status ty_first_check(const ty_collection *c, ty_error *err);
/* First and last step of a first save, under the writer's lock. */
ty_status ty_first_begin(const ty_collection *c, ty_error *err);
void ty_first_end(ty_collection *c);

/* Removes a collection's files that the manifest does not name: those of the state before, and leftovers of a killed
 * writer. Failures are ignored: the next rewrite tries again. */
void ty_clear_away(const ty_collection *c);
