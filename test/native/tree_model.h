/* A folder tree on disk, a ty_tree over it, and what its caller makes of the events: after a walk that nothing
 * disturbed both agree. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../ffi/ty_runtime/tree/tree.h"
#include "check.h"
#include "random.h"

#define KNOWN_MAX 4096

typedef struct known {
  char path[300];
  double mark;
  uint32_t type, verdict;
} known;

static ty_env *env;
static ty_error err;
static ty_tree *tree;
static char base[256], root[300]; /* of the program, and the root of the current tree */
static known view[KNOWN_MAX];
static int view_count;
static bool is_quiet;     /* nothing changes during the walk, so that what is gone is checked to be */
static bool may_fail;     /* system calls do */
static bool is_mounted;   /* folders are new for their device */
static uint32_t salt;     /* which entries are skipped and watched */
static char order[16384]; /* the paths of the last walk's events, each with its kind before it and a space after */
static ty_tree_walk_args args;

static char *full(const char *path) {
  static char paths[4][700];
  static int turn;
  char *to = paths[turn++ % 4];
  snprintf(to, 700, "%s%s%s", root, *path ? "/" : "", path);
  return to;
}

/* Without links on the way. */
static bool is_there(const char *path, struct stat *st) {
  char part[300];
  for (size_t i = 0; i <= strlen(path); i++) {
    if (path[i] != '/' && path[i] != 0) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (lstat(full(part), st) != 0) return false;
    if (path[i] == '/' && !S_ISDIR(st->st_mode)) return false;
  }
  return true;
}

static known *find(const char *path) {
  for (int i = 0; i < view_count; i++) {
    if (strcmp(view[i].path, path) == 0) return &view[i];
  }
  return NULL;
}

static void forget_below(const char *path) {
  size_t n = strlen(path);
  for (int i = 0; i < view_count; i++) {
    if (strncmp(view[i].path, path, n) == 0 && view[i].path[n] == '/') view[i--] = view[--view_count];
  }
}

static ty_status tell(const char *path, uint64_t verdict) {
  uint64_t end = strlen(path);
  ty_tree_tell_args said = {.n = 1, .verdicts = &verdict, .paths = (const uint8_t *)path, .path_ends = &end};
  ty_status status = ty_tree_tell(tree, &said, &err);
  known *k = find(path);
  if (status != TY_OK || k == NULL) return status;
  k->verdict = (uint32_t)verdict;
  if (verdict != TY_TREE_ENTER) forget_below(path);
  return status;
}

static uint32_t verdict_for(const char *path, uint32_t type) {
  uint32_t hash = salt;
  for (const char *p = path; *p; p++) hash = (hash ^ (uint8_t)*p) * 16777619u;
  hash = hash >> 13 & 15;
  if (salt != 0 && hash == 0) return TY_TREE_SKIP;
  if (type == TY_TREE_DIRECTORY) return salt != 0 && hash == 1 ? TY_TREE_WATCH : TY_TREE_ENTER;
  return TY_TREE_WATCH;
}

static void apply(const ty_tree_event *e, const char *path) {
  struct stat st;
  known *k = find(path);
  size_t at = strlen(order);
  if (at < sizeof order - 600) snprintf(order + at, sizeof order - at, "%u%s ", e->kind, path);
  if (e->kind == TY_TREE_UNREADABLE) {
    CHECK_MESSAGE(may_fail, "unreadable, %d: %s", e->sys_errno, path);
  } else if (e->kind == TY_TREE_GONE) {
    CHECK_MESSAGE(k != NULL && k->verdict >= TY_TREE_WATCH, "gone, but not known: %s", path);
    if (is_quiet) CHECK_MESSAGE(!is_there(path, &st), "gone, but there: %s", path);
    if (k != NULL) *k = view[--view_count];
  } else if (e->kind == TY_TREE_CHANGED) {
    CHECK_MESSAGE(k != NULL && k->verdict == TY_TREE_WATCH && k->mark != e->mark, "not changed: %s", path);
    if (k != NULL) k->mark = e->mark, k->type = e->type;
  } else {
    bool is_odd = k != NULL && k->type == e->type && k->verdict >= TY_TREE_WATCH && !is_mounted;
    CHECK_MESSAGE(!is_odd, "not new: %s", path);
    if (k == NULL && CHECK(view_count < KNOWN_MAX)) k = &view[view_count++];
    if (k == NULL) return;
    *k = (known){.mark = e->mark, .type = e->type};
    snprintf(k->path, sizeof k->path, "%s", path);
    CHECK(tell(path, verdict_for(path, e->type)) == TY_OK);
  }
}

/* One call of ty_tree_walk, with the smallest buffer. */
static ty_status call(const char *below, const char *after, uint64_t most_ns, bool begin, ty_progress *progress) {
  static uint8_t out[TY_TREE_EVENTS_MIN] __attribute__((aligned(8))), reached[TY_TREE_PATH_MAX];
  args = (ty_tree_walk_args){.begin = begin,
                             .below = (const uint8_t *)below,
                             .below_bytes = strlen(below),
                             .after = (const uint8_t *)after,
                             .after_bytes = strlen(after),
                             .most_ns = most_ns,
                             .out = out,
                             .out_capacity = sizeof out,
                             .reached = reached};
  ty_status status = ty_tree_walk(tree, &args, progress, &err);
  uint64_t at = 0;
  for (uint64_t i = 0; i < args.events; i++) {
    ty_tree_event e;
    char path[300] = {0};
    memcpy(&e, out + at, sizeof e);
    if (CHECK(e.record_bytes <= args.event_bytes - at) && e.path_bytes < sizeof path) {
      memcpy(path, out + at + sizeof e, e.path_bytes);
      apply(&e, path);
    }
    at += e.record_bytes;
  }
  CHECK(at == args.event_bytes);
  return status;
}

/* To the end. */
static ty_status walk(const char *below, const char *after, uint64_t most_ns) {
  order[0] = 0;
  ty_status status = call(below, after, most_ns, true, NULL);
  while (status == TY_OK && !(args.done && args.events == 0)) status = call("", "", most_ns, false, NULL);
  return status;
}

/* Whether the view of a folder and all below it is what is on disk. Counts its entries. */
static int agree(const char *folder) {
  DIR *d = opendir(full(folder));
  int count = 0;
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    char path[300];
    ty_lstat seen;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || !strncmp(e->d_name, "\xff", 1)) continue;
    snprintf(path, sizeof path, "%s%s%.200s", folder, *folder ? "/" : "", e->d_name);
    known *k = find(path);
    if (!CHECK_MESSAGE(k != NULL && k->verdict != TY_TREE_NONE, "not reported: %s", path)) continue;
    CHECK(env->os.state_at(&env->os, AT_FDCWD, full(path), &seen) == 0);
    if (k->verdict == TY_TREE_SKIP) continue;
    CHECK_MESSAGE(k->type == seen.kind, "type of %s: %u, is %u", path, k->type, seen.kind);
    if (k->verdict == TY_TREE_WATCH && k->type != TY_TREE_DIRECTORY)
      CHECK_MESSAGE(k->mark == ty_mark_of(&seen), "not noticed: %s", path);
    count++;
    if (k->verdict == TY_TREE_ENTER) count += agree(path);
  }
  if (d != NULL) closedir(d);
  return count;
}

/* Whether a walk of the root comes to an entry: a walk of a folder below finds some that it does not. */
static bool is_entered(const char *path) {
  char above[300];
  snprintf(above, sizeof above, "%s", path);
  for (char *slash; (slash = strrchr(above, '/')) != NULL;) {
    *slash = 0;
    const known *k = find(above);
    if (k == NULL || k->verdict != TY_TREE_ENTER) return false;
  }
  return true;
}

static void check_agrees(void) {
  int count = agree(""), watched = 0;
  for (int i = 0; i < view_count; i++) watched += view[i].verdict >= TY_TREE_WATCH && is_entered(view[i].path) ? 1 : 0;
  CHECK_MESSAGE(count == watched, "%d entries, of which %d are there", watched, count);
}

/* ---- Changes on disk ----------------------------------------------------------------------------------------------
 */
static void erase(const char *path) {
  DIR *d = opendir(path);
  struct stat st;
  char below[900];
  if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
      if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
      snprintf(below, sizeof below, "%s/%s", path, e->d_name);
      erase(below);
    }
    rmdir(path);
  } else {
    unlink(path);
  }
  if (d != NULL) closedir(d);
}

/* Each write has another size and time than the one before. */
static void put(const char *path) {
  static uint64_t writes;
  writes++;
  for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
    char folder[300] = {0};
    memcpy(folder, path, (size_t)(slash - path));
    mkdir(full(folder), 0755);
  }
  int fd = open(full(path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return;
  char text[128] = {0};
  struct timespec times[2] = {{.tv_sec = (time_t)writes}, {.tv_sec = (time_t)writes}};
  CHECK(write(fd, text, 1 + writes % 100) > 0 && futimens(fd, times) == 0);
  close(fd);
}

/* Other files than before, and a tree that knows nothing. */
static void begin(const char *paths) {
  static int counter;
  snprintf(root, sizeof root, "%s/t%d", base, counter++);
  mkdir(root, 0755);
  view_count = 0;
  salt = 0;
  is_quiet = true;
  may_fail = false;
  char copy[1024];
  snprintf(copy, sizeof copy, "%s", paths);
  for (char *path = strtok(copy, " "); path != NULL; path = strtok(NULL, " ")) put(path);
  CHECK(ty_tree_open(env, root, &tree, &err) == TY_OK);
}

static int open_files(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void end(void) {
  ty_tree_close(tree);
  erase(root);
}
