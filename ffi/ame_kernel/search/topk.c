/* The best k hits in a binary heap whose root is the worst kept one: a rejected offer, which is nearly every one of a
 * long scan, costs one comparison. */
#include "search/steps.h"

/* Larger score, then smaller row. */
static inline int better(const ame_hit *a, const ame_hit *b) {
  return a->score > b->score || (a->score == b->score && a->row < b->row);
}

/* Puts `hit` at the root of items[0 .. count) and moves it below every worse child. */
static void sink(ame_hit *items, uint64_t count, ame_hit hit) {
  uint64_t at = 0;
  for (;;) {
    uint64_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && better(&items[child], &items[child + 1])) child++;
    if (!better(&hit, &items[child])) break;
    items[at] = items[child];
    at = child;
  }
  items[at] = hit;
}

static void rise(ame_hit *items, uint64_t at, ame_hit hit) {
  while (at > 0) {
    uint64_t parent = (at - 1) / 2;
    if (!better(&items[parent], &hit)) break;
    items[at] = items[parent];
    at = parent;
  }
  items[at] = hit;
}

/* A hit whose score is NaN cannot be ordered and is dropped. */
void kernel_topk_offer(ame_topk *heap, const ame_hit *hits, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (hits[i].score != hits[i].score) continue;
    if (heap->count < heap->k) {
      rise(heap->items, heap->count, hits[i]);
      heap->count++;
    } else if (heap->k && better(&hits[i], &heap->items[0])) {
      sink(heap->items, heap->count, hits[i]);
    }
  }
}

/* The second half of heapsort: moves the worst to the end until one is left. */
void kernel_topk_sort(ame_topk *heap) {
  for (uint64_t end = heap->count; end > 1; end--) {
    ame_hit last = heap->items[end - 1];
    heap->items[end - 1] = heap->items[0];
    sink(heap->items, end - 1, last);
  }
}
