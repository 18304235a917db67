/* The visit of one folder: it is opened, its entries are compared with what is known of them, and at the end what was
 * not among them is gone. Each step can be repeated, so that a visit goes on after the buffer was full. */
#include <errno.h>

#include "os/assert.h"
#include "tree/tree.h"
#include "work/work.h"

/* Entries between two looks at the clock. */
#define STEPS 64u

static void report(ty_walk_call *call, const ty_node *node, const ty_tree_event *event) {
  char path[TY_TREE_PATH_MAX + 1];
  ty_events_add(&call->events, event, path, ty_path_of(node, path));
}

static void report_unreadable(ty_walk_call *call, const ty_node *node, int code) {
  ty_tree_event event = {.kind = TY_TREE_UNREADABLE, .type = node->kind, .sys_errno = code};
  report(call, node, &event);
}

/* Of an entry that is not known, maybe with a path that no entry may have. */
static void report_unknown(ty_tree *tree, ty_walk_call *call, const char *name, uint32_t bytes, ty_kind kind,
                           int code) {
  char path[TY_EVENT_PATH_MAX];
  uint32_t at = tree->walked.ends[tree->walked.count - 1];
  memcpy(path, tree->walked.path, at);
  if (at > 0) path[at++] = '/';
  memcpy(path + at, name, bytes);
  ty_tree_event event = {.kind = TY_TREE_UNREADABLE, .type = kind, .sys_errno = code};
  ty_events_add(&call->events, &event, path, at + bytes);
}

/* As new, or as changed. */
static void report_seen(ty_tree *tree, ty_walk_call *call, ty_node *node, const ty_lstat *seen, uint32_t kind) {
  bool is_other = seen->kind == TY_KIND_FOLDER && node->parent != NULL && seen->device != node->parent->device;
  ty_tree_event event = {.kind = kind,
                         .type = seen->kind,
                         .size = (double)seen->size,
                         .mark = ty_mark_of(seen),
                         .changed_ms = ty_changed_ms(seen),
                         .device_changed = is_other};
  report(call, node, &event);
  node->mark = event.mark;
  node->kind = (uint8_t)seen->kind;
  node->seen = tree->walk;
  if (kind == TY_TREE_CHANGED) return;
  node->verdict = TY_TREE_NONE;
  node->device = seen->device;
  node->has_device = seen->kind == TY_KIND_FOLDER;
}

void ty_visit_end(ty_tree *tree) {
  tree->env->os.entries_end(&tree->env->os, &tree->reading);
  tree->current = tree->last = NULL;
  tree->is_open = tree->is_read = false;
  tree->at = tree->filled = 0;
}

static ty_visit finish(ty_tree *tree) {
  tree->current->read = tree->walk;
  ty_visit_end(tree);
  return TY_VISIT_DONE;
}

/* A folder that cannot be opened or read. */
static ty_visit refuse(ty_tree *tree, ty_walk_call *call, const char *what, int code) {
  if (tree->current == tree->start) {
    const char *path = tree->walked.count > 0 && tree->current->parent != NULL ? tree->current->name : tree->root;
    (void)ty_fail_io(call->err, -code, what, path);
    return TY_VISIT_FAILED;
  }
  report_unreadable(call, tree->current, code);
  return finish(tree);
}

/* A folder that could not be opened by its name: gone, or replaced by something else, since its entry was read? */
static ty_visit look_again(ty_tree *tree, ty_walk_call *call, int code) {
  ty_node *node = tree->current;
  ty_os *os = &tree->env->os;
  bool may_be_other = code == ENOENT || code == ENOTDIR || code == ELOOP;
  if (node == tree->start || !may_be_other) return refuse(tree, call, "open the folder", code);
  /* A folder above, which this walk has read, is no longer there: the next walk finds that out. */
  if (tree->walked.count != node->levels) return finish(tree);
  ty_lstat seen;
  int result = os->state_at(os, tree->walked.fds[tree->walked.count - 1], node->name, &seen);
  if (result == -ENOENT) {
    ty_visit_end(tree);
    if (ty_gone_entry(tree, call, node)) return TY_VISIT_DONE;
    tree->current = node;
    return TY_VISIT_FULL;
  }
  if (result < 0 || seen.kind == TY_KIND_FOLDER) return refuse(tree, call, "open the folder", code);
  if (!ty_gone_below(tree, call, node) || !ty_events_have_room(&call->events)) return TY_VISIT_FULL;
  report_seen(tree, call, node, &seen, TY_TREE_NEW);
  return finish(tree);
}

/* TY_VISIT_DONE with `is_open`: its entries are to be read. */
static ty_visit open_current(ty_tree *tree, ty_walk_call *call) {
  ty_node *node = tree->current;
  ty_os *os = &tree->env->os;
  char path[TY_TREE_PATH_MAX + 1];
  uint32_t bytes = ty_path_of(node, path);
  if (!ty_events_have_room(&call->events)) return TY_VISIT_FULL;
  if (node->levels == TY_TREE_LEVELS_MAX) return refuse(tree, call, "open the folder", ENAMETOOLONG);
  int fd = ty_folders_open(os, tree->root, &tree->walked, path, bytes, true);
  if (fd < 0) return look_again(tree, call, -fd);
  ty_lstat seen;
  int result = os->state_at(os, fd, NULL, &seen);
  if (result < 0) return refuse(tree, call, "stat the folder", -result);
  bool is_other =
      node->has_device ? node->device != seen.device : node != tree->start && node->parent->device != seen.device;
  if (is_other && node != tree->start) {
    report_seen(tree, call, node, &seen, TY_TREE_NEW);
    ty_visit_end(tree); /* not read: it is visited once the caller has it entered */
    return TY_VISIT_DONE;
  }
  node->device = seen.device;
  node->has_device = true;
  tree->is_open = true;
  return TY_VISIT_DONE;
}

/* Whether a known entry of this kind needs no lstat. */
static bool passes(const ty_node *node, ty_kind kind) {
  switch (node->verdict) {
  case TY_TREE_SKIP: return node->kind == kind || node->kind == TY_KIND_UNKNOWN;
  case TY_TREE_WATCH:
  case TY_TREE_ENTER: return kind == TY_KIND_FOLDER && node->kind == kind;
  default: return false;
  }
}

static ty_visit no_memory(ty_walk_call *call) {
  (void)ty_fail(call->err, TY_NO_MEMORY, "out of memory for the entries of a folder tree");
  return TY_VISIT_FAILED;
}

static ty_visit pass(ty_tree *tree, ty_walk_call *call, ty_node *node, ty_kind kind) {
  bool is_due = node->verdict == TY_TREE_ENTER && !node->is_pending && node->read != tree->walk;
  if (is_due && !ty_pending_add(&tree->pending, node, tree->after, tree->after_bytes)) return no_memory(call);
  node->kind = (uint8_t)kind;
  node->seen = tree->walk;
  return TY_VISIT_DONE;
}

/* An entry that is not known, or not as it was. */
static ty_visit renew(ty_tree *tree, ty_walk_call *call, ty_node *node, const char *name, uint32_t bytes,
                      const ty_lstat *seen) {
  uint32_t above = tree->walked.ends[tree->walked.count - 1];
  if (node == NULL && above + 1 + bytes > TY_TREE_PATH_MAX) {
    report_unknown(tree, call, name, bytes, seen->kind, ENAMETOOLONG);
    return TY_VISIT_DONE;
  }
  if (node == NULL) node = ty_nodes_add(&tree->nodes, tree->current, tree->last, name, bytes);
  if (node == NULL) return no_memory(call);
  tree->last = node;
  if (seen->kind != TY_KIND_FOLDER && !ty_gone_below(tree, call, node)) return TY_VISIT_FULL;
  if (!ty_events_have_room(&call->events)) return TY_VISIT_FULL;
  report_seen(tree, call, node, seen, TY_TREE_NEW);
  return TY_VISIT_DONE;
}

/* Entries come in the same order as the last time, as a rule, and their nodes lie in that order: of 50,000 files the
 * table, with a cache miss for each, took a tenth of the walk. */
static ty_node *known(const ty_tree *tree, const char *name, uint32_t bytes) {
  ty_node *next = tree->last == NULL ? tree->current->first : tree->last->next;
  if (next != NULL && ty_node_is(next, name, bytes)) return next;
  return ty_nodes_find(&tree->nodes, tree->current, name, bytes);
}

/* Compares one entry with what is known of it. */
static ty_visit compare(ty_tree *tree, ty_walk_call *call, const ty_entry *entry) {
  ty_os *os = &tree->env->os;
  const char *name = entry->name;
  uint32_t bytes = (uint32_t)strlen(name);
  ty_kind kind = ty_entry_kind(entry->type);
  ty_node *node = known(tree, name, bytes);
  if (node != NULL) tree->last = node;
  if (node == NULL && !ty_path_is_utf8(name, bytes)) {
    tree->undecodable++;
    return TY_VISIT_DONE;
  }
  if (node != NULL && passes(node, kind)) return pass(tree, call, node, kind);
  ty_lstat seen;
  int result = os->state_at(os, tree->walked.fds[tree->walked.count - 1], name, &seen);
  if (result == -ENOENT) return TY_VISIT_DONE; /* removed since: not seen */
  if (result < 0) {
    if (node == NULL) report_unknown(tree, call, name, bytes, kind, -result);
    else report_unreadable(call, node, -result);
    if (node != NULL) node->seen = tree->walk;
    return TY_VISIT_DONE;
  }
  if (node != NULL && passes(node, seen.kind)) return pass(tree, call, node, seen.kind);
  /* Of an entry that was never seen, the caller meant no folder: what is below one would be left out silently. */
  bool is_watched = node != NULL && node->verdict == TY_TREE_WATCH && seen.kind != TY_KIND_FOLDER &&
                    (node->kind == TY_KIND_UNKNOWN || node->kind == seen.kind);
  if (!is_watched) return renew(tree, call, node, name, bytes, &seen);
  node->kind = (uint8_t)seen.kind;
  node->seen = tree->walk;
  if (node->mark != ty_mark_of(&seen)) report_seen(tree, call, node, &seen, TY_TREE_CHANGED);
  return TY_VISIT_DONE;
}

static bool is_dots(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

/* The entries could not be read to the end. */
static ty_visit unread(ty_tree *tree, ty_walk_call *call, int code) {
  /* Removed while it is open: the next walk finds that out in the folder above. */
  if (code == ENOENT && tree->current != tree->start) return finish(tree);
  return ty_events_have_room(&call->events) ? refuse(tree, call, "read the folder", code) : TY_VISIT_FULL;
}

static ty_visit read_entries(ty_tree *tree, ty_walk_call *call) {
  ty_os *os = &tree->env->os;
  for (uint32_t step = 1;; step++) {
    if (tree->at == tree->filled) {
      int fd = tree->walked.fds[tree->walked.count - 1];
      int64_t bytes = os->entries(os, fd, tree->entries, sizeof tree->entries, &tree->reading);
      if (bytes < 0) return unread(tree, call, (int)-bytes);
      tree->is_read = bytes == 0;
      if (tree->is_read) return TY_VISIT_DONE;
      tree->at = 0;
      tree->filled = (uint32_t)bytes;
    }
    if (step % STEPS == 0 && ty_cancelled(call->progress)) return TY_VISIT_CANCELLED;
    if (step % STEPS == 0 && ty_walk_is_late(call)) return TY_VISIT_LATE;
    if (!ty_events_have_room(&call->events)) return TY_VISIT_FULL;
    const ty_entry *entry = (const ty_entry *)(const void *)(tree->entries + tree->at);
    TY_ASSERT(entry->bytes > offsetof(ty_entry, name) && entry->bytes <= tree->filled - tree->at);
    if (!is_dots(entry->name)) {
      ty_visit how = compare(tree, call, entry);
      if (how != TY_VISIT_DONE) return how;
      tree->visited++;
    }
    tree->at += entry->bytes;
  }
}

ty_visit ty_visit_current(ty_tree *tree, ty_walk_call *call) {
  if (!tree->is_open) {
    ty_visit how = open_current(tree, call);
    if (how != TY_VISIT_DONE || !tree->is_open) return how;
  }
  if (!tree->is_read) {
    ty_visit how = read_entries(tree, call);
    if (how != TY_VISIT_DONE || !tree->is_read) return how;
  }
  ty_node *node = tree->current;
  if (!ty_gone_unseen(tree, call, node)) return TY_VISIT_FULL;
  tree->reached_bytes = ty_path_of(node, tree->reached);
  call->may_be_late |= node->phase != TY_PHASE_ABOVE;
  return finish(tree);
}
