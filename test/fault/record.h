/* The calls of a workload as a list of events, and which of them are sure to be on the disk at each point: what a sync
 * of the file or of the directory has covered. Everything else may be there or not after a power cut, each event by
 * itself, a write in pieces. */
#pragma once

#include "workload.h"

typedef enum event_kind {
  EVENT_WRITE,    /* of a file: offset, bytes, data */
  EVENT_TRUNCATE, /* to `bytes` */
  EVENT_LINK,     /* in directory `at`: `name` is `object` */
  EVENT_UNLINK,
  EVENT_RENAME, /* in `at`: `name` becomes `to`, which is `object` */
  EVENT_SYNC,   /* of `object`, a file or a directory: events before `began` are on the disk */
  EVENT_BEGIN,  /* an operation on collection `object` begins */
  EVENT_END     /* and has returned; state number `bytes` holds, and where `unsure`, or the one before */
} event_kind;

typedef struct event {
  event_kind kind;
  uint32_t object, at;
  uint64_t offset, bytes, began; /* of an end: bytes is the number of a state */
  uint8_t *data;
  char name[64], to[64];
  bool failed; /* of a sync */
  bool sure;   /* while the log is replayed: it is on the disk */
  bool unsure;
} event;

#define EVENTS_MAX  60000u
#define OBJECTS_MAX 8000u
#define FDS_MAX     1024u

typedef struct object { /* a file or a directory */
  bool directory;
  bool doubted;   /* while the log is replayed: a sync of the file failed, after which none makes anything sure */
  char path[400]; /* of a directory */
} object;

static struct {
  event *events;
  uint32_t count;
  object objects[OBJECTS_MAX];
  uint32_t object_count;
  uint32_t fds[FDS_MAX]; /* + 1 */
  pthread_mutex_t lock;
  /* Names as they are now, while recording. */
  struct {
    uint32_t at, object;
    char name[64];
  } names[256];
  uint32_t name_count;
} record = {.lock = PTHREAD_MUTEX_INITIALIZER};

static event *event_add(event_kind kind, uint32_t object) {
  if (record.count == EVENTS_MAX || object >= OBJECTS_MAX) {
    fprintf(stderr, "the workload has too many events\n");
    exit(2);
  }
  event *e = &record.events[record.count++];
  *e = (event){.kind = kind, .object = object};
  return e;
}

static uint32_t directory_of(const char *path) {
  for (uint32_t i = 0; i < record.object_count; i++) {
    if (record.objects[i].directory && strcmp(record.objects[i].path, path) == 0) return i;
  }
  object *o = &record.objects[record.object_count];
  o->directory = true;
  snprintf(o->path, sizeof o->path, "%s", path);
  return record.object_count++;
}

/* Takes a path apart: its directory, and its last component. */
static uint32_t take_apart(const char *path, const char **name) {
  char parent[640];
  snprintf(parent, sizeof parent, "%s", path);
  char *slash = strrchr(parent, '/');
  *name = strrchr(path, '/') + 1;
  *slash = 0;
  return directory_of(parent);
}

static int name_find(uint32_t at, const char *name) {
  for (uint32_t i = 0; i < record.name_count; i++) {
    if (record.names[i].at == at && strcmp(record.names[i].name, name) == 0) return (int)i;
  }
  return -1;
}

static void name_set(uint32_t at, const char *name, uint32_t object) {
  int i = name_find(at, name);
  if (i < 0) i = (int)record.name_count++;
  if ((uint32_t)i >= sizeof record.names / sizeof *record.names) exit(2);
  record.names[i].at = at;
  record.names[i].object = object;
  snprintf(record.names[i].name, sizeof record.names[i].name, "%s", name);
}

static void name_drop(uint32_t at, const char *name) {
  int i = name_find(at, name);
  if (i >= 0) record.names[i] = record.names[--record.name_count];
}

static void on_opened(int fd, const char *path, bool may_create) {
  const char *name;
  struct stat st;
  pthread_mutex_lock(&record.lock);
  uint32_t o;
  if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
    o = directory_of(path);
  } else {
    uint32_t at = take_apart(path, &name);
    int i = name_find(at, name);
    if (i >= 0) {
      o = record.names[i].object;
    } else {
      o = record.object_count++;
      event *e = event_add(EVENT_LINK, o);
      e->at = at;
      snprintf(e->name, sizeof e->name, "%s", name);
      name_set(at, name, o);
      if (!may_create) fprintf(stderr, "%s was not recorded\n", path);
    }
  }
  if (fd < (int)FDS_MAX) record.fds[fd] = o + 1;
  pthread_mutex_unlock(&record.lock);
}

static void on_closed(int fd) {
  pthread_mutex_lock(&record.lock);
  if (fd < (int)FDS_MAX) record.fds[fd] = 0;
  pthread_mutex_unlock(&record.lock);
}

static void on_wrote(int fd, const void *data, size_t bytes, uint64_t offset) {
  pthread_mutex_lock(&record.lock);
  event *e = event_add(EVENT_WRITE, record.fds[fd] - 1);
  e->offset = offset;
  e->bytes = bytes;
  e->data = malloc(bytes + 1);
  memcpy(e->data, data, bytes);
  pthread_mutex_unlock(&record.lock);
}

static void on_truncated(int fd, uint64_t bytes) {
  pthread_mutex_lock(&record.lock);
  event_add(EVENT_TRUNCATE, record.fds[fd] - 1)->bytes = bytes;
  pthread_mutex_unlock(&record.lock);
}

static uint64_t on_sync_begins(int fd) {
  (void)fd;
  pthread_mutex_lock(&record.lock);
  uint64_t began = record.count;
  pthread_mutex_unlock(&record.lock);
  return began;
}

static void on_sync_ends(int fd, uint64_t began, bool failed) {
  if (record.fds[fd] == 0) return; /* of a file that was open before */
  pthread_mutex_lock(&record.lock);
  event *e = event_add(EVENT_SYNC, record.fds[fd] - 1);
  e->began = began;
  e->failed = failed;
  pthread_mutex_unlock(&record.lock);
}

static void on_renamed(const char *from, const char *to) {
  const char *name, *other;
  pthread_mutex_lock(&record.lock);
  uint32_t at = take_apart(from, &name);
  take_apart(to, &other);
  int i = name_find(at, name);
  event *e = event_add(EVENT_RENAME, i < 0 ? 0 : record.names[i].object);
  e->at = at;
  snprintf(e->name, sizeof e->name, "%s", name);
  snprintf(e->to, sizeof e->to, "%s", other);
  name_drop(at, name);
  name_set(at, other, e->object);
  pthread_mutex_unlock(&record.lock);
}

static void on_linked(const char *from, const char *to) {
  const char *name, *other;
  pthread_mutex_lock(&record.lock);
  int i = name_find(take_apart(from, &name), name);
  uint32_t at = take_apart(to, &other);
  event *e = event_add(EVENT_LINK, i < 0 ? 0 : record.names[i].object);
  e->at = at;
  snprintf(e->name, sizeof e->name, "%s", other);
  name_set(at, other, e->object);
  pthread_mutex_unlock(&record.lock);
}

static void on_unlinked(const char *path) {
  const char *name;
  pthread_mutex_lock(&record.lock);
  uint32_t at = take_apart(path, &name);
  event *e = event_add(EVENT_UNLINK, 0);
  e->at = at;
  snprintf(e->name, sizeof e->name, "%s", name);
  name_drop(at, name);
  pthread_mutex_unlock(&record.lock);
}

static void on_made(const char *path) {
  const char *name;
  pthread_mutex_lock(&record.lock);
  uint32_t at = take_apart(path, &name);
  event *e = event_add(EVENT_LINK, directory_of(path));
  e->at = at;
  snprintf(e->name, sizeof e->name, "%s", name);
  pthread_mutex_unlock(&record.lock);
}

static const call_recorder recording = {on_opened,    on_closed,  on_wrote,  on_truncated, on_sync_begins,
                                        on_sync_ends, on_renamed, on_linked, on_unlinked,  on_made};

/* Marks what event i makes sure, where it is a sync. */
static void event_settle(uint32_t i) {
  const event *s = &record.events[i];
  if (s->kind != EVENT_SYNC) return;
  object *o = &record.objects[s->object];
  bool directory = o->directory;
  o->doubted |= s->failed && !directory;
  if (s->failed || o->doubted) return;
  for (uint32_t j = 0; j < s->began; j++) {
    event *e = &record.events[j];
    bool covered =
        directory ? (e->kind == EVENT_LINK || e->kind == EVENT_UNLINK || e->kind == EVENT_RENAME) && e->at == s->object
                  : (e->kind == EVENT_WRITE || e->kind == EVENT_TRUNCATE) && e->object == s->object;
    e->sure |= covered;
  }
}
