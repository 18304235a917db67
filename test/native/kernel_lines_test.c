/* Codes that lie dimension by dimension: their inner products and the screening by them, on every CPU path that runs
 * here. */
#include "kernel_common.h"
#include "kernel_lines_dots.h"
#include "kernel_lines_screen.h"

int main(void) {
  kernel = ame_kernel_table();
  test_line_bytes();
  test_dot_lines();
  test_dot_lines_long();
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) {
      fprintf(stderr, "%s: not on this machine\n", path);
      continue;
    }
    test_screen_lines(path);
    test_screen_lines_nan(path);
  }
  return check_report();
}
