/* The fault suite: what becomes of collections where calls fail, processes are killed and power is cut.
 *
 *   fault SEED fail OPERATIONS [all]      each call fails, with one errno in turn or with all
 *   fault SEED kill OPERATIONS            a process is killed at each call
 *   fault SEED power STATES [OPERATIONS]  power is cut at each call
 *   fault SEED pair ROUNDS                one of two writers is killed at each call
 *   fault SEED beside                     another process saves between any two calls
 *   fault SEED flip PLACES                bits are flipped in each part of each file
 *   fault SEED plants [PART]              planted bugs are looked for, or those with this in their names */
#include "beside.h"
#include "fail.h"
#include "kill.h"
#include "pair.h"
#include "plants.h"
#include "power.h"

int main(int argc, char **argv) {
  uint64_t seed;
  ty_env *env, *judge;
  const char *what = argc > 2 ? argv[2] : "";
  uint32_t amount = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 200;
  bool all = argc > 4;
  uint32_t cut_operations = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : PLANT_CUT_OPERATIONS;
  if (!program_begin(argc > 1 ? 2 : 1, argv, "fault", 1, &seed, &judge)) return 2;
  calls_unsynced(judge);
  if (strcmp(what, "fail") == 0) {
    if (!env_open(1, &env)) return 2;
    calls_wrap(env);
    test_failing_calls(env, judge, seed, amount, all);
    ty_env_close(env);
    printf("%llu failing calls, %llu operations failed, %llu of them unsure\n", (unsigned long long)fail_counts.runs,
           (unsigned long long)fail_counts.failed, (unsigned long long)fail_counts.unsure);
  } else if (strcmp(what, "kill") == 0) {
    test_kills(judge, seed, amount);
    printf("%llu kills, %llu of them within a write; %llu left the old state, %llu the new\n",
           (unsigned long long)kill_counts.kills, (unsigned long long)kill_counts.torn,
           (unsigned long long)kill_counts.old, (unsigned long long)kill_counts.new);
  } else if (strcmp(what, "power") == 0) {
    if (!env_open(1, &env)) return 2;
    calls_wrap(env);
    test_power_cuts(env, judge, seed, cut_operations, amount);
    ty_env_close(env);
    printf("%u events of %u operations, %llu of which failed; %llu distinct states\n", record.count, cut_operations,
           (unsigned long long)cuts.failed, (unsigned long long)cuts.distinct);
  } else if (strcmp(what, "pair") == 0) {
    test_pairs(judge, amount);
    printf("%llu kills beside another writer, which was refused the lock %llu times\n",
           (unsigned long long)pair_counts.kills, (unsigned long long)pair_counts.refused);
  } else if (strcmp(what, "beside") == 0) {
    if (!env_open(1, &env)) return 2;
    calls_wrap(env);
    test_beside(env, judge, seed);
    ty_env_close(env);
    printf("%llu operations between two calls of another process\n", (unsigned long long)other.acts);
  } else if (strcmp(what, "flip") == 0) {
    test_flips(judge, seed, amount);
    printf("%llu flipped bits: %llu not opened, %llu answers that say so\n", (unsigned long long)flip_counts.flips,
           (unsigned long long)flip_counts.refused, (unsigned long long)flip_counts.flagged);
  } else if (strcmp(what, "plants") == 0) {
    test_plants(seed, argc > 3 ? argv[3] : NULL);
  }
  return program_end(judge);
}
