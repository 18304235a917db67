/* Files of a collection's directory: mapped, created, replaced. Functions that change the directory need the writer's
 * lock. */
#pragma once

#include "disk/format.h"
#include "os/guard.h"
#include "rows/collection.h"

/* A mapped file. */
typedef struct ty_file {
  char name[64];  /* in the collection's directory; empty: none */
  uint64_t bytes; /* committed */
  uint32_t
      crc; /* of the committed bytes: for slabs of their header and section table, which hold the sections' own;
              for deltas and the file of meaning of every committed byte; for id_map.npy of what follows its header */
  const uint8_t *map; /* at least `bytes` long */
  uint64_t mapped;
  uint64_t device, inode; /* of what is mapped: the name may later be another file's */
  ty_guard *guard;        /* of the mapping */
  uint64_t last;          /* offset of the last committed byte that is not zero: see ty_files_whole */
} ty_file;

/* The files of one state. */
typedef struct ty_files {
  ty_file base, ivf, lexical, history, id_map, meaning; /* the last two are not mapped here */
  ty_file *deltas;                                      /* in order */
  uint32_t delta_count;
} ty_files;

/* Address space reserved after a delta: as much as it has bytes, so that the mapping seldom moves. */
#define TY_RESERVE_MIN ((uint64_t)4 << 20)
static inline uint64_t ty_room_ahead(uint64_t bytes) { return bytes > TY_RESERVE_MIN ? bytes : TY_RESERVE_MIN; }
/* Maps file->bytes bytes, TY_CORRUPT where the file has fewer, and `reserve` more bytes of address space for
 * appends. With TY_MAP_COPY it maps all bytes that the file has, file->mapped, which may be fewer than the committed
 * ones; they may be written to, which changes the mapping only. Do not drop pages of it: a repaired bit would be
 * damaged again. */
#define TY_MAP_COPY UINT64_MAX
ty_status ty_file_map(const ty_collection *c, ty_file *file, uint64_t reserve, ty_error *err);
void ty_file_unmap(const ty_collection *c, ty_file *file);
/* After a change of `bytes` of a mapped file. */
void ty_file_end(ty_file *file);
/* The page cache keeps a file in pieces as large as its writes, and a fault maps a whole piece: with writes of 4 MiB a
 * hundred scattered rows made 82 MB resident, with these 6 MB. Writing takes no longer. */
#define TY_WRITE_PIECE ((uint64_t)64 << 10)
/* The files of a state that is written while others save (state/beside.h) have temporary names until it is committed:
 * the name, this, the process's id and "-0". The temporary files of another handle of the process have no "-0". If
 * store->temporary_names is set, all functions here that take a name use the temporary one; ty_file_replace must not be
 * called then. */
#define TY_TEMPORARY ".tmp-"
/* Renames a file from its temporary name to `name`, in place of a file with that name. It is durable after
 * ty_file_sync_dir. */
ty_status ty_file_give_name(const ty_collection *c, const char *name, ty_error *err);
/* Creates a file, under the writer's lock. A leftover of that name is removed first. */
ty_status ty_file_create(const ty_collection *c, const char *name, int *fd, ty_error *err);
/* Opens a regular file of the directory. Use this for every file that may already exist. Returns a descriptor, -errno,
 * or -TY_NOT_REGULAR less the ty_kind of what is at the path. It never waits for the other end of a FIFO. */
int ty_file_open(const ty_collection *c, const char *name, int flags);
ty_status ty_file_sync_dir(const ty_collection *c, const char *dir, ty_error *err);
ty_status ty_file_read(const ty_collection *c, const char *name, uint64_t limit, ty_buffer *out, ty_error *err);
/* Writes a whole small file durably: temporary name, sync, `before` (may be NULL), rename, sync of the directory, which
 * is opened first of all. TY_UNSURE where the name may be the new file's; after any other failure it is the old one's.
 */
typedef ty_status (*ty_before_fn)(void *ctx, ty_error *err);
ty_status ty_file_replace(const ty_collection *c, const char *name, const void *data, uint64_t bytes,
                          ty_before_fn before, void *ctx, ty_error *err);
/* TY_CORRUPT where an open descriptor (ty_file_same) or the name (ty_file_still) is not the mapped file's, or the file
 * has fewer than `bytes`: reading through the mapping would raise SIGBUS. A directory that was recreated or restored
 * from a copy has other files under the same names. */
ty_status ty_file_same(const ty_collection *c, const ty_file *file, int fd, uint64_t bytes, ty_error *err);
ty_status ty_file_still(const ty_collection *c, const ty_file *file, uint64_t bytes, ty_error *err);
/* Truncates a mapped file to its committed bytes, under the writer's lock; failures are ignored. */
void ty_file_cut(const ty_collection *c, const ty_file *file);
/* Removes a file under the writer's lock; where that is lost, nothing: the name may be another collection's file. */
void ty_file_remove(const ty_collection *c, const char *name);

/* Whether a mapped file was truncated since, or a part of it could not be read: what was read there are zeros. */
bool ty_file_lost(const ty_file *file);
/* TY_CORRUPT where a mapped file was truncated since, or a part of it could not be read: what was read there are zeros.
 * Each file's last byte that is not zero is read for it: of a file that is shorter now it is zero, or raises SIGBUS.
 * The rest of the page in which the file ends now raises none. */
ty_status ty_files_whole(const ty_files *files, ty_error *err);
/* Adds to the error that a file is missing or shorter than it was saved why that may be: a plain copy of a folder, made
 * beside a writer, has files of several states. Returns the status. */
ty_status ty_incomplete(ty_status status, ty_error *err);
/* TY_CORRUPT, with what is wrong with the file and where. */
ty_status ty_damaged(const ty_file *file, const char *what, uint64_t offset, ty_error *err);
/* TY_CORRUPT: its committed bytes do not match their checksum. */
ty_status ty_wrong_sum(const ty_file *file, ty_error *err);
/* The bytes of the deltas, and of all files. */
uint64_t ty_delta_bytes(const ty_files *files);
uint64_t ty_files_bytes(const ty_files *files);
/* Copies the records, without the mappings. */
ty_status ty_files_copy(ty_files *to, const ty_files *from, ty_error *err);
void ty_files_unmap(const ty_collection *c, ty_files *files); /* all, and frees the list of deltas */
