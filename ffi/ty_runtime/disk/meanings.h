/* The file of meaning as bytes: blocks of records, each the vector of one row. It is derived and belongs to one base.
 */
#pragma once

#include "disk/blocks.h"

/* Maps the file and checks its header. Its blocks are compared as they are read. */
ty_status ty_meaning_file_open(const ty_collection *c, ty_file *file, ty_error *err);
/* Maps more of a mapped file that has grown to `bytes`. TY_CORRUPT where the name is another file's by now. */
ty_status ty_meaning_file_extend(const ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err);

/* Reads the blocks from offset `from` on, and calls `each` with the records of every block whose checksum matches; `at`
 * is the offset of the records. Damaged blocks are skipped and noted. Returns false if it is not the file that the
 * manifest names, for example one of another collection: it ends within a block, or all of its blocks are good and its
 * checksum is another one. The checksum is compared only if `from` is the first block. */
typedef void (*ty_meaning_file_fn)(void *context, const ty_block_header *block, const ty_meaning_record *records,
                                   uint64_t at);
bool ty_meaning_file_read(const ty_collection *c, const ty_file *file, uint64_t from, ty_meaning_file_fn each,
                          void *context);
/* Whether a record is as a writer writes it. */
bool ty_meaning_is_valid(const ty_meaning_record *r);

/* Records of a block at most. */
#define TY_MEANING_BLOCK 4096u
/* Writing: ty_meaning_file_begin, ty_meaning_file_put for each record, ty_meaning_file_end, which begins the sync, and
 * then exactly one ty_meaning_file_finish, also where the save fails. */
typedef struct ty_meaning_writer {
  ty_append append; /* its collection and generation are set by the caller */
  ty_file *file;    /* in: what is appended to; without a name: a fresh file, which is named */
  uint64_t encoder;
  ty_buffer block;
  uint64_t records; /* in the block */
  int result;       /* of the writes so far */
} ty_meaning_writer;
ty_status ty_meaning_file_begin(ty_meaning_writer *w, ty_error *err);
void ty_meaning_file_put(ty_meaning_writer *w, const ame_encoding *encoding, uint64_t row);
/* After a failure the file is dropped, and there is nothing to finish. */
ty_status ty_meaning_file_end(ty_meaning_writer *w, ty_error *err);
ty_status ty_meaning_file_finish(ty_meaning_writer *w, ty_error *err);
