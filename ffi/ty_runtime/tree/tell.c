/* What the caller says of entries. */
#include <math.h>

#include "tree/tree.h"

static ty_status check(const ty_tree_tell_args *args, ty_error *err) {
  uint64_t from = 0;
  for (uint64_t i = 0; i < args->n; from = args->path_ends[i++]) {
    uint64_t end = args->path_ends[i];
    if (args->verdicts[i] > TY_TREE_ENTER)
      return ty_fail(err, TY_INVALID, "entry %llu: there is no verdict %llu", (unsigned long long)i,
                     (unsigned long long)args->verdicts[i]);
    if (end <= from) return ty_fail(err, TY_INVALID, "entry %llu: its path is empty", (unsigned long long)i);
    const char *wrong = ty_path_wrong(args->paths + from, end - from);
    if (wrong != NULL)
      return ty_fail(err, TY_INVALID, "entry %llu: its path is invalid: %s", (unsigned long long)i, wrong);
  }
  return TY_OK;
}

/* Drops all that is known below a folder. The walk under way gives up a visit there. */
static void drop_below(ty_tree *tree, ty_node *folder) {
  folder->read = 0; /* to be visited again if it is entered after all */
  ty_nodes_drop_below(&tree->nodes, folder);
  if (tree->current != NULL && (tree->current == folder || tree->current->is_dropped)) ty_visit_end(tree);
  if (tree->start != NULL && tree->start->is_dropped) tree->start = NULL;
}

/* False: out of memory. */
static bool say(ty_tree *tree, ty_node *node, uint64_t verdict, double mark) {
  bool was_folder = node->kind == TY_KIND_FOLDER;
  node->verdict = (uint8_t)verdict;
  if (verdict == TY_TREE_WATCH && !isnan(mark)) node->mark = mark;
  if (verdict != TY_TREE_ENTER) {
    drop_below(tree, node);
    return true;
  }
  node->kind = TY_KIND_FOLDER;
  /* Seen by the walk under way, which has no reason to come back. */
  bool is_due = tree->is_walking && was_folder && node->seen == tree->walk && node->read != tree->walk &&
                !node->is_pending && node != tree->current;
  return !is_due || ty_pending_add(&tree->pending, node, tree->after, tree->after_bytes);
}

ty_status ty_tell(ty_tree *tree, const ty_tree_tell_args *args, ty_error *err) {
  ty_status status = check(args, err);
  if (status != TY_OK) return status;
  uint64_t from = 0;
  for (uint64_t i = 0; i < args->n; from = args->path_ends[i++]) {
    const char *path = (const char *)args->paths + from;
    ty_node *node = ty_path_entry(&tree->nodes, path, (uint32_t)(args->path_ends[i] - from));
    double mark = args->marks != NULL ? args->marks[i] : (double)NAN;
    if (node == NULL || !say(tree, node, args->verdicts[i], mark))
      return ty_fail(err, TY_NO_MEMORY, "out of memory for the entries of a folder tree");
  }
  if (tree->pending.count == 0 && tree->current == NULL) ty_nodes_free_dropped(&tree->nodes);
  return TY_OK;
}
