/* What the storage files share and nobody else sees: files, the lock, unsaved operations, derived tables.
 *
 */
#ifndef TY_STORE_H
#define TY_STORE_H

#include "format.h"
#include "calls/answer.h"
#include "ivf/ivf.h"
#include "lexical/lexical.h"
#include "os/fail.h"
#include "os/spill.h"
#include "rows/coded.h"
#include "rows/rewrite.h"
#include "json.h"
#include "rows/vector.h"

/* ---- A mapped file ---- */
typedef struct ty_file {
  char name[64];  /* in the collection's directory; empty: none */
  uint64_t bytes; /* committed */
  uint32_t crc;   /* of the committed bytes: for slabs of their header and section table, which hold the sections' own;
                     for the   delta of every committed byte; for id_map.npy of what follows its header */
  const uint8_t *map; /* at least `bytes` long */
  uint64_t mapped;
  uint64_t device,
      inode; /* of what is mapped: its name may come to stand for another file, and that one may be longer */
} ty_file;

/* Looks an external id up among the live rows: `found` tells. TY_NO_MEMORY where the table for it could not be built.
 */
ty_status ty_find(const ty_collection *c, ty_slice id, ty_ref *out, bool *found, ty_error *err);
/* Enters a question: follows other processes' saves where no change is under way, then takes the lock shared. ty_leave
 * lets go. */
ty_status ty_enter(ty_collection *c, ty_error *err);
void ty_leave(ty_collection *c);

/* ---- The manifest: manifest.c ---- */
/* The schema's keys in their order; the manifest repeats them with id_map between filter_columns and telys_version. */
enum {
  TY_KEY_NAME,
  TY_KEY_DIM,
  TY_KEY_DTYPE,
  TY_KEY_KEY_NAME,
  TY_KEY_FILTER_COLUMNS,
  TY_KEY_TELYS_VERSION,
  TY_KEY_DEFAULT_TARGET_RECALL,
  TY_KEY_APPLIED_TUNER,
  TY_KEY_LEXICAL,
  TY_KEY_EMBEDDER_PROFILE,
  TY_SCHEMA_KEYS
};
extern const char *const ty_schema_keys[TY_SCHEMA_KEYS];

typedef struct ty_schema {
  ty_slice members[TY_SCHEMA_KEYS]; /* raw JSON, pointing into the text it was read from */
  uint32_t dim, columns;
  ty_dtype dtype;
  ty_metric metric; /* by the embedder profile's member distance */
  bool lexical;
  double default_target_recall;
} ty_schema;

/* The files of one state; a name that is empty means none. */
typedef struct ty_files {
  ty_file base, ivf, lexical, id_map; /* id_map is never mapped */
  ty_file *deltas;                    /* in order */
  uint32_t delta_count;
} ty_files;

/* A manifest as read. Its files are not mapped. */
typedef struct ty_saved {
  ty_buffer text;
  ty_schema schema;
  uint64_t generation, live_rows, total_rows;
  ty_files files;
} ty_saved;

/* Reads the members of an object that is a schema: exactly its keys. */
ty_status ty_schema_read(ty_slice json, ty_schema *out, ty_error *err);
/* Writes a schema as one JSON object. */
void ty_schema_write(const ty_schema *schema, ty_buffer *out);
/* TY_INVALID naming the first of dim, dtype, metric, key_name, filter_columns and lexical that differs. */
ty_status ty_schema_agree(const ty_schema *mine, const ty_schema *theirs, ty_error *err);
ty_status ty_saved_read(ty_buffer *text, ty_saved *out,
                        ty_error *err); /* takes the text's memory over, also on failure */
void ty_saved_free(ty_saved *m);

/* The manifest of the collection as it stands in memory. `generation` is the one to write. */
ty_status ty_manifest_text(const ty_collection *c, const ty_files *files, uint64_t generation, uint64_t live,
                           uint64_t total, ty_buffer *out, ty_error *err);

/* ---- The store ---- */
/* Memory for unsaved operations, in the very form they take on disk. Chunks never move: rows point into them. */
typedef struct ty_chunk {
  ty_spill memory;
  uint64_t used;
} ty_chunk;

/* What the delta's columns lie in. */
enum {
  TY_COLUMN_BLOCKS,
  TY_COLUMN_CODES,
  TY_COLUMN_INFO,
  TY_COLUMN_ROW,
  TY_COLUMN_BIRTH,
  TY_COLUMN_DEAD,
  TY_COLUMN_PAYLOAD,
  TY_COLUMN_KEYS,
  TY_DELTA_COLUMNS = TY_COLUMN_KEYS + TY_MAX_COLUMNS
};
typedef struct ty_delta_memory {
  uint64_t capacity; /* rows that all of them have room for */
  ty_spill columns[TY_DELTA_COLUMNS];
} ty_delta_memory;

typedef struct ty_id_slot {
  uint32_t tag; /* upper half of the id's hash, by which a slot has its place and most strangers are told apart without
                   touching their bytes */
  uint32_t place; /* + 1; 0: free; TY_SLOT_GONE: was in use */
} ty_id_slot;
#define TY_SLOT_GONE 0xffffffffu

struct ty_store {
  char *manifest_path;
  _Atomic bool writing;   /* from ty_begin to the end of that change */
  pthread_mutex_t change; /* one changing call at a time */
  int lock_fd;            /* -1: not held */
  bool changed;           /* anything since ty_begin */
  bool marker_gone;       /* that of a first save was removed by this handle, if it was there */
  bool abandon_delta;     /* a sync of the last delta failed: what follows goes to a fresh file */

  /* The saved state. */
  ty_stamp stamp; /* of the manifest last read or written; all zero: look again */
  uint64_t manifest_bytes;
  uint64_t first_row; /* of the base */
  ty_files files;
  bool id_map_checked; /* its bytes were compared once by this handle */

  /* Since ty_begin. */
  ty_chunk *chunks;
  uint32_t chunk_count, chunk_capacity;
  uint64_t ops;
  uint64_t kept_rows, kept_next_row; /* delta.count and next_row as they were */
  ty_buffer kept_schema;             /* empty: not changed */
  ty_place *killed;                  /* rows that died, so that they can be revived */
  uint64_t killed_count, killed_capacity;
  ty_delta_memory delta;
  ty_resident resident;

  /* Derived, built at the first need under `derive`, kept up to date under the exclusive lock. */
  pthread_mutex_t derive;
  _Atomic bool ids_ready, order_ready;
  ty_spill id_table;                     /* of ty_id_slot */
  uint64_t id_table_size, id_table_used; /* used: live and gone */
  ty_spill order;                        /* of ty_place, by birth - first_row: place + 1, 0 where no live row has it */
  uint64_t order_size;
  ty_spill base_at; /* of ty_place, by row - first_row: position in the base */
};

/* ---- Files: file.c ---- */
/* How much of it for a delta: as long again, so that the mapping moves seldom. */
#define TY_RESERVE_MIN ((uint64_t)4 << 20)
static inline uint64_t ty_room_ahead(uint64_t bytes) { return bytes > TY_RESERVE_MIN ? bytes : TY_RESERVE_MIN; }
/* Maps at least `bytes` of a file that must have as many; `reserve` more of address space for what will be appended. */
ty_status ty_file_map(const ty_collection *c, ty_file *file, uint64_t reserve, ty_error *err);
void ty_file_unmap(const ty_collection *c, ty_file *file);
/* The page cache keeps a file in pieces as large as its writes, and a fault maps a whole piece: with writes of 4 MiB a
 * hundred scattered rows made 82 MB resident, with these 6 MB. Writing takes no longer. */
#define TY_WRITE_PIECE ((uint64_t)64 << 10)
/* Creates a file under a fresh name (a leftover that no manifest names makes way), under the writer's lock. */
ty_status ty_file_create(const ty_collection *c, const char *name, int *fd, ty_error *err);
ty_status ty_file_sync_dir(const ty_collection *c, const char *dir, ty_error *err);
ty_status ty_file_read(const ty_collection *c, const char *name, uint64_t limit, ty_buffer *out, ty_error *err);
/* Writes a whole small file durably: temporary name, sync, `before` (may be NULL), rename. The directory is not synced.
 * `renamed` is set once the rename was tried: from then on the name may stand for either. */
typedef ty_status (*ty_before_fn)(void *ctx, ty_error *err);
ty_status ty_file_replace(const ty_collection *c, const char *name, const void *data, uint64_t bytes,
                          ty_before_fn before, void *ctx, bool *renamed, ty_error *err);
/* TY_CORRUPT where an open descriptor, or what the name stands for now, is not the mapped file or has not `bytes`:
 * reading on through the mapping would end in a SIGBUS. A directory that was removed and made anew, or restored from a
 * copy, has other files under the same names. */
ty_status ty_file_same(const ty_collection *c, const ty_file *file, int fd, uint64_t bytes, ty_error *err);
ty_status ty_file_still(const ty_collection *c, const ty_file *file, uint64_t bytes, ty_error *err);
/* Cuts off what lies behind the committed bytes of a mapped file, under the writer's lock; failures are passed over. */
void ty_file_cut(const ty_collection *c, const ty_file *file);
/* Removes a file of ours, under the writer's lock; where that is lost the name may be another's file, which stays. */
void ty_file_remove(const ty_collection *c, const char *name);

/* ---- Rows of the delta: delta_rows.c ---- */
/* Room for so many more rows. Columns that grow are copied beside those that questions read, which may take long; the
 * lock is taken exclusively for their exchange, unless the caller has it so. For the change's own thread, or under the
 * exclusive lock. */
ty_status ty_delta_reserve(ty_collection *c, uint64_t more, bool locked, ty_error *err);
typedef struct ty_new_row {
  uint64_t row, birth;
  const uint32_t *codes; /* of the filter columns */
  ty_payload payload;
} ty_new_row;
/* Room was reserved. What screens the row is the i-th of `coded`. */
void ty_delta_push(ty_collection *c, const ty_new_row *row, const ty_coded *coded, uint64_t i);
void ty_delta_free(ty_collection *c);
/* By birth - first_row, order_size of them. */
static inline const ty_place *ty_order(const ty_collection *c) { return c->store->order.data; }
/* ---- Derived tables: ids.c ---- */
ty_status ty_ids_need(const ty_collection *c, ty_error *err);
ty_status ty_order_need(const ty_collection *c, ty_error *err);
void ty_derived_added(ty_collection *c, ty_place place);
void ty_derived_died(ty_collection *c, ty_place place);
void ty_derived_drop(ty_collection *c);
/* A row by its number. False where no segment has it. */
bool ty_place_of_row(ty_collection *c, uint64_t row, ty_place *out);

/* ---- Changes in memory: undo.c ---- */
void ty_mark(ty_collection *c); /* from here ty_undo goes back */
ty_status ty_kill_reserve(ty_collection *c, uint64_t more, ty_error *err);
void ty_kill(ty_collection *c, ty_place place); /* a live row; room was reserved */
void ty_undo(ty_collection *c);                 /* takes the exclusive lock */
void ty_undo_locked(ty_collection *c);          /* where it is held */
void ty_note_lexical(ty_collection *c);         /* tells the lexical index everything anew */
ty_status ty_chunk_take(ty_collection *c, uint64_t bytes, uint8_t **out, ty_error *err);
void ty_chunks_free(ty_collection *c);
/* Where the unsaved operations end, so that a failed call can give back what it took. */
typedef struct ty_chunk_mark {
  uint32_t count;
  uint64_t used, ops;
} ty_chunk_mark;
ty_chunk_mark ty_chunk_mark_take(const ty_collection *c);
void ty_chunk_mark_restore(ty_collection *c, ty_chunk_mark mark);

/* ---- Slabs: slab.c ---- */
typedef struct ty_slab_writer {
  const ty_collection *c;
  char name[64];
  int fd;
  ty_slab_header header;
  ty_slab_section *sections;
  uint32_t capacity;
  uint64_t offset; /* of the first byte in the buffer */
  uint8_t *buffer;
  uint64_t buffered;
  uint32_t crc;     /* of the open section so far */
  ty_status status; /* sticky, with `err` filled */
  ty_error *err;
} ty_slab_writer;
/* The name of a slab: its kind's role and the generation of the save that makes it. */
void ty_slab_name(char out[64], uint32_t kind, uint64_t generation);
ty_status ty_slab_create(ty_slab_writer *w, const ty_collection *c, uint32_t kind, uint64_t generation,
                         uint64_t base_generation, uint32_t sections, ty_error *err);
void ty_slab_section_start(ty_slab_writer *w, uint32_t id);
void ty_slab_append(ty_slab_writer *w, const void *data, uint64_t bytes);
void ty_slab_section_end(ty_slab_writer *w);
/* Writes header and table, syncs and closes; on failure, of this or anything before, removes the file. */
ty_status ty_slab_finish(ty_slab_writer *w, ty_file *out);

/* A mapped slab whose header and section table are known to be good. */
typedef struct ty_slab {
  const ty_slab_header *header;
  const ty_slab_section *sections;
  const ty_file *file;
} ty_slab;
/* The one check of a mapped slab's header, of any kind. TY_VERSION where it is sound and of another version, TY_CORRUPT
 * where it is not what a writer of this version made for this file and the collection's mapped base. */
ty_status ty_slab_check(const ty_collection *c, const ty_file *file, uint32_t kind, ty_error *err);
/* The same and the section table; not for deltas. */
ty_status ty_slab_open(const ty_collection *c, const ty_file *file, uint32_t kind, ty_slab *out, ty_error *err);
/* A section; with `bytes` other than UINT64_MAX it must be exactly as long. `check` compares its checksum. */
ty_status ty_slab_get(const ty_collection *c, const ty_slab *slab, uint32_t id, uint64_t bytes, bool check,
                      ty_slice *out, ty_error *err);

/* ---- Base, delta, id map, loading ---- */
/* What a base is made of: the rows in their final order, and each one's rank by birth, which with first_row is its new
 * number. */
typedef struct ty_base_plan {
  const ty_rebase *rebase;
  const ty_place *rank; /* by old place */
  uint64_t first_row, generation;
} ty_base_plan;
ty_status ty_base_write(const ty_base_plan *plan, ty_file *out, ty_error *err);
/* Fills base, spans, dictionaries, first and next row of `c` from its mapped store->base. */
ty_status ty_base_open(ty_collection *c, ty_error *err);

/* Maps a delta and checks its header and the checksum of its committed bytes. */
ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err);
/* Applies the blocks of a mapped delta from an offset on to its committed end. The bytes have passed their checksum. */
ty_status ty_delta_replay(ty_collection *c, const ty_file *file, uint64_t from, ty_error *err);
/* Points the rows from delta position `at` on, which were saved in the block at `from`, to the mapping. */
void ty_delta_settle(ty_collection *c, const ty_file *file, uint64_t from, uint64_t at);
/* Writes the unsaved operations as one block, to the last of `files` or as a fresh one at its end. The file's record
 * there gets its new size and checksum; a fresh one's is not mapped. Its sync is begun and may go on beside;
 * ty_delta_finish waits for it and closes. After a successful ty_delta_append it is called exactly once, also where the
 * save fails for another reason. */
typedef struct ty_delta_write {
  ty_collection *c;
  int fd;
  char name[64];
  uint64_t from; /* where the block starts */
  bool fresh, beside;
} ty_delta_write;
ty_status ty_delta_append(ty_collection *c, uint64_t generation, ty_files *files, ty_delta_write *w, ty_error *err);
ty_status ty_delta_finish(ty_delta_write *w, ty_error *err);
/* Fills op->bytes from the other lengths; false where they are out of bounds. */
bool ty_operation_size(const ty_collection *c, ty_operation *op);
/* Makes sure that `bytes` of a delta are mapped; rows that point into the old mapping follow. Under the exclusive lock.
 */
ty_status ty_delta_remap(ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err);
/* Where the parts of a put lie, behind its header. */
typedef struct ty_put_layout {
  uint64_t vector, id, meta, text, terms, key_lengths, keys;
} ty_put_layout;
ty_put_layout ty_put_place(const ty_collection *c, const ty_operation *op);

/* Brings id_map.npy to the rows as they stand: appends those from delta position first_at on, or rewrites it whole. */
ty_status ty_id_map_append(ty_collection *c, uint64_t first_at, ty_file *out, ty_error *err);
/* Writes the whole map anew; `id` yields the id of the i-th row number. */
ty_status ty_id_map_write(const ty_collection *c, uint64_t rows, ty_slice (*id)(const void *ctx, uint64_t i),
                          const void *ctx, ty_file *out, ty_error *err);
/* Writes the header of the map that the saved state names over the one in `head`, TY_NPY_HEADER bytes. */
void ty_id_map_head(const ty_collection *c, uint8_t *head);
ty_status ty_id_map_check(const ty_collection *c, ty_error *err);

/* ---- State: load.c ---- */
/* An empty collection object for a directory. */
ty_status ty_shell(ty_env *env, const char *dir, ty_collection **out, ty_error *err);
void ty_shell_free(ty_collection *c);
ty_status ty_adopt_schema(ty_collection *c, const ty_schema *schema, ty_error *err);
/* Exchanges what a manifest stands for between two objects of one collection. */
void ty_swap_state(ty_collection *c, ty_collection *t);
/* Loads what a manifest names into the fresh `t`; indexes are opened on behalf of `owner`. */
ty_status ty_load(ty_collection *t, const ty_collection *owner, const ty_saved *m, ty_error *err);
/* Maps and opens the IVF and lexical slabs that store->files names. */
ty_status ty_open_indexes(ty_collection *t, const ty_collection *owner, ty_error *err);
/* The same files, none of them mapped. */
ty_status ty_files_copy(ty_files *to, const ty_files *from, ty_error *err);
ty_status ty_wrong_sum(const ty_file *file, ty_error *err);
/* follow.c. Brings `c` to what the directory says now. Under the exclusive lock. `missing_ok`: no manifest is no
 * failure. */
ty_status ty_follow(ty_collection *c, bool missing_ok, ty_error *err);

/* ---- Commit: commit.c ---- */
/* The next state as its manifest will say it. */
typedef struct ty_next {
  const ty_collection *schema_of;
  const ty_files *files;
  uint64_t generation, live, total;
  bool first;          /* the directory itself is new */
  ty_before_fn before; /* what must have succeeded before the rename; may be NULL */
  void *before_ctx;
  ty_stamp stamp; /* out: zero where it could not be read */
  uint64_t bytes; /* out: of the manifest */
  bool unknown;   /* out: on failure, the disk may hold the new manifest all the same */
} ty_next;
/* TY_IO where the writer's lock keeps nobody out any more: its directory was removed, and another process may have made
 * one of the same name, with files of the same names. Whoever is about to create, rename or remove something asks
 * first: nothing of a foreign directory may be hit. */
ty_status ty_lock_still(const ty_collection *c, ty_error *err);
/* A failed save or rewrite: where the lock is lost, that is the cause, whatever came of it, and `err` says so. */
bool ty_lock_lost(const ty_collection *c, ty_error *err);
/* Writes the manifest and makes it durable. */
ty_status ty_commit(ty_collection *c, ty_next *next, ty_error *err);
/* A changing call: takes `change` and makes sure that a change is under way. On failure nothing is held. */
ty_status ty_change_enter(ty_collection *c, ty_error *err);
void ty_change_leave(ty_collection *c);
/* Ends the change with what became of it: undoes on failure, lets go of the writer's lock and of `change`. */
ty_status ty_change_end(ty_collection *c, ty_status status, bool unknown);

/* ---- A directory without a manifest: first.c ---- */
/* Whether a name is that of a base, a delta, or an index. */
bool ty_is_slab(const char *name);
/* TY_CORRUPT where rows would be lost by taking the directory for a new collection's. Without the writer's lock another
 * process's first save may be ending: then there is a manifest now. */
ty_status ty_first_check(const ty_collection *c, ty_error *err);
/* What a first save begins and ends with, under the writer's lock. */
ty_status ty_first_begin(const ty_collection *c, ty_error *err);
void ty_first_end(ty_collection *c);

/* ---- Rebase: rebase.c ---- */
typedef struct ty_rebase_wish {
  bool ivf, retrain, lexical;
  uint64_t ivf_min_rows;
  double ivf_target_recall, k1, b; /* with retrain the target becomes the collection's default */
} ty_rebase_wish;
/* The wish that keeps what is there. */
ty_rebase_wish ty_rebase_keep(const ty_collection *c);
/* Gathers, writes, commits, swaps. The caller has entered a change; on failure nothing in memory is other than before.
 */
ty_status ty_rebase_run(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, bool *unknown,
                        ty_error *err);
/* Replaces one member of the schema in memory. */
ty_status ty_schema_set(ty_collection *c, int key, ty_slice json, ty_error *err);

#endif
