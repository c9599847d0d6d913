/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/api/node/topology.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"

static char folder[] = "/tmp/topology.XXXXXX";

static void
put_number(unsigned cpu, const char *file, unsigned number)
{
    char path[256], text[16];

    snprintf(path, sizeof(path), "%s/cpu%u/topology", folder, cpu);
    ck_assert_int_eq(dir_make(path, 0755, NULL), 0);
    snprintf(path, sizeof(path), "%s/cpu%u/topology/%s", folder, cpu, file);
    snprintf(text, sizeof(text), "%u\n", number);
    ck_assert_int_eq(file_write_atomic(path, 0644, text, strlen(text), NULL), 0);
}

static void
put_cpu(unsigned cpu, unsigned package, unsigned core, unsigned node)
{
    char path[256];

    put_number(cpu, "physical_package_id", package);
    put_number(cpu, "core_id", core);
    snprintf(path, sizeof(path), "%s/cpu%u/node%u", folder, cpu, node);
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* Both packages have a core 0, as Linux numbers them. */
START_TEST(cores_are_told_apart_by_their_package)
{
    struct arena *arena = arena_new(0);
    const struct bitset cpus = {{0x2F}};
    const struct topology *t;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    put_cpu(0, 0, 0, 0);
    put_cpu(1, 0, 1, 0);
    put_cpu(2, 1, 0, 8);
    put_cpu(3, 1, 1, 8);
    put_cpu(5, 0, 1, 0);
    t = step_topology_read(arena, folder, &cpus);

    ck_assert_ptr_nonnull(t);
    ck_assert_uint_eq(t->n_packages, 2);
    ck_assert_uint_eq(t->n_cores, 4);
    ck_assert_uint_ne(t->pu[0].core, t->pu[2].core);
    ck_assert_uint_eq(t->pu[1].core, t->pu[5].core);
    ck_assert_uint_eq(t->pu[2].package, t->pu[3].package);
    ck_assert_uint_eq(t->n_numa, 2);
    ck_assert_uint_eq(t->numa[t->pu[3].numa].os_index, 8);
    arena_free(arena);
}
END_TEST

START_TEST(without_sys_nothing_is_known)
{
    struct arena *arena = arena_new(0);
    const struct bitset cpus = {{1}};

    ck_assert_ptr_null(step_topology_read(arena, "/nonexistent", &cpus));
    arena_free(arena);
}
END_TEST

SUITE("step_topology", cores_are_told_apart_by_their_package, without_sys_nothing_is_known)
