/* The workload: operations of every kind on two collections, each by two handles in turn that follow each other, and
 * what each has to lead to. */
#pragma once

#include "calls.h"
#include "os/fail.h"
#include "rows/damage.h"
#include "remembered.h"

enum {
  OP_ADD,
  OP_UPSERT,
  OP_UPDATE,
  OP_DELETE,
  OP_MIXED, /* several calls in one save */
  OP_NOTE,
  OP_SET,
  OP_FILL, /* vectors of meaning of rows that have none */
  OP_COMPACT,
  OP_CHANGE_AND_COMPACT, /* and the history stays */
  OP_BESIDE,             /* a rewrite beside a save */
  OP_PURGE,
  OP_ADOPT,
  OP_IVF,
  OP_LEXICAL,
  OP_COPY,
  OP_ROLLBACK,
  OP_READ,
  OP_KINDS
};
static const char *const op_names[OP_KINDS] = {"add",
                                               "upsert",
                                               "update",
                                               "delete",
                                               "several calls",
                                               "note",
                                               "set",
                                               "fill",
                                               "compaction",
                                               "change and compaction",
                                               "compaction beside a save",
                                               "purge",
                                               "adopt",
                                               "IVF",
                                               "lexical",
                                               "copy",
                                               "rollback",
                                               "question"};

/* What is repeated: every kind, saves more often than rewrites. Their number is odd, so that a failing call of every
 * 14th operation meets them all. */
static const uint8_t cycle[] = {OP_UPSERT,  OP_ADD,
                                OP_DELETE,  OP_NOTE,
                                OP_UPDATE,  OP_FILL,
                                OP_COMPACT, OP_MIXED,
                                OP_ADD,     OP_READ,
                                OP_DELETE,  OP_BESIDE,
                                OP_IVF,     OP_UPSERT,
                                OP_SET,     OP_ROLLBACK,
                                OP_COPY,    OP_UPDATE,
                                OP_LEXICAL, OP_UPSERT,
                                OP_NOTE,    OP_CHANGE_AND_COMPACT,
                                OP_PURGE,   OP_ADOPT,
                                OP_BESIDE};
#define CYCLE (sizeof cycle / sizeof *cycle)
/* From how many operations on the second collection is another one, so that first saves come up again. */
#define ANEW 40u

/* What a collection holds. */
typedef struct content {
  model m;
  remembered remembered;
  uint32_t note, recall; /* recall: percent */
  bool saved;
} content;
static const content nothing = {.recall = 100};

/* What the next operation's rows are made of; with equal ones the operation is the same. */
typedef struct source {
  uint64_t rng, clock;
  uint32_t version;
} source;
static source source_now(void) { return (source){rng_state, model_clock, next_version}; }
static void source_set(source s) {
  rng_state = s.rng;
  model_clock = s.clock;
  next_version = s.version;
}

/* Operation number k of a workload: its kind, and whether it is of the second collection. */
static int op_kind(uint32_t k) { return cycle[k % CYCLE]; }
static bool op_second(uint32_t k) { return k % 4 == 3 || k % ANEW == 4; }

/* Up to `most` ids that are live, or are not. */
static uint32_t pick(const model *m, bool live, uint32_t most, uint32_t *ids) {
  uint32_t count = 0, start = (uint32_t)(rng() % IDS), want = 1 + (uint32_t)(rng() % most);
  for (uint32_t i = 0; i < IDS && count < want; i++) {
    uint32_t id = (start + i * 7) % IDS;
    if ((m->version[id] != 0) == live) ids[count++] = id;
  }
  return count;
}

static ty_status put_rows(ty_collection *c, content *s, uint64_t mode, const uint32_t *ids, uint32_t n, ty_error *e) {
  static batch b;
  b.n = 0;
  tick();
  for (uint32_t i = 0; i < n; i++) {
    batch_add(&b, ids[i], next_version);
    model_put(&s->m, ids[i], next_version++);
  }
  ty_put_args args = batch_args(&b, mode);
  if (next_version % 2) args.flags |= TY_PUT_MEANING;
  return ty_put(c, &args, NULL, e);
}

static ty_status fill_rows(ty_collection *c, ty_error *e) {
  static ty_meaning_record records[4];
  ty_meaning_encode_args encode = {.most = 4, .out = records};
  ty_status status = ty_meaning_encode(c, &encode, NULL, e);
  ty_meaning_put_args put = {.records = records, .n = encode.out_count, .base = encode.base};
  return status == TY_OK ? ty_meaning_put(c, &put, e) : status;
}

static ty_status delete_rows(ty_collection *c, content *s, const uint32_t *ids, uint32_t n, ty_error *e) {
  static batch b;
  b.n = 0;
  for (uint32_t i = 0; i < n; i++) batch_add(&b, ids[i], 1), s->m.version[ids[i]] = 0;
  ty_delete_args args = {.n = n, .ids = (uint8_t *)b.ids, .id_ends = b.id_ends};
  return ty_delete(c, &args, e);
}

/* The changes of an operation, between begin and save. */
static ty_status op_change(ty_collection *c, int kind, content *s, ty_error *e) {
  uint32_t ids[IDS], n = 0;
  char json[32];
  switch (kind) {
  case OP_NOTE: {
    s->note = next_version++;
    int bytes = snprintf(json, sizeof json, "{\"v\":%u}", s->note);
    return ty_note(c, (const uint8_t *)"work", 4, (const uint8_t *)json, (uint64_t)bytes, e);
  }
  case OP_SET: {
    s->recall = 50 + next_version++ % 50;
    int bytes = snprintf(json, sizeof json, "0.%02u", s->recall);
    return ty_set(c, "default_target_recall", (const uint8_t *)json, (uint64_t)bytes, e);
  }
  case OP_FILL: return fill_rows(c, e);
  case OP_DELETE:
    n = pick(&s->m, true, 4, ids);
    if (n > 0) return delete_rows(c, s, ids, n, e);
    break;
  case OP_UPDATE:
    n = pick(&s->m, true, 5, ids);
    if (n > 0) return put_rows(c, s, TY_UPDATE, ids, n, e);
    break;
  case OP_ADD:
    n = pick(&s->m, false, 6, ids);
    if (n > 0) return put_rows(c, s, TY_ADD, ids, n, e);
    break;
  case OP_MIXED: {
    ty_status status = TY_OK;
    for (int part = 0; part < 4 && status == TY_OK; part++)
      status = op_change(c, part == 1 ? OP_DELETE : part == 2 ? OP_NOTE : part == 3 ? OP_UPDATE : OP_ADD, s, e);
    return status;
  }
  default: break;
  }
  for (n = 0; n < 5; n++) ids[n] = (uint32_t)(rng() % 8) + n * 8;
  return put_rows(c, s, TY_UPSERT, ids, n, e);
}

/* Reads by every way; the statuses that failing calls cause are errors, wrong rows are not for this to see. */
static ty_status op_read(ty_env *env, ty_collection *c, const char *dir, ty_error *e) {
  float query[DIM];
  model_query(query);
  ty_ask_args ask = {.by = TY_BY_BOTH,
                     .vector = query,
                     TEXT_OF("words of version"),
                     .top_k = 5,
                     EXACTLY,
                     .what = TY_WITH_META,
                     ANSWER_IN(answer)};
  ty_collection *other = NULL;
  ty_status status = ty_refresh(c, e);
  if (status == TY_OK) status = ty_ask(c, &ask, e);
  if (status == TY_OK) status = ty_verify(c, NULL, e);
  if (status == TY_OK) status = ty_collection_open(env, dir, &other, e);
  if (status == TY_OK) status = ty_ask(other, &ask, e);
  ty_collection_close(other);
  return status;
}

/* Purges two ids. */
static ty_status op_purge(ty_collection *c, content *s, ty_error *e) {
  char ids[128];
  uint64_t ends[2], at = 0, purged = 0;
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t id = (uint32_t)(rng() % IDS);
    ends[i] = at += content_id(id, ids + at);
    purged |= (uint64_t)1 << id;
  }
  remembered_purge(&s->remembered, purged);
  ty_compact_args args = {.keep = 1, .ids = (const uint8_t *)ids, .id_ends = ends, .n = 2};
  return ty_compact(c, &args, NULL, e);
}

/* A collection takes its own history: it has to stay as it is. A rewrite comes before, which puts all rows into the
 * base and changes no answer either. */
static ty_status op_adopt(ty_collection *c, ty_error *e) {
  ty_compact_args compact = {.keep = 1};
  ty_status status = ty_compact(c, &compact, NULL, e);
  if (status == TY_OK) status = ty_begin(c, e);
  if (status != TY_OK) return status;
  status = ty_history_adopt(c, c, e);
  if (status == TY_OK) return ty_save(c, e);
  ty_rollback(c);
  return status;
}

static ty_status op_finish(ty_collection *c, int kind, content *s, ty_error *e) {
  ty_compact_args compact = {.keep = kind == OP_CHANGE_AND_COMPACT};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  switch (kind) {
  case OP_COMPACT: s->remembered.save_count = s->remembered.change_count = 0; return ty_compact(c, &compact, NULL, e);
  case OP_CHANGE_AND_COMPACT: return ty_compact(c, &compact, NULL, e);
  case OP_PURGE: return op_purge(c, s, e);
  case OP_ADOPT: return op_adopt(c, e);
  case OP_IVF: s->recall = 90; return ty_build_ivf(c, &ivf, NULL, e);
  case OP_LEXICAL: return ty_build_lexical(c, &lexical, NULL, e);
  default: return ty_save(c, e);
  }
}

/* What another handle saves during a rewrite beside it; of what the collection holds that is all that changes. */
static struct {
  ty_env *env;
  ty_collection *c;
  const char *dir;
  const content *now;
  content *next;
  ty_error *e;
  bool acted;
  ty_status status;
} between;
static ty_status operate(ty_env *env, ty_collection *c, const char *dir, const char *copy, int kind, const content *now,
                         content *next, ty_error *e);
static void save_between(void *context, int stage) {
  (void)context;
  if (stage != 0) return;
  between.acted = true;
  between.status = operate(between.env, between.c, between.dir, "", OP_MIXED, between.now, between.next, between.e);
}

/* It succeeds where the save has; where that was not tried, it fails as the rewrite. */
static ty_status op_beside(ty_env *env, ty_collection *c, const char *dir, const content *now, content *next,
                           ty_error *e) {
  ty_error why;
  ty_collection *own = NULL;
  ty_compact_args args = {.keep = 1};
  between.env = env, between.c = c, between.dir = dir, between.now = now, between.next = next, between.e = e;
  between.acted = false;
  ty_status status = ty_collection_at(env, dir, &own, e);
  if (status != TY_OK) return status;
  env->beside = save_between;
  status = ty_compact_beside(own, &args, NULL, &why);
  env->beside = NULL;
  ty_collection_close(own);
  if (between.acted) return between.status;
  *e = why;
  return status;
}

/* One operation on a collection in `dir` that holds `now`. `next` is what it holds after success; copies go to `copy`,
 * which is made. On failure no change is under way. */
static ty_status operate(ty_env *env, ty_collection *c, const char *dir, const char *copy, int kind, const content *now,
                         content *next, ty_error *e) {
  *next = *now;
  if (kind == OP_READ) return now->saved ? op_read(env, c, dir, e) : TY_OK;
  if (!now->saved && (kind == OP_COPY || kind == OP_ROLLBACK || kind == OP_ADOPT || kind == OP_BESIDE))
    kind = OP_UPSERT;
  if (remembered_is_long(&now->remembered) && kind != OP_COPY && kind != OP_ROLLBACK) kind = OP_COMPACT;
  if (kind == OP_BESIDE) return op_beside(env, c, dir, now, next, e);
  ty_status status = ty_begin(c, e);
  if (status != TY_OK) return status;
  if (kind == OP_COPY) {
    int made = env->os.mkdir(&env->os, copy, 0700);
    ty_copy_args args = {.dir = copy};
    status = made < 0 ? ty_fail_io(e, made, "create", copy) : ty_copy(c, &args, NULL, e);
    ty_rollback(c);
    return status;
  }
  content changed = *now;
  const uint32_t origin = next_version % 3;
  const char *json = remembered_origins[origin], *rule = "{\"days\":4000000}"; /* the clock goes on by years */
  if (origin > 0) status = ty_origin(c, (const uint8_t *)json, strlen(json), e);
  if (!now->saved && status == TY_OK)
    status = ty_note(c, (const uint8_t *)"history", 7, (const uint8_t *)rule, strlen(rule), e);
  const bool changes =
      kind != OP_COMPACT && kind != OP_PURGE && kind != OP_ADOPT && kind != OP_IVF && kind != OP_LEXICAL;
  if (changes && status == TY_OK) status = op_change(c, kind, &changed, e);
  if (status != TY_OK || kind == OP_ROLLBACK) {
    ty_rollback(c);
    return status;
  }
  changed.saved = true;
  remembered_save(&changed.remembered, &now->m, &changed.m, origin);
  status = op_finish(c, kind, &changed, e);
  *next = changed;
  return status;
}

/* ---- Comparison -----------------------------------------------------------------------------------------------------
 */
/* Whether an open collection holds exactly this. */
static bool holds(ty_collection *c, const content *s) {
  ty_error e;
  char wanted[64];
  if (!model_equal(c, &s->m) || !remembers(c, &s->remembered)) return false;
  ty_manifest_args text = {.out = answer, .out_capacity = sizeof answer};
  if (ty_manifest(c, &text, &e) != TY_OK) return false;
  int bytes = snprintf(wanted, sizeof wanted, "{\"v\":%u}", s->note);
  if ((memmem(answer, text.out_bytes, wanted, (size_t)bytes) != NULL) != (s->note > 0)) return false;
  bytes = s->recall == 100 ? snprintf(wanted, sizeof wanted, "\"default_target_recall\": 1.0,")
                           : snprintf(wanted, sizeof wanted, "\"default_target_recall\": 0.%02u,", s->recall);
  if (memmem(answer, text.out_bytes, wanted, (size_t)bytes) != NULL) return true;
  /* An IVF build writes the number in its own form. */
  bytes = snprintf(wanted, sizeof wanted, "\"default_target_recall\": 0.%u,", s->recall / 10);
  return s->recall % 10 == 0 && memmem(answer, text.out_bytes, wanted, (size_t)bytes) != NULL;
}

/* Whether the saved state in a directory, opened again, is this. */
static bool saved_holds(ty_env *env, const char *dir, const content *s, ty_error *e) {
  ty_collection *c = NULL;
  ty_status status = ty_collection_open(env, dir, &c, e);
  if (!s->saved) {
    ty_collection_close(c);
    return status == TY_NOT_FOUND;
  }
  /* Whatever a manifest names was synced: none of it is damaged. */
  bool same = status == TY_OK && holds(c, s) && ty_damage_count(c) == 0;
  if (status == TY_OK && !same) snprintf(e->message, sizeof e->message, "it opens to other rows");
  ty_collection_close(c);
  return same;
}

static uint32_t open_files(void) {
  DIR *d = opendir("/proc/self/fd");
  uint32_t count = 0;
  while (d != NULL && readdir(d) != NULL) count++;
  if (d != NULL) closedir(d);
  return count;
}
