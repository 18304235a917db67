/* The header of every slab, and sealed files of sections. */
#pragma once

#include "disk/file.h"
#include "rows/intact.h"

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
  uint32_t crc;         /* of the open section so far */
  ty_buffer sums;       /* of the blocks so far, of all sections */
  uint32_t block_crc;   /* of the open block so far */
  uint64_t block_bytes; /* in it */
  ty_status status;     /* sticky, with `err` filled */
  ty_error *err;
} ty_slab_writer;
/* The name of a slab: its kind's role and the generation of the save that makes it. */
void ty_slab_name(char out[64], uint32_t kind, uint64_t generation);
/* For `sections` sections; that of the checksums of blocks is added. */
ty_status ty_slab_create(ty_slab_writer *w, const ty_collection *c, uint32_t kind, uint64_t generation,
                         uint64_t base_generation, uint32_t sections, ty_error *err);
void ty_slab_section_start(ty_slab_writer *w, uint32_t id);
void ty_slab_append(ty_slab_writer *w, const void *data, uint64_t bytes);
void ty_slab_section_end(ty_slab_writer *w);
/* A section of so many bytes, from its start to its end. */
void ty_slab_section_put(ty_slab_writer *w, uint32_t id, const void *data, uint64_t bytes);
/* Fails the writer for want of memory, unless it has failed before. */
void ty_slab_no_memory(ty_slab_writer *w);
/* Writes the checksums of the blocks, header and table, syncs and closes; removes the file where this or an earlier
 * step failed. */
ty_status ty_slab_finish(ty_slab_writer *w, ty_file *out);

/* A mapped slab with a checked header and section table. */
typedef struct ty_slab {
  const ty_slab_header *header;
  const ty_slab_section *sections;
  const ty_file *file;
  const uint32_t *sums; /* of the blocks of all sections; NULL: they are damaged */
} ty_slab;
/* The section of this id; NULL: there is none. */
const ty_slab_section *ty_slab_find(const ty_slab *slab, uint32_t id);
/* Checks the header of a mapped slab of any kind. TY_VERSION where it is sound and of another version, TY_CORRUPT where
 * it is damaged, or of another file or base. */
ty_status ty_slab_check(const ty_collection *c, const ty_file *file, uint32_t kind, ty_error *err);
/* The same and its section table; not for files of blocks. Damaged checksums of blocks are noted, and the slab is
 * opened. */
ty_status ty_slab_open(const ty_collection *c, const ty_file *file, uint32_t kind, ty_slab *out, ty_error *err);
/* Gets the checksums of blocks, the last section, which lies in the file. They follow from the rest: where they are
 * damaged, that is noted. */
ty_status ty_slab_sums(const ty_collection *c, ty_slab *slab, ty_error *err);
/* Gets a section, of exactly `bytes` bytes unless that is UINT64_MAX. `check`: compare its checksum. */
ty_status ty_slab_get(const ty_collection *c, const ty_slab *slab, uint32_t id, uint64_t bytes, bool check,
                      ty_slice *out, ty_error *err);
/* Whether a section that is there is as its checksum says. */
bool ty_slab_sound(const ty_collection *c, const ty_slab *slab, uint32_t id);
/* Gets a section with the checksums of its blocks, which are compared as it is read; `part` is what damage is noted as.
 * Where these checksums are damaged, the whole section is read and compared with its own one. Not for
 * TY_SECTION_LINES. */
ty_status ty_slab_intact(const ty_collection *c, const ty_slab *slab, uint32_t id, ty_part part, ty_intact *out,
                         ty_error *err);
