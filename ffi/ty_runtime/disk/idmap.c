/* id_map.npy: the external ids by row number, for numpy. A copy of the segments' ids, never read back.
 *
 * Its header holds the number of rows and is all that a save overwrites. Appended bytes are not synced: after a power
 * cut the copy may lack some, which its checksum in the manifest shows; the next writer writes it again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "disk/disk.h"
#include "disk/idmap.h"
#include "disk/lock.h"
#include "os/plant.h"

#define BATCH ((uint64_t)1 << 20)

static void header(uint8_t out[TY_NPY_HEADER], uint64_t width, uint64_t rows) {
  static const uint8_t magic[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, TY_NPY_HEADER - 10, 0};
  char text[TY_NPY_HEADER];
  int n = snprintf(text, sizeof text, "{'descr': '|S%llu', 'fortran_order': False, 'shape': (%llu,), }",
                   (unsigned long long)width, (unsigned long long)rows);
  memset(out, ' ', TY_NPY_HEADER);
  memcpy(out, magic, sizeof magic);
  memcpy(out + sizeof magic, text, (size_t)n);
  out[TY_NPY_HEADER - 1] = '\n';
}

static uint64_t width_for(uint64_t longest) {
  uint64_t width = (longest + TY_NPY_WIDTH_STEP - 1) / TY_NPY_WIDTH_STEP * TY_NPY_WIDTH_STEP;
  return width < TY_NPY_WIDTH_MIN ? TY_NPY_WIDTH_MIN : width;
}

/* The width of a map of so many bytes and rows; 0 where there is none. */
static uint64_t width_of(uint64_t bytes, uint64_t rows) {
  if (bytes < TY_NPY_HEADER) return 0;
  uint64_t body = bytes - TY_NPY_HEADER;
  if (rows == 0) return body == 0 ? TY_NPY_WIDTH_MIN : 0;
  uint64_t width = body / rows;
  return body % rows == 0 && width % TY_NPY_WIDTH_STEP == 0 && width >= TY_NPY_WIDTH_MIN && width <= TY_ID_MAX ? width
                                                                                                               : 0;
}

/* Reads ids in turn; those of delta rows lie among the vectors and texts. */
typedef struct id_reader {
  const ty_id_list *ids;
  const uint8_t *before;
} id_reader;

static ty_slice next_id(id_reader *r, uint64_t i) {
  ty_slice s = r->ids->id(r->ids->ctx, i);
  uintptr_t now = (uintptr_t)s.data, before = (uintptr_t)r->before;
  uint64_t apart = now > before ? now - before : before - now;
  if (apart == TY_PACKED_SIDE) apart = s.bytes; /* those of a base are decoded beside each other */
  ty_touched(r->ids->from->resident, TY_OF_BASE | TY_OF_DELTA | TY_OF_OPERATIONS,
             apart < TY_SCATTERED ? apart : TY_SCATTERED, TY_RESIDENT_MOST);
  r->before = s.data;
  return s;
}

/* A map that is being written, from the entry `first` on, at `offset`. */
typedef struct map_write {
  const ty_collection *c;
  const ty_id_list *ids;
  int fd;
  uint64_t width, first, offset;
  uint32_t crc; /* of the entries so far */
  bool no_memory;
} map_write;

/* Writes all entries, in batches. */
static int write_entries(map_write *w) {
  const ty_collection *c = w->c;
  id_reader r = {w->ids, NULL};
  uint64_t width = w->width, rows = w->ids->rows, first = w->first, most = BATCH / width,
           room = rows - first < most ? rows - first : most;
  uint8_t *batch = malloc((size_t)(room * width) + 1);
  w->no_memory = batch == NULL;
  int result = 0;
  for (uint64_t i = first; i < rows && batch != NULL && result >= 0;) {
    uint64_t n = rows - i < room ? rows - i : room;
    memset(batch, 0, (size_t)(n * width));
    for (uint64_t j = 0; j < n; j++) {
      ty_slice s = next_id(&r, i + j);
      if (s.bytes > 0) memcpy(batch + j * width, s.data, (size_t)s.bytes);
    }
    result = c->env->os.pwrite(&c->env->os, w->fd, batch, (size_t)(n * width), w->offset);
    w->crc = c->env->kernel->crc32c(w->crc, batch, (size_t)(n * width));
    w->offset += n * width;
    i += n;
  }
  free(batch);
  return result;
}

ty_status ty_id_map_write(const ty_collection *c, const ty_id_list *ids, ty_file *out, ty_error *err) {
  ty_os *os = &c->env->os;
  char temporary[96], from[TY_PATH_MAX], to[TY_PATH_MAX];
  uint64_t longest = 0, rows = ids->rows;
  id_reader r = {ids, NULL};
  for (uint64_t i = 0; i < rows; i++) {
    uint64_t bytes = next_id(&r, i).bytes;
    if (bytes > longest) longest = bytes;
  }
  uint64_t width = width_for(longest);
  snprintf(temporary, sizeof temporary, TY_ID_MAP_NAME TY_TEMPORARY "%ld", (long)getpid());
  ty_path(c->dir, temporary, from);
  ty_path(c->dir, TY_ID_MAP_NAME, to);
  /* ty_file_create makes the name temporary by itself if store->temporary_names is set. */
  const char *created = c->store->temporary_names ? TY_ID_MAP_NAME : temporary;
  int fd;
  ty_status status = ty_file_create(c, created, &fd, err);
  if (status != TY_OK) return status;
  uint8_t head[TY_NPY_HEADER];
  header(head, width, rows);
  *out = (ty_file){.name = TY_ID_MAP_NAME, .bytes = TY_NPY_HEADER + rows * width};
  map_write w = {.c = c, .ids = ids, .fd = fd, .width = width, .offset = sizeof head};
  const char *what = "write";
  int result = os->pwrite(os, fd, head, sizeof head, 0);
  if (result >= 0) result = write_entries(&w);
  out->crc = w.crc;
  if (result >= 0 && !w.no_memory) result = os->sync(os, fd), what = "sync";
  int closed = os->close(os, fd);
  if (result >= 0) result = closed;
  if (w.no_memory) status = ty_fail(err, TY_NO_MEMORY, "out of memory writing %s", TY_ID_MAP_NAME);
  else if (result < 0) status = ty_fail_io(err, result, what, TY_ID_MAP_NAME);
  if (status == TY_OK) status = ty_lock_still(c, err);
  if (status == TY_OK && c->store->temporary_names) return TY_OK;
  if (status == TY_OK) {
    result = os->rename(os, from, to);
    if (result >= 0) return TY_OK;
    if (result == -EISDIR) result = -TY_NOT_REGULAR - (int)TY_KIND_FOLDER;
    status = ty_fail_io(err, result, "rename", TY_ID_MAP_NAME);
  }
  ty_file_remove(c, created);
  return status;
}

/* Whether the file's bytes after the header match the manifest's checksum. */
static bool matches(const ty_collection *c, int fd, const ty_file *file) {
  uint8_t *batch = malloc(BATCH);
  uint32_t crc = 0;
  uint64_t at = TY_NPY_HEADER;
  while (batch != NULL && at < file->bytes) {
    uint64_t n = file->bytes - at < BATCH ? file->bytes - at : BATCH;
    int64_t got = c->env->os.pread(&c->env->os, fd, batch, (size_t)n, at);
    if (got != (int64_t)n) break;
    crc = c->env->kernel->crc32c(crc, batch, (size_t)n);
    at += n;
  }
  bool same = batch != NULL && at >= file->bytes && (crc == file->crc || TY_PLANTED(NO_ID_MAP_SUM));
  free(batch);
  return same;
}

bool ty_id_map_append(const ty_collection *c, const ty_id_list *ids, uint64_t from, ty_file *file) {
  struct ty_store *s = c->store;
  ty_os *os = &c->env->os;
  uint64_t width = width_of(file->bytes, from), size = 0;
  for (uint64_t i = from; i < ids->rows; i++) {
    if (ids->id(ids->ctx, i).bytes > width) return false;
  }
  if (width == 0) return false;
  int fd = ty_file_open(c, TY_ID_MAP_NAME, O_RDWR);
  if (fd < 0) return false;
  bool good = os->size(os, fd, &size) >= 0 && size >= file->bytes;
  uint8_t head[TY_NPY_HEADER], found[TY_NPY_HEADER];
  /* Another process may have replaced the map and then failed to commit: its header has another number of rows. */
  header(head, width, from);
  if (good && s->id_map_checked)
    s->id_map_checked =
        os->pread(os, fd, found, sizeof found, 0) == (int64_t)sizeof found && memcmp(found, head, sizeof head) == 0;
  if (good && !s->id_map_checked) good = s->id_map_checked = matches(c, fd, file);
  if (good) {
    map_write w = {
        .c = c, .ids = ids, .fd = fd, .width = width, .first = from, .offset = file->bytes, .crc = file->crc};
    header(head, width, ids->rows);
    good = write_entries(&w) >= 0 && !w.no_memory && os->pwrite(os, fd, head, sizeof head, 0) >= 0;
    file->crc = w.crc;
    file->bytes = w.offset;
  }
  os->close(os, fd);
  return good;
}

/* Whether a header is one of ours for at least so many rows: a failed save may have counted more. */
static bool header_fits(const uint8_t head[TY_NPY_HEADER], uint64_t width, uint64_t rows) {
  uint8_t want[TY_NPY_HEADER];
  char text[TY_NPY_HEADER + 1];
  unsigned long long found_width, found_rows;
  memcpy(text, head, TY_NPY_HEADER);
  text[TY_NPY_HEADER] = 0;
  if (sscanf(text + 10, "{'descr': '|S%llu', 'fortran_order': False, 'shape': (%llu,), }", &found_width, &found_rows) !=
          2 ||
      found_width != width || found_rows < rows)
    return false;
  header(want, width, found_rows);
  return memcmp(head, want, TY_NPY_HEADER) == 0;
}

void ty_id_map_head(uint64_t bytes, uint64_t rows, uint8_t *head) {
  uint64_t width = width_of(bytes, rows);
  if (width > 0) header(head, width, rows);
}

ty_status ty_id_map_check(const ty_collection *c, ty_error *err) {
  ty_os *os = &c->env->os;
  const ty_file *file = &c->store->files.id_map;
  int fd = ty_file_open(c, TY_ID_MAP_NAME, O_RDONLY);
  if (fd < 0) return ty_fail_io(err, fd, "open", TY_ID_MAP_NAME);
  uint8_t head[TY_NPY_HEADER];
  uint64_t rows = c->next_row - c->store->first_row, width = width_of(file->bytes, rows);
  bool titled = width > 0 && os->pread(os, fd, head, sizeof head, 0) == (int64_t)sizeof head &&
                (rows == 0 || header_fits(head, width, rows));
  bool same = titled && matches(c, fd, file);
  os->close(os, fd);
  if (same) return TY_OK;
  return ty_fail(err, TY_CORRUPT,
                 "%s does not match its checksum at offset %u; it is a copy, the next compaction writes it again",
                 TY_ID_MAP_NAME, titled ? TY_NPY_HEADER : 0);
}
