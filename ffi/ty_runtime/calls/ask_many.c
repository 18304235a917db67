/* ty_ask_many: one ranking of the rows of several collections. */
#include <inttypes.h>
#include <stdlib.h>

#include "calls/ask_run.h"
#include "calls/cost.h"
#include "calls/many.h"
#include "lexical/lexical.h"

static ty_status check(ty_many_args *many, const ty_ask_args *a, ty_error *err) {
  const ty_collection *first = many->collections[0];
  if (a->by != TY_BY_BOTH || a->under_bytes > 0)
    return ty_fail(err, TY_INVALID, "several collections are searched by both rankings and one condition");
  for (uint64_t i = 0; i < many->n; i++) {
    const ty_collection *c = many->collections[i];
    ty_status status = ty_ask_run_check(c, a, err);
    if (status == TY_OK && c->dim != first->dim)
      status = ty_fail(err, TY_INVALID, "one collection has dim %" PRIu32 ", another one %" PRIu32, first->dim, c->dim);
    if (status == TY_OK && c->metric != TY_INNER_PRODUCT)
      status = ty_fail(err, TY_INVALID, "several collections are searched by the inner product");
    if (status == TY_OK) continue;
    many->failed = i;
    return status;
  }
  return TY_OK;
}

static void begin(ty_many_args *many, ty_ask_args *a) {
  a->by_meaning = 0;
  a->meaning_weight = 0;
  a->out_bytes = a->out_count = a->fused = a->screened_rows = a->scored_rows = a->probed_lists = a->trouble = 0;
  a->words = a->known = a->replaced = a->weights = 0;
  for (uint64_t i = 0; i < many->n && many->trouble != NULL; i++) many->trouble[i] = 0;
}

/* One try. *again: a lexical index turned out to be damaged; it is not used from now on. */
static ty_status ask(ty_many_args *many, ty_ask_args *a, ty_progress *progress, bool *again, ty_error *err) {
  ty_ask_part *parts = calloc((size_t)many->n, sizeof *parts);
  if (parts == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for %" PRIu64 " collections", many->n);
  const ty_collection *first = many->collections[0];
  ty_ask_run x = {.parts = parts,
                  .n = many->n,
                  .is_many = true,
                  .progress = progress,
                  .env = first->env,
                  .dim = first->dim,
                  .a = a};
  for (uint64_t i = 0; i < many->n; i++) {
    ty_collection *c = many->collections[i];
    parts[i] = (ty_ask_part){.c = c, .column = many->columns[i], .trouble = c->ivf_lost.lost ? TY_TROUBLE_IVF : 0};
    if (ty_lexical_usable(c->lexical_index)) parts[i].words.x = c->lexical_index;
    else if (c->lexical_index != NULL) parts[i].trouble |= TY_TROUBLE_WORDS;
  }
  ty_status status = ty_ask_run_all(&x, err);
  for (uint64_t i = 0; i < many->n; i++) {
    ty_ask_part *part = &parts[i];
    if (many->trouble != NULL) many->trouble[i] = part->trouble;
    if (status == TY_OK || !(part->failed || part->words.failed)) continue;
    if (many->failed == many->n) many->failed = i;
    if (status != TY_INDEX) continue;
    ty_lexical_found_damage(part->words.x);
    *again = true;
  }
  ty_ask_run_close(&x);
  free(parts);
  return status;
}

ty_status ty_ask_many(ty_many_args *many, ty_ask_args *a, ty_progress *progress, ty_error *err) {
  ty_entered entered;
  begin(many, a);
  many->failed = many->n;
  ty_status status = ty_cost_check(many->n > 1 ? many->n * TY_COST_COLLECTION : 0, a->most_bytes, err);
  if (status == TY_OK) status = ty_enter_many(many, progress, &entered, err);
  if (status != TY_OK) return status;
  status = check(many, a, err);
  for (bool again = status == TY_OK; again;) {
    again = false;
    begin(many, a);
    many->failed = many->n;
    status = ask(many, a, progress, &again, err);
  }
  return ty_leave_many(&entered, status, err);
}
