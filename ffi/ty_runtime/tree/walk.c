/* A walk, in one or more calls: the pending folders in their order, each visited once. */
#include <time.h>

#include "tree/tree.h"
#include "work/work.h"

static uint64_t now_ns(void) {
  struct timespec t;
  if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0;
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool ty_walk_is_late(const ty_walk_call *call) {
  return call->deadline_ns != 0 && call->may_be_late && now_ns() >= call->deadline_ns;
}

void ty_walk_end(ty_tree *tree) {
  ty_visit_end(tree);
  ty_pending_clear(&tree->pending);
  ty_folders_close(&tree->env->os, &tree->walked);
  ty_nodes_free_dropped(&tree->nodes);
  tree->is_walking = false;
  tree->start = NULL;
}

static ty_status begin(ty_tree *tree, const ty_tree_walk_args *args, ty_error *err) {
  const char *wrong = ty_path_wrong(args->below, args->below_bytes);
  if (wrong != NULL) return ty_fail(err, TY_INVALID, "the path to walk is invalid: %s", wrong);
  wrong = ty_path_wrong(args->after, args->after_bytes);
  if (wrong != NULL) return ty_fail(err, TY_INVALID, "the path to begin after is invalid: %s", wrong);
  ty_walk_end(tree);
  ty_folders_close(&tree->env->os, &tree->read);
  if (args->after_bytes > 0) memcpy(tree->after, args->after, (size_t)args->after_bytes);
  tree->after_bytes = (uint32_t)args->after_bytes;
  tree->visited = tree->undecodable = tree->reached_bytes = 0;
  ty_node *start = ty_path_entry(&tree->nodes, (const char *)args->below, (uint32_t)args->below_bytes);
  if (start != NULL) {
    start->phase = ty_pending_phase(start, tree->after, tree->after_bytes);
    if (!ty_pending_add_first(&tree->pending, start)) start = NULL;
  }
  if (start == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a walk");
  tree->start = start;
  tree->is_walking = true;
  if (++tree->walk == 0) tree->walk = 1;
  return TY_OK;
}

/* The next folder that is still to be entered; NULL: none is left. */
static ty_node *next_folder(ty_tree *tree) {
  for (;;) {
    ty_node *node = ty_pending_take(&tree->pending);
    bool is_due = node == NULL || (!node->is_dropped && (node == tree->start || node->verdict == TY_TREE_ENTER));
    if (is_due) return node;
  }
}

static ty_visit visit_all(ty_tree *tree, ty_walk_call *call) {
  for (;;) {
    if (ty_cancelled(call->progress)) return TY_VISIT_CANCELLED;
    if (tree->current == NULL) tree->current = next_folder(tree);
    if (tree->current == NULL) return TY_VISIT_DONE;
    ty_visit how = ty_visit_current(tree, call);
    if (how != TY_VISIT_DONE) return how;
    if (ty_walk_is_late(call)) return TY_VISIT_LATE;
    /* What is entered of it comes before its neighbours: a walk that ends early is then whole up to where it came. */
    if (call->deadline_ns != 0 && call->events.count > 0) return TY_VISIT_FULL;
  }
}

ty_status ty_walk(ty_tree *tree, ty_tree_walk_args *args, const ty_progress *progress, ty_error *err) {
  args->reached_bytes = args->event_bytes = args->events = args->done = args->late = 0;
  args->undecodable = args->visited = 0;
  ty_walk_call call = {.events = {.out = args->out, .capacity = args->out_capacity}, .progress = progress, .err = err};
  if (args->most_ns != 0) call.deadline_ns = now_ns() + args->most_ns;
  if (args->begin != 0) {
    ty_status status = begin(tree, args, err);
    if (status != TY_OK) return status;
  } else if (!tree->is_walking) {
    return ty_fail(err, TY_STATE, "no walk of this tree is under way");
  }
  ty_visit how = visit_all(tree, &call);
  args->event_bytes = call.events.bytes;
  args->events = call.events.count;
  args->undecodable = tree->undecodable;
  args->visited = tree->visited;
  args->done = how == TY_VISIT_DONE;
  args->late = how == TY_VISIT_LATE;
  args->reached_bytes = tree->reached_bytes;
  memcpy(args->reached, tree->reached, tree->reached_bytes);
  if (how == TY_VISIT_DONE) {
    ty_folders_close(&tree->env->os, &tree->walked);
    ty_nodes_free_dropped(&tree->nodes);
  }
  if (how == TY_VISIT_CANCELLED) return ty_fail(err, TY_CANCELLED, "the walk was cancelled");
  if (how != TY_VISIT_FAILED) return TY_OK;
  ty_walk_end(tree);
  return (ty_status)err->status;
}
