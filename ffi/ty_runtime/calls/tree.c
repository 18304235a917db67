/* Trees of files: the arguments of each call, and what tree/tree.h does with them. */
#include <stdlib.h>

#include "tree/tree.h"

ty_status ty_tree_open(ty_env *env, const char *root, ty_tree **out, ty_error *err) {
  *out = NULL;
  size_t bytes = strlen(root);
  if (bytes == 0 || bytes >= TY_PATH_MAX)
    return ty_fail(err, TY_INVALID, "the root of a folder tree has a path of 1 to %u bytes, not %llu", TY_PATH_MAX - 1,
                   (unsigned long long)bytes);
  ty_tree *tree = calloc(1, sizeof *tree);
  if (tree == NULL || !ty_nodes_open(&tree->nodes, env->kernel)) {
    free(tree);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a folder tree");
  }
  tree->env = env;
  memcpy(tree->root, root, bytes);
  *out = tree;
  return TY_OK;
}

void ty_tree_close(ty_tree *tree) {
  if (tree == NULL) return;
  ty_tree_rest(tree);
  ty_pending_free(&tree->pending);
  ty_nodes_close(&tree->nodes);
  free(tree);
}

void ty_tree_rest(ty_tree *tree) {
  ty_walk_end(tree);
  ty_folders_close(&tree->env->os, &tree->read);
}

ty_status ty_tree_tell(ty_tree *tree, const ty_tree_tell_args *args, ty_error *err) { return ty_tell(tree, args, err); }

ty_status ty_tree_walk(ty_tree *tree, ty_tree_walk_args *args, ty_progress *progress, ty_error *err) {
  if (args->out_capacity < TY_TREE_EVENTS_MIN)
    return ty_fail(err, TY_INVALID, "a buffer for events has at least %u bytes, not %llu", TY_TREE_EVENTS_MIN,
                   (unsigned long long)args->out_capacity);
  return ty_walk(tree, args, progress, err);
}

ty_status ty_tree_read(ty_tree *tree, ty_tree_read_args *args, ty_error *err) { return ty_read_below(tree, args, err); }
