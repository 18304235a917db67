#include "os/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/huge.h"
#include "os/resident.h"

/* Two handles of one process, or processes of two containers with one process id, may try the same name: O_EXCL makes
 * the second try another. */
#define NAMES_TRIED 16u
/* Smaller blocks stay in the C library's heap by themselves. */
#define SPARE_LEAST ((uint64_t)64 << 10)
/* Blocks of at least so many bytes are mappings of their own, which freeing gives back. Large blocks of glibc's heap
 * are not: each one that is freed raises the sizes from which it maps blocks and gives memory back, to 32 and 64 MiB,
 * for each of its heaps. A first index of 180,000 rows by four threads ended with 14 MB in use and 158 MB held. */
#define MAPPED_LEAST ((uint64_t)256 << 10)

/* An unlinked file, or a negative errno. Not O_TMPFILE: not every file system has it. */
static int open_nameless(ty_dir dir) {
  static _Atomic uint32_t counter;
  ty_os *os = &dir.env->os;
  int fd = -EEXIST;
  for (uint32_t i = 0; i < NAMES_TRIED && fd == -EEXIST; i++) {
    char name[64], path[TY_PATH_MAX];
    snprintf(name, sizeof name, TY_SPILL_NAME ".tmp-%ld-%u", (long)getpid(), atomic_fetch_add(&counter, 1));
    ty_path(dir.path, name, path);
    fd = os->open(os, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0) (void)os->unlink(os, path); /* if this fails, the next rewrite removes the file */
  }
  return fd;
}

/* Closes the descriptor at once: a process with many large collections would run out of them. Growing the file in place
 * would need it; copying to one of twice the size writes each byte once more on average. */
static bool open_file(ty_dir dir, uint64_t bytes, ty_spill *out) {
  ty_os *os = &dir.env->os;
  int fd = open_nameless(dir);
  void *data = NULL;
  if (fd < 0) return false;
  bool good = os->room(os, fd, bytes, dir.env->spill_leave) >= 0 && os->map_write(os, fd, (size_t)bytes, &data) >= 0;
  os->close(os, fd);
  if (good) *out = (ty_spill){data, bytes, true};
  return good;
}

/* Fresh pages of the system are not touched: most of an array that has just doubled is used much later. In the heap,
 * the block's address stands before the aligned data. */
static void *alloc_zeroed(uint64_t bytes) {
  if (bytes >= MAPPED_LEAST) {
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (mapped == MAP_FAILED) return NULL;
    ty_huge_pages(mapped, bytes);
    return mapped;
  }
  uint8_t *block = calloc(1, (size_t)bytes + TY_ALIGN + sizeof block);
  if (block == NULL) return NULL;
  uint8_t *data = block + sizeof block;
  data += (TY_ALIGN - (uintptr_t)data % TY_ALIGN) % TY_ALIGN;
  memcpy(data - sizeof block, &block, sizeof block);
  return data;
}

static void free_zeroed(void *data, uint64_t bytes) {
  void *block;
  if (bytes >= MAPPED_LEAST) {
    munmap(data, (size_t)bytes);
    return;
  }
  memcpy(&block, (uint8_t *)data - sizeof block, sizeof block);
  free(block);
}

void ty_spare_open(ty_env *env) { pthread_mutex_init(&env->spare.lock, NULL); }

void ty_spare_close(ty_env *env) {
  for (uint32_t i = 0; i < env->spare.count; i++) free_zeroed(env->spare.blocks[i].data, env->spare.blocks[i].bytes);
  pthread_mutex_destroy(&env->spare.lock);
}

/* A kept block of at least so many bytes and at most twice as many, the smallest; NULL: none. */
static void *spare_take(ty_spare *s, uint64_t *bytes) {
  void *data = NULL;
  pthread_mutex_lock(&s->lock);
  uint32_t best = s->count;
  for (uint32_t i = 0; i < s->count; i++) {
    uint64_t has = s->blocks[i].bytes;
    if (has >= *bytes && has / 2 <= *bytes && (best == s->count || has < s->blocks[best].bytes)) best = i;
  }
  if (best < s->count) {
    data = s->blocks[best].data;
    *bytes = s->blocks[best].bytes;
    s->bytes -= *bytes;
    s->blocks[best] = s->blocks[--s->count];
  }
  pthread_mutex_unlock(&s->lock);
  return data;
}

static bool spare_keep(ty_spare *s, void *data, uint64_t bytes) {
  if (bytes < SPARE_LEAST) return false;
  pthread_mutex_lock(&s->lock);
  bool kept = s->count < TY_SPARE_BLOCKS && bytes <= TY_SPARE_BYTES - s->bytes;
  if (kept) {
    s->blocks[s->count].data = data;
    s->blocks[s->count++].bytes = bytes;
    s->bytes += bytes;
  }
  pthread_mutex_unlock(&s->lock);
  return kept;
}

/* In steps of an eighth: calls of about as many rows have blocks of one size, which the next one finds again. */
static uint64_t spare_size(uint64_t bytes) {
  uint64_t step = ((uint64_t)1 << (63 - __builtin_clzll(bytes))) / 8;
  return (bytes + step - 1) / step * step;
}

static bool open_memory(ty_env *env, uint64_t bytes, ty_spill *out) {
  if (bytes >= SPARE_LEAST) bytes = spare_size(bytes);
  void *data = bytes < SPARE_LEAST ? NULL : spare_take(&env->spare, &bytes);
  if (data != NULL) memset(data, 0, (size_t)bytes);
  else data = alloc_zeroed(bytes);
  *out = (ty_spill){data, bytes, false};
  return data != NULL;
}

bool ty_spill_copy(ty_dir dir, const ty_spill *from, uint64_t used, uint64_t bytes, ty_spill *out) {
  if (bytes > SIZE_MAX / 2) return false;
  bytes = bytes == 0 ? TY_ALIGN : ty_align_up(bytes);
  if (!(bytes > dir.env->spill_from && open_file(dir, bytes, out)) && !open_memory(dir.env, bytes, out)) return false;
  TY_ASSERT(used <= from->bytes && used <= out->bytes && (uintptr_t)out->data % TY_ALIGN == 0);
  for (uint64_t at = 0, n; at < used; at += n) {
    n = used - at < TY_RESIDENT_MOST ? used - at : TY_RESIDENT_MOST;
    memcpy((uint8_t *)out->data + at, (uint8_t *)from->data + at, (size_t)n);
    ty_spill_evict(dir.env, from);
    ty_spill_evict(dir.env, out);
  }
  return true;
}

bool ty_spill_grow(ty_dir dir, ty_spill *s, uint64_t used, uint64_t bytes) {
  ty_spill fresh;
  if (s->data != NULL && bytes <= s->bytes) return true;
  if (!ty_spill_copy(dir, s, used, bytes, &fresh)) return false;
  ty_spill_free(dir.env, s);
  *s = fresh;
  return true;
}

void *ty_growing_room(ty_dir dir, ty_growing *g, uint64_t bytes) {
  if (g->memory.data == NULL || g->memory.bytes - g->used < bytes) {
    uint64_t wanted = g->used + g->used / 2 + bytes + 4096;
    if (!ty_spill_grow(dir, &g->memory, g->used, wanted)) return NULL;
  }
  void *at = (uint8_t *)g->memory.data + g->used;
  g->used += bytes;
  return at;
}

void ty_spill_free(ty_env *env, ty_spill *s) {
  ty_os *os = &env->os;
  if (s->in_file) os->unmap(os, s->data, (size_t)s->bytes);
  else if (s->data != NULL && !spare_keep(&env->spare, s->data, s->bytes)) free_zeroed(s->data, s->bytes);
  *s = (ty_spill){0};
}

void ty_spill_evict(ty_env *env, const ty_spill *s) {
  if (s->in_file) env->os.evict(&env->os, s->data, (size_t)s->bytes);
}
