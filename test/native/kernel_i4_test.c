/* Four bits a dimension: the codes, the screening by them and the rotation before them; and screening by one bit. On
 * every CPU path that runs here. */
#include "kernel_common.h"
#include "kernel_i4_rows.h"
#include "kernel_i4_screen.h"
#include "kernel_rotate.h"
#include "kernel_signs.h"

int main(void) {
  kernel = ame_kernel_table();
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) {
      fprintf(stderr, "%s: not on this machine\n", path);
      continue;
    }
    test_quantize_i4(path);
    test_screen_i4(path);
    test_screen_i4_worst(path);
    test_screen_i4_extremes(path);
    test_rotate(path);
    test_rotate_spreads(path);
    test_signs(path);
  }
  return check_report();
}
