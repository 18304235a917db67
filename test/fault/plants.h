/* Planted bugs: each sync, checksum and order of the commit protocol is left out or broken once, in a process of its
 * own, and the check of this suite that is named has to find it. One that is not found fails the suite: its check is
 * blind. */
#pragma once

#include "beside.h"
#include "flip.h"
#include "os/plant.h"
#include "pair.h"
#include "power.h"

typedef enum finder { BY_FAIL, BY_KILL, BY_POWER, BY_PAIR, BY_BESIDE, BY_FLIP } finder;
static const char *const finder_names[] = {
    "failing calls", "kills", "power cuts", "two writers", "operations between calls", "aimed damage"};

typedef struct plant {
  const char *name;
  finder by;
  ty_plant inside;  /* in the runtime */
  const char *sync; /* or: syncs of files whose names begin so are skipped */
  enum { CALLS_AS_THEY_ARE, NO_LOCK, LATE_RENAME, EARLY_RENAME } calls; /* or of the calls */
} plant;

static const plant plants[] = {
    {"no sync of a delta", BY_POWER, .sync = "delta-"},
    {"no sync of the manifest", BY_POWER, .sync = "collection.json.tmp"},
    {"no sync of a base", BY_POWER, .sync = "base-"},
    {"no sync of an IVF file", BY_POWER, .sync = "ivf-"},
    {"no sync of a lexical file", BY_POWER, .sync = "lexical-"},
    {"no sync of a file of meaning", BY_POWER, .sync = "meaning-"},
    {"no sync of a history", BY_POWER, .sync = "history-"},
    {"no sync of the directory after the rename", BY_POWER, .inside = TY_PLANT_NO_DIRECTORY_SYNC},
    {"no sync of the parent directory", BY_POWER, .inside = TY_PLANT_NO_PARENT_SYNC},
    {"no sync of the names of a compaction beside others", BY_POWER, .inside = TY_PLANT_NO_SYNC_OF_NAMES},
    {"no sync of a fresh delta's name", BY_POWER, .inside = TY_PLANT_NO_NAME_SYNC},
    {"no sync of the marker of a first save", BY_POWER, .inside = TY_PLANT_NO_MARKER_SYNC},
    {"no marker of a first save", BY_KILL, .inside = TY_PLANT_NO_MARKER},
    {"the marker removed before the manifest is there", BY_KILL, .inside = TY_PLANT_EARLY_MARKER},
    {"the manifest renamed before its sync", BY_POWER, .calls = EARLY_RENAME},
    {"the manifest renamed before the delta's sync", BY_POWER, .inside = TY_PLANT_NO_WAIT},
    {"the manifest rewritten in place", BY_KILL, .inside = TY_PLANT_IN_PLACE},
    {"acknowledged before the rename", BY_KILL, .calls = LATE_RENAME},
    {"a failed rename ignored", BY_FAIL, .inside = TY_PLANT_IGNORED_RENAME},
    {"a failure after the commit said to have changed nothing", BY_FAIL, .inside = TY_PLANT_SURE_ERROR},
    {"a failed sync ignored", BY_POWER, .inside = TY_PLANT_IGNORED_SYNC},
    {"a delta appended to after its sync failed", BY_POWER, .inside = TY_PLANT_REUSED_DELTA},
    {"the base before removed before the commit", BY_KILL, .inside = TY_PLANT_EARLY_CLEANUP},
    {"no sync of the name of a history that is taken", BY_POWER, .inside = TY_PLANT_NO_HISTORY_NAME},
    {"the history before removed before the commit", BY_KILL, .inside = TY_PLANT_EARLY_HISTORY},
    {"the newest save forgotten by a rewrite", BY_FAIL, .inside = TY_PLANT_FORGOTTEN_SAVE},
    {"origins of one length taken for the same", BY_FAIL, .inside = TY_PLANT_SAME_ORIGIN},
    {"purged rows kept", BY_FAIL, .inside = TY_PLANT_KEPT_PURGED},
    {"no lock", BY_PAIR, .calls = NO_LOCK},
    {"a change of the rows as they were", BY_PAIR, .inside = TY_PLANT_NO_FOLLOW},
    {"an opening that does not try again", BY_BESIDE, .inside = TY_PLANT_NO_RETRY},
    {"the manifest looked at after it was read", BY_BESIDE, .inside = TY_PLANT_LATE_STAMP},
    {"a failed change not undone", BY_FAIL, .inside = TY_PLANT_NO_UNDO},
    {"checksum of the manifest not compared", BY_FLIP, .inside = TY_PLANT_NO_MANIFEST_SUM},
    {"checksum of a header not compared", BY_FLIP, .inside = TY_PLANT_NO_HEADER_SUM},
    {"checksum of a section table not compared", BY_FLIP, .inside = TY_PLANT_NO_TABLE_SUM},
    {"checksum of a section not compared", BY_FLIP, .inside = TY_PLANT_NO_SECTION_SUM},
    {"checksum of a block of a section not compared", BY_FLIP, .inside = TY_PLANT_NO_BLOCK_SUM},
    {"checksum of the blocks' checksums not compared", BY_FLIP, .inside = TY_PLANT_NO_SUMS_SUM},
    {"checksum of a row of the history not compared", BY_FLIP, .inside = TY_PLANT_NO_ROW_SUM},
    {"checksum of a delta not compared", BY_FLIP, .inside = TY_PLANT_NO_DELTA_SUM},
    {"checksum of the id map not compared", BY_FLIP, .inside = TY_PLANT_NO_ID_MAP_SUM},
};

/* How far a finder goes. Where nothing is planted it must find nothing: the other runs of fault.test.ts and of the soak
 * go at least as far, with the same seed. */
enum { PLANT_OPERATIONS = 25, PLANT_CUT_OPERATIONS = 120, PLANT_CUTS = 1000, PLANT_ROUNDS = 2, PLANT_FLIPS = 12 };

/* In a process of its own: the finder, on a small workload, until it finds something. */
static _Noreturn void plant_child(const plant *p, uint32_t number, uint64_t seed) {
  ty_env *env, *judge;
  char place[256];
  snprintf(place, sizeof place, "%s/plant-%u", root, number);
  snprintf(root, sizeof root, "%s", place);
  stop_early = true;
  check_failed = 0; /* of the process before */
  if (mkdir(root, 0700) != 0 || freopen("/dev/null", "w", stderr) == NULL) _exit(2);
  if (!env_open(1, &env) || !env_open(1, &judge)) _exit(2);
  calls_wrap(env);
  calls_unsynced(judge);
  ty_planted = p->inside;
  skipped_sync = p->sync;
  skipped_lock = p->calls == NO_LOCK;
  moved_rename = p->calls == LATE_RENAME ? 1 : p->calls == EARLY_RENAME ? -1 : 0;
  switch (p->by) {
  case BY_FAIL: test_failing_calls(env, judge, seed, PLANT_OPERATIONS, false); break;
  case BY_KILL: test_kills(judge, seed, PLANT_OPERATIONS); break;
  case BY_POWER: test_power_cuts(env, judge, seed, PLANT_CUT_OPERATIONS, PLANT_CUTS); break;
  case BY_PAIR: test_pairs(judge, PLANT_ROUNDS); break;
  case BY_BESIDE: test_beside(env, judge, seed); break;
  case BY_FLIP: test_flips(judge, seed, PLANT_FLIPS); break;
  }
  _exit(check_failed > 0 ? 3 : 0);
}

/* A finder at work on a plant. */
typedef struct hunt {
  plant what;
  uint32_t number;
  pid_t child;
  bool found; /* by a check or an assertion */
  int how;    /* it ended */
} hunt;

/* One to find while another waits for a disk or a process; more would only wait for cores. */
enum { HUNTS_AT_ONCE = 2 };

static void hunt_begin(hunt *h, uint64_t seed) {
  fflush(stdout);
  h->child = fork();
  if (h->child == 0) plant_child(&h->what, h->number, seed);
}

static void hunt_end(hunt *hunts, uint32_t count) {
  int how = 0;
  pid_t child = waitpid(-1, &how, 0);
  for (uint32_t i = 0; i < count; i++) {
    if (hunts[i].child != child) continue;
    hunts[i].how = how;
    hunts[i].found = (WIFEXITED(how) && WEXITSTATUS(how) == 3) || (WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
  }
}

static void test_plants(uint64_t seed, const char *only) {
  enum { PLANTS = sizeof plants / sizeof *plants };
  static hunt hunts[PLANTS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < PLANTS; i++)
    if (only == NULL || strstr(plants[i].name, only) != NULL) hunts[count++] = (hunt){plants[i], .number = i};
  for (uint32_t i = 0; i < count; i++) {
    if (i >= HUNTS_AT_ONCE) hunt_end(hunts, count);
    hunt_begin(&hunts[i], seed);
  }
  for (uint32_t i = 0; i < count && i < HUNTS_AT_ONCE; i++) hunt_end(hunts, count);
  for (uint32_t i = 0; i < count; i++) {
    const hunt *h = &hunts[i];
    const char *by = finder_names[h->what.by];
    check_at(h->found, "plants.h", __LINE__, "%s: not found by %s (%x)", h->what.name, by, (unsigned)h->how);
    printf("%s: %s %s\n", h->what.name, h->found ? "found by" : "NOT FOUND by", by);
  }
}
