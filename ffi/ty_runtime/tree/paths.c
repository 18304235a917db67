#include "tree/paths.h"

#include "os/assert.h"

static bool is_tail(char byte) { return ((uint8_t)byte & 0xc0) == 0x80; }

/* Bytes of the character at the beginning; 0: none. */
static uint32_t character(const char *p, uint64_t left) {
  uint8_t a = (uint8_t)p[0], b = left > 1 ? (uint8_t)p[1] : 0;
  if (a == 0) return 0;
  if (a < 0x80) return 1;
  if (a < 0xc2 || a > 0xf4) return 0;
  uint32_t bytes = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
  if (left < bytes) return 0;
  for (uint32_t i = 1; i < bytes; i++) {
    if (!is_tail(p[i])) return 0;
  }
  bool is_long = (a == 0xe0 && b < 0xa0) || (a == 0xf0 && b < 0x90);
  bool is_none = (a == 0xed && b >= 0xa0) || (a == 0xf4 && b >= 0x90);
  return is_long || is_none ? 0 : bytes;
}

bool ty_path_is_utf8(const char *bytes, uint64_t count) {
  for (uint64_t at = 0; at < count;) {
    uint32_t step = character(bytes + at, count - at);
    if (step == 0) return false;
    at += step;
  }
  return true;
}

uint32_t ty_path_component(const char *path, uint32_t bytes, uint32_t at) {
  if (at >= bytes) return 0;
  const char *slash = memchr(path + at, '/', bytes - at);
  return slash == NULL ? bytes - at : (uint32_t)(slash - path) - at;
}

const char *ty_path_wrong(const uint8_t *path, uint64_t bytes) {
  const char *p = (const char *)path;
  if (bytes == 0) return NULL;
  if (bytes > TY_TREE_PATH_MAX) return "it is longer than 4,000 bytes";
  if (!ty_path_is_utf8(p, bytes)) return "it is not UTF-8 or has a NUL";
  uint32_t levels = 0, end = (uint32_t)bytes;
  for (uint32_t at = 0; at <= end; levels++) {
    uint32_t n = ty_path_component(p, end, at);
    if (n == 0) return "a component is empty";
    if (n > 255) return "a component is longer than 255 bytes";
    if (p[at] == '.' && (n == 1 || (n == 2 && p[at + 1] == '.'))) return "a component is . or ..";
    at += n + 1;
  }
  return levels > TY_TREE_LEVELS_MAX ? "it has more than 200 components" : NULL;
}

uint32_t ty_path_of(const ty_node *node, char out[TY_TREE_PATH_MAX + 1]) {
  uint32_t bytes = 0;
  for (const ty_node *n = node; n->parent != NULL; n = n->parent) bytes += n->name_bytes + (bytes > 0 ? 1u : 0u);
  TY_ASSERT(bytes <= TY_TREE_PATH_MAX);
  uint32_t at = bytes;
  out[at] = 0;
  for (const ty_node *n = node; n->parent != NULL; n = n->parent) {
    if (at < bytes) out[--at] = '/';
    at -= n->name_bytes;
    memcpy(out + at, n->name, n->name_bytes);
  }
  return bytes;
}

int ty_path_compare_names(const char *a, uint32_t a_bytes, const char *b, uint32_t b_bytes) {
  int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
  return order != 0 ? order : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

int ty_path_compare(const ty_node *a, const ty_node *b) {
  int levels = (int)a->levels - (int)b->levels;
  while (a->levels > b->levels) a = a->parent;
  while (b->levels > a->levels) b = b->parent;
  if (a == b) return levels;
  while (a->parent != b->parent) {
    a = a->parent;
    b = b->parent;
  }
  return ty_path_compare_names(a->name, a->name_bytes, b->name, b->name_bytes);
}

ty_node *ty_path_entry(ty_nodes *nodes, const char *path, uint32_t bytes) {
  ty_node *node = nodes->root;
  for (uint32_t at = 0; at < bytes && node != NULL;) {
    uint32_t n = ty_path_component(path, bytes, at);
    ty_node *next = ty_nodes_find(nodes, node, path + at, n);
    node = next != NULL ? next : ty_nodes_add(nodes, node, NULL, path + at, n);
    at += n + 1;
  }
  return node;
}
