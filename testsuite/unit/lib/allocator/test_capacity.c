/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/capacity.h"

#include "lib/allocator/allocator.h"
#include "lib/allocator/demand.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/machines.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

/* Two packages of two NUMA nodes, each with four cores of two threads. */
#define TWO_SOCKETS                                                       \
    "{\"cpus\":\"0-31\",\"packages\":[\"0-15\",\"16-31\"],\"cores\":["    \
    "\"0-1\",\"2-3\",\"4-5\",\"6-7\",\"8-9\",\"10-11\",\"12-13\","        \
    "\"14-15\",\"16-17\",\"18-19\",\"20-21\",\"22-23\",\"24-25\","        \
    "\"26-27\",\"28-29\",\"30-31\"],\"numaNodes\":["                      \
    "{\"node\":0,\"cpus\":\"0-7\",\"memory\":\"8Gi\","                    \
    "\"hugepages\":{\"2Mi\":\"512\"}},"                                   \
    "{\"node\":1,\"cpus\":\"8-15\",\"memory\":\"8Gi\"},"                  \
    "{\"node\":2,\"cpus\":\"16-23\",\"memory\":\"8Gi\"},"                 \
    "{\"node\":3,\"cpus\":\"24-31\",\"memory\":\"8Gi\"}],\"devices\":["   \
    "{\"name\":\"gpu0\",\"type\":\"gpu\",\"node\":0,\"model\":\"A100\"}," \
    "{\"name\":\"gpu1\",\"type\":\"gpu\",\"node\":2,\"model\":\"V100\"}]}"

static enum allocator_answer
answer_of(const struct occupancy *o, const struct demand *d)
{
    struct allocator_choice choice;

    return allocator_choose(o, d, &choice);
}

static void
take_all(struct occupancy *o)
{
    struct holding *h =
        holding_new(o->topology_index->n_cores, o->topology_index->topology->n_devices, 0);

    for (uint16_t i = 0; i < o->topology_index->n_cores; i++)
        h->cores[i] = i;
    for (uint16_t i = 0; i < o->topology_index->topology->n_devices; i++)
        h->devices[i] = i;
    occupancy_take(o, h);
    holding_free(h);
}

START_TEST(a_full_machine_knows_what_it_could_never_hold)
{
    static const struct {
        struct demand demand;
        const char *model;
        unsigned gpus;
        int64_t huge;
        enum allocator_answer answer;
    } rows[] = {
        {.demand = {.pus = 32}, .answer = ALLOCATOR_NO_CORES},
        {.demand = {.pus = 33}, .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.pus = 16, .threads_per_core = 1}, .answer = ALLOCATOR_NO_CORES},
        {.demand = {.pus = 17, .threads_per_core = 1}, .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.pus = 8, .cores_per_package = 2}, .answer = ALLOCATOR_NO_CORES},
        {.demand = {.pus = 9, .cores_per_package = 2}, .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.pus = 5, .cores_per_package = 2, .threads_per_core = 1},
         .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.pus = 8, .numa_policy = NUMA_SINGLE}, .answer = ALLOCATOR_NO_CORES},
        {.demand = {.pus = 9, .numa_policy = NUMA_SINGLE}, .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.pus = 1, .numa_policy = NUMA_SINGLE},
         .model = "v100",
         .gpus = 1,
         .huge = 2 * MIB,
         .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.pus = 1}, .gpus = 2, .answer = ALLOCATOR_NO_CORES},
        {.demand = {.pus = 1}, .gpus = 3, .answer = ALLOCATOR_NO_SUCH_DEVICES},
        {.demand = {.pus = 1}, .model = "a100", .gpus = 2, .answer = ALLOCATOR_NO_SUCH_DEVICES},
        {.demand = {.pus = 1}, .huge = GIB, .answer = ALLOCATOR_NO_CORES},
        {.demand = {.pus = 1}, .huge = GIB + 1, .answer = ALLOCATOR_TOO_SMALL},
        {.demand = {.is_whole_node = true}, .answer = ALLOCATOR_NOT_EMPTY},
        {.demand = {.is_whole_node = true}, .gpus = 3, .answer = ALLOCATOR_NO_SUCH_DEVICES},
    };
    struct topology_index *s = machine_of(TWO_SOCKETS);
    struct occupancy *o = occupancy_new(s);

    take_all(o);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct demand d = rows[i].demand;

        d.is_exclusive = true;
        d.gpu_model = rows[i].model;
        demand_add_resource(&d, "kiln.hpc/gpu", rows[i].gpus);
        demand_add_resource(&d, "hugepages-2Mi", rows[i].huge);
        ck_assert_msg(answer_of(o, &d) == rows[i].answer, "row %zu: %d", i, (int)answer_of(o, &d));
    }
    occupancy_free(o);
    topology_index_unref(s);
}
END_TEST

static struct demand
any_demand(struct random_source *r)
{
    struct demand d = {
        .is_exclusive = random_below(r, 4) > 0,
        .numa_policy = (enum numa_policy)random_below(r, 4),
        .memory_bytes = (int64_t)random_below(r, 40) * GIB,
    };

    if (d.is_exclusive) {
        d.pus = 1 + (unsigned)random_below(r, 34);
        d.threads_per_core = (unsigned)random_below(r, 3);
        d.cores_per_package = (unsigned)random_below(r, 10);
        d.is_whole_node = random_below(r, 8) == 0;
    } else {
        d.shared_milli = (int64_t)random_below(r, 32000);
    }
    if (random_below(r, 3) == 0)
        demand_add_resource(&d, "kiln.hpc/gpu", 1 + (unsigned)random_below(r, 3));
    if (random_below(r, 4) == 0)
        demand_add_resource(&d, "hugepages-2Mi", (int64_t)random_below(r, 1200) * MIB);
    return d;
}

/* "Never" must equal the empty machine's answer. */
START_TEST(a_demand_is_impossible_if_the_empty_machine_refuses_it)
{
    struct topology_index *s = machine_of(TWO_SOCKETS);
    struct occupancy *empty = occupancy_new(s), *full = occupancy_new(s);
    struct random_source r = {7};
    unsigned never = 0, later = 0;

    take_all(full);
    for (unsigned i = 0; i < 20000; i++) {
        struct demand d = any_demand(&r);
        enum allocator_answer ever = answer_of(empty, &d);
        enum allocator_answer now = answer_of(full, &d);

        ck_assert_int_ne(now, ALLOCATOR_FITS);
        ck_assert_msg(allocator_answer_lasts(now) == (ever != ALLOCATOR_FITS),
                      "%u: full %d, empty %d", i, (int)now, (int)ever);
        never += ever != ALLOCATOR_FITS;
        later += ever == ALLOCATOR_FITS;
    }
    ck_assert_uint_gt(never, 1000);
    ck_assert_uint_gt(later, 1000);
    occupancy_free(full);
    occupancy_free(empty);
    topology_index_unref(s);
}
END_TEST

SUITE("capacity", a_full_machine_knows_what_it_could_never_hold,
      a_demand_is_impossible_if_the_empty_machine_refuses_it)
