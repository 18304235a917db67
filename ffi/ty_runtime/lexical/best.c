/* The best k rows in a binary heap, like the kernel's topk, but with integer scores of more bits than a float has. */
#include "lexical/question.h"

static bool better(const ty_ranked *a, const ty_ranked *b) {
  return a->score != b->score ? a->score > b->score : a->birth < b->birth;
}

static void sink_item(ty_ranked *items, uint64_t count, ty_ranked moving) {
  uint64_t at = 0;
  for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && better(&items[child], &items[child + 1])) child++;
    if (!better(&moving, &items[child])) break;
    items[at] = items[child];
  }
  items[at] = moving;
}

void ty_best_offer(ty_best *b, const ty_ranked *one) {
  TY_ASSERT(b->count <= b->k);
  if (b->count == b->k) {
    if (better(one, &b->items[0])) sink_item(b->items, b->count, *one);
    return;
  }
  uint64_t at = b->count++;
  for (uint64_t parent; at > 0 && better(&b->items[parent = (at - 1) / 2], one); at = parent)
    b->items[at] = b->items[parent];
  b->items[at] = *one;
}

void ty_best_sort(ty_best *b) {
  for (uint64_t end = b->count; end > 1; end--) {
    ty_ranked last = b->items[end - 1];
    b->items[end - 1] = b->items[0];
    TY_ASSERT(end == b->count || !better(&b->items[end], &b->items[end - 1]));
    sink_item(b->items, end - 1, last);
  }
}
