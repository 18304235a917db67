#include <stdio.h>

#include "os/env.h"

void ty_path(const char *dir, const char *name, char out[TY_PATH_MAX]) {
  snprintf(out, TY_PATH_MAX, "%s/%s", dir, name);
}
