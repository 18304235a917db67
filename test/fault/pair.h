/* Two processes write to one collection at a time, each its own rows, and read what the other saved; one of them is
 * killed at its n-th call, for every n. The other goes on without an error, and afterwards every acknowledged row of
 * both is there. */
#pragma once

#include "kill.h"

#define PAIR_ROWS  (IDS / 2)
#define PAIR_SAVES 6u /* of the one that is killed: the last is a compaction */

static struct {
  uint64_t kills, acknowledged, refused;
} pair_counts;

/* What both say, in memory that they share. */
typedef struct pair_said {
  _Atomic uint32_t acknowledged[IDS], tried[IDS]; /* versions */
  _Atomic uint32_t dead;                          /* the first was killed */
  _Atomic uint32_t saves[2], refused;
  char wrong[256];
} pair_said;
static pair_said *pair;

static void pair_wrong(const char *what, const char *message) {
  snprintf(pair->wrong, sizeof pair->wrong, "%s: %s", what, message);
  _exit(3);
}

/* One save of two rows of a process; where the other one has the lock, again. */
static void pair_save(ty_collection *c, uint32_t who, uint32_t version, bool compact) {
  static batch b;
  ty_error e;
  ty_status status;
  for (uint32_t tries = 0; (status = ty_begin(c, &e)) == TY_BUSY && tries < 20000; tries++) {
    pair->refused++;
    usleep(200);
  }
  if (status != TY_OK) pair_wrong("begin", e.message);
  b.n = 0;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t id = who * PAIR_ROWS + (version * 2 + i) % PAIR_ROWS;
    batch_add(&b, id, version);
    pair->tried[id] = version;
  }
  ty_put_args args = batch_args(&b, TY_UPSERT);
  ty_compact_args done = {0};
  status = ty_put(c, &args, NULL, &e);
  if (status != TY_OK) pair_wrong("put", e.message);
  status = compact ? ty_compact(c, &done, NULL, &e) : ty_save(c, &e);
  if (status != TY_OK) pair_wrong(compact ? "compaction" : "save", e.message);
  for (uint32_t i = 0; i < 2; i++) pair->acknowledged[who * PAIR_ROWS + (version * 2 + i) % PAIR_ROWS] = version;
  pair->saves[who]++;
}

/* Whether each row is of a version that was acknowledged when the question began, or of one that was tried since. */
static bool pair_rows(ty_collection *c, char *wrong, size_t room) {
  for (uint32_t id = 0; id < IDS; id++) {
    char name[64], text[64];
    uint32_t least = pair->acknowledged[id];
    uint64_t end = content_id(id, name);
    ty_error e;
    ty_record r;
    ty_get_args get = {.n = 1, .ids = (uint8_t *)name, .id_ends = &end, .what = TY_WITH_TEXT, ANSWER_IN(answer)};
    if (ty_get(c, &get, &e) != TY_OK) {
      snprintf(wrong, room, "get of row %u: %s", id, e.message);
      return false;
    }
    memcpy(&r, answer, sizeof r);
    uint32_t most = pair->tried[id], version = 0;
    if (r.found && r.text_bytes < sizeof text) {
      memcpy(text, answer + sizeof r + padded(r.id_bytes), r.text_bytes);
      text[r.text_bytes] = 0;
      sscanf(text, "the text of version %u", &version);
    }
    if (version < least || version > most) {
      snprintf(wrong, room, "row %u is of version %u; %u was acknowledged and %u tried", id, version, least, most);
      return false;
    }
  }
  return true;
}

static _Noreturn void pair_child(const char *dir, uint32_t who, uint64_t n, uint32_t version) {
  ty_env *env;
  ty_error e;
  ty_collection *c = NULL;
  char wrong[200];
  if (!env_open(1, &env)) _exit(2);
  calls_wrap(env);
  if (ty_collection_open(env, dir, &c, &e) != TY_OK) pair_wrong("open", e.message);
  if (who == 0) {
    call_fate(FATE_DIE, n, 0, CALL_CHANGES | CALL_LOCK, 0);
    for (uint32_t i = 0; i < PAIR_SAVES; i++) pair_save(c, 0, version++, i + 1 == PAIR_SAVES);
    call_fate_end();
  } else {
    for (uint32_t after = 0, i = 0; after < 2; i++) {
      bool dead = pair->dead;
      pair_save(c, 1, version++, i % 8 == 5);
      if (!pair_rows(c, wrong, sizeof wrong)) pair_wrong("a question", wrong);
      after += dead;
    }
  }
  ty_collection_close(c);
  _exit(0);
}

/* Two processes, the first killed at call n. False: it made fewer. */
static bool pair_once(ty_env *judge, const char *dir, uint64_t n, uint32_t version) {
  pid_t ids[2];
  int how[2];
  ty_error e;
  char wrong[200];
  pair->dead = 0;
  pair->wrong[0] = 0;
  fflush(stdout);
  for (uint32_t who = 0; who < 2; who++) {
    ids[who] = fork();
    if (ids[who] == 0) pair_child(dir, who, n, version);
  }
  waitpid(ids[0], &how[0], 0);
  pair->dead = 1;
  waitpid(ids[1], &how[1], 0);
  bool killed = WIFSIGNALED(how[0]) && WTERMSIG(how[0]) == SIGKILL;
  pair_counts.kills += killed;
  for (int who = 0; who < 2; who++)
    check_at((who == 0 && killed) || (WIFEXITED(how[who]) && WEXITSTATUS(how[who]) == 0), "pair.h", __LINE__,
             "killed at call %llu: process %d ended with %x: %s", (unsigned long long)n, who, (unsigned)how[who],
             pair->wrong);
  ty_collection *c = NULL;
  bool good = ty_collection_open(judge, dir, &c, &e) == TY_OK;
  if (!good) snprintf(wrong, sizeof wrong, "%.190s", e.message);
  good = good && pair_rows(c, wrong, sizeof wrong);
  if (good && (ty_verify(c, NULL, &e) != TY_OK || !whole(c))) {
    good = false;
    snprintf(wrong, sizeof wrong, "%.190s", e.message);
  }
  check_at(good, "pair.h", __LINE__, "killed at call %llu: %s", (unsigned long long)n, good ? "" : wrong);
  ty_collection_close(c);
  return killed;
}

static void test_pairs(ty_env *judge, uint32_t rounds) {
  char dir[320];
  ty_error e;
  fresh_dir(dir);
  pair = mmap(NULL, sizeof *pair, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
  ty_collection *c = open_new(judge, dir);
  CHECK(ty_begin(c, &e) == TY_OK && ty_save(c, &e) == TY_OK);
  ty_collection_close(c);
  uint32_t version = 1;
  for (uint32_t round = 0; round < rounds; round++) {
    for (uint64_t n = 1; pair_once(judge, dir, n, version) && check_failed == 0; n++) version += 1000;
    version += 1000;
  }
  for (uint32_t id = 0; id < IDS; id++) pair_counts.acknowledged += pair->acknowledged[id] > 0;
  pair_counts.refused = pair->refused;
}
