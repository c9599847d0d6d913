/* SPDX-License-Identifier: Apache-2.0 */
/* assign.c - which CPUs are assigned; hints for CPUs */
#include <string.h>

#include "lib/allocator/kubelet/cpu_accumulator.h"
#include "lib/allocator/kubelet/cpu_manager.h"
#include "testsuite/conformance/placing/placing.h"

/* The result of one case. */
struct assign_result {
    const char *error; /* "" for none */
    struct bitset cpus;
    struct bitset shared;
    bool has_shared;
};

static void
run_taker(const struct placing *p, const char *level, struct assign_result *out)
{
    struct cpu_style style = {
        .is_spread = strcmp(json_get_text(p->line, "sort"), "spread") == 0,
        .aligns_uncore = json_is_true(json_get(p->line, "uncore")),
        .distributes = strcmp(level, "distributed") == 0,
        .group = (unsigned)json_get_int(p->line, "group", 1),
    };
    struct bitset available;

    placing_cpus(p->line, "available", &available);
    if (cpu_accumulator_take(p->machine->layout, &available,
                             (unsigned)placing_int(p->line, "request"), &style, &out->cpus)
        < 0)
        out->error = "not-enough-cpus";
}

/* The CPUs that the kubelet reserves for the system when only their number is
 * configured are those that it would allocate of an empty machine, but without a
 * check for whole cores. The option for whole cores says something else only
 * about CPUs that are distributed over NUMA nodes.
 */
static void
run_reserve(const struct placing *p, struct assign_result *out)
{
    struct cpu_options options = placing_options(json_get(p->line, "options"));
    unsigned wanted = (unsigned)placing_int(p->line, "request");
    const struct numa_hint anywhere = {.is_any = true};
    const struct bitset none = {0};
    struct cpu_manager m;

    options.full_pcpus_only &= options.distribute_across_numa;
    cpu_manager_init(&m, p->machine->layout, &options, &none);
    if (cpu_manager_allocate(&m, wanted, &anywhere, &none, &out->cpus) != CPU_OK
        || bitset_count(&out->cpus) != wanted)
        out->error = "unable-to-reserve";
}

static void
run_allocate(const struct placing *p, struct assign_result *out)
{
    static const char *const errors[] = {
        [CPU_OK] = "",
        [CPU_NOT_ENOUGH] = "not-enough-cpus",
        [CPU_SMT_NOT_MULTIPLE] = "smt-not-multiple",
        [CPU_SMT_NOT_ENOUGH] = "smt-not-enough-cores",
    };
    struct cpu_options options = placing_options(json_get(p->line, "options"));
    struct bitset reserved, available, reusable;
    struct numa_hint affinity = {.is_any = true};
    struct cpu_manager m;

    placing_cpus(p->line, "reserved", &reserved);
    placing_cpus(p->line, "available", &available);
    placing_cpus(p->line, "reusable", &reusable);
    cpu_manager_init(&m, p->machine->layout, &options, &reserved);
    m.shared = available;
    if (!options.strict_reservation)
        bitset_or(&m.shared, &reserved);
    if (json_is(json_get(p->line, "numa_mask"), JSON_NUMBER))
        affinity = (struct numa_hint){.nodes = placing_int(p->line, "numa_mask")};
    out->error = errors[cpu_manager_allocate(&m, (unsigned)placing_int(p->line, "request"),
                                             &affinity, &reusable, &out->cpus)];
    out->shared = m.shared;
    out->has_shared = true;
}

/* Where the kubelet is wrong, Kiln's result must use only available CPUs and
 * have the requested number, or be an error; where the case has the right
 * answer, it must be that one.
 */
static void
check_defect(struct placing *p, const struct assign_result *out)
{
    const struct json *right = json_get(p->line, "result_if_no_alias");
    struct bitset available, reusable;

    placing_cpus(p->line, "available", &available);
    placing_cpus(p->line, "reusable", &reusable);
    bitset_or(&available, &reusable);
    if (right != NULL)
        placing_check_cpus(p, "result", right, &out->cpus);
    else if (*out->error == '\0'
             && (!bitset_contains(&available, &out->cpus)
                 || bitset_count(&out->cpus) != placing_int(p->line, "request")))
        placing_differs(p, "result: not within what is available, or not as "
                           "many as asked for");
}

void
assign_case(struct placing *p)
{
    const char *level = json_get_text(p->line, "level");
    struct assign_result out = {.error = ""};

    if (strcmp(level, "allocate") == 0)
        run_allocate(p, &out);
    else if (strcmp(level, "reserve") == 0)
        run_reserve(p, &out);
    else
        run_taker(p, level, &out);
    if (json_get_text(p->line, "defect") != NULL) {
        check_defect(p, &out);
        return;
    }
    placing_check_text(p, "error", json_get_text(p->line, "error"), out.error);
    if (*out.error == '\0')
        placing_check_cpus(p, "result", json_get(p->line, "result"), &out.cpus);
    if (out.has_shared)
        placing_check_cpus(p, "shared_after", json_get(p->line, "shared_after"), &out.shared);
}

void
hints_case(struct placing *p)
{
    struct cpu_options options = placing_options(json_get(p->line, "options"));
    int64_t milli = json_get_int(p->line, "request_milli", 0);
    CLEANUP(numa_hints_fini) struct numa_hints hints = {0};
    struct bitset reserved, available, reusable, allocated;
    unsigned wanted = (unsigned)(milli / 1000);
    struct cpu_manager m;

    placing_cpus(p->line, "reserved", &reserved);
    placing_cpus(p->line, "available", &available);
    placing_cpus(p->line, "reusable", &reusable);
    placing_cpus(p->line, "allocated", &allocated);
    cpu_manager_init(&m, p->machine->layout, &options, &reserved);
    if (!json_is_true(json_get(p->line, "guaranteed")) || milli % 1000 != 0 || wanted == 0) {
        hints.is_anything = true;
    } else if (!bitset_is_empty(&allocated)) {
        struct bitset none = {0};

        if (bitset_count(&allocated) == wanted)
            cpu_manager_hints(&m, &allocated, &none, wanted, &hints);
    } else {
        cpu_manager_hints(&m, &available, &reusable, wanted, &hints);
    }
    placing_check_hints(p, "hints", json_get(p->line, "hints"), &hints);
}
