/* tokens < LINES   the terms of each line as the kernel gives them to an index, with spaces between
 *
 * Linked with the kernel's own files: the tables hold what a question is split into. */
#include "ame_kernel.h"

#include <stdio.h>
#include <string.h>

static void print(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  (void)form;
  (void)hash;
  int *any = ctx;
  printf("%s%.*s", *any ? " " : "", (int)bytes, (const char *)term);
  *any = 1;
}

int main(void) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin)) {
    int any = 0;
    ame_tokenize((const uint8_t *)line, strcspn(line, "\n"), print, &any);
    putchar('\n');
  }
  return 0;
}
