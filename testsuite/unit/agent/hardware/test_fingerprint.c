/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/fingerprint.h"

#include <check.h>
#include <string.h>
#include <unistd.h>

#include "agent/hardware/device_files.h"
#include "agent/hardware/hardware.h"
#include "lib/api/node/topology.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define CLEANUP_SCRATCH CLEANUP(scratch_freep)

static void
put(const char *root, const char *file, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", root, file);
    CLEANUP_FREE char *directory = xstrdup(path);

    *strrchr(directory, '/') = '\0';
    ck_assert_int_eq(dir_make(directory, 0755, NULL), 0);
    ck_assert_int_eq(file_write_atomic(path, 0644, text, strlen(text), NULL), 0);
}

static char *
take(const char *root, const struct hardware_request *request, const struct topology *known)
{
    struct strbuf out = STRBUF_INIT;

    fingerprint_read(root, request, known, &out);
    return strbuf_take(&out);
}

START_TEST(a_cpu_that_goes_offline_and_memory_that_goes_leave_traces)
{
    static const struct {
        const char *file, *text;
    } changes[] = {
        {"sys/devices/system/cpu/online", "0-2\n"},
        {"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4 kB\nNode 0 MemFree: 4 kB\n"},
        {"sys/devices/system/node/node0/hugepages/hugepages-2048kB/"
         "nr_hugepages",
         "8\n"},
        {"sys/devices/system/node/node0/hugepages/hugepages-1048576kB/"
         "nr_hugepages",
         "1\n"},
        {"sys/bus/pci/devices/0000:01:00.0", ""},
    };
    static struct topology_numa numa = {.os_index = 0};
    const struct topology known = {.numa = &numa, .n_numa = 1};
    const struct hardware_request request = {.with_devices = true};
    CLEANUP_SCRATCH char *root = scratch_new();
    char *before;

    put(root, "sys/devices/system/cpu/online", "0-3\n");
    put(root, "sys/bus/pci/devices/0000:00:00.0", "");
    put(root, "sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal: 8 kB\nNode 0 MemFree: 8 kB\n");
    before = take(root, &request, &known);

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        CLEANUP_FREE char *same = take(root, &request, &known);
        char *after;

        ck_assert_str_eq(before, same);
        put(root, changes[i].file, changes[i].text);
        after = take(root, &request, &known);
        ck_assert_str_ne(before, after);
        free(before);
        before = after;
    }
    free(before);
}
END_TEST

START_TEST(memory_in_use_leaves_none)
{
    static struct topology_numa numa = {.os_index = 0};
    const struct topology known = {.numa = &numa, .n_numa = 1};
    const struct hardware_request request = {0};
    CLEANUP_SCRATCH char *root = scratch_new();
    const char *file = "sys/devices/system/node/node0/meminfo";

    put(root, file, "Node 0 MemTotal: 8 kB\nNode 0 MemFree: 8 kB\n");
    CLEANUP_FREE char *before = take(root, &request, &known);
    put(root, file, "Node 0 MemTotal: 8 kB\nNode 0 MemFree: 1 kB\n");
    CLEANUP_FREE char *after = take(root, &request, &known);

    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(device_files_that_match_are_devices)
{
    CLEANUP_SCRATCH char *dir = scratch_new();
    CLEANUP_FREE char *pattern = xasprintf("fpga=%s/card*", dir);
    const char *const patterns[] = {pattern};
    const struct hardware_request request = {
        .given = "pack:1 numa:2 core:2 pu:1",
        .patterns = patterns,
        .n_patterns = 1,
    };
    static const char *const cards[] = {"card0", "card1"};
    struct topology *t = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(cards); i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", dir, cards[i]);

        ck_assert_int_eq(symlink("/dev/null", path), 0);
    }
    put(dir, "card2-is-a-plain-file", "");
    CLEANUP_FREE char *before = take("", &request, NULL);
    ck_assert_int_eq(hardware_discover(&request, &t, NULL), 0);

    ck_assert_uint_eq(t->n_devices, 2);
    ck_assert_str_eq(t->devices[1].name, "card1");
    ck_assert_str_eq(t->devices[1].type, "fpga");
    ck_assert_uint_eq(t->devices[1].numa, TOPOLOGY_NONE);
    topology_free(t);

    CLEANUP_FREE char *lost = xasprintf("%s/card1", dir);
    ck_assert_int_eq(unlink(lost), 0);
    CLEANUP_FREE char *after = take("", &request, NULL);
    ck_assert_str_ne(before, after);
}
END_TEST

START_TEST(a_wrong_pattern_is_refused)
{
    static const char *const bad[] = {"fpga", "fpga=xdma*", "Fpga=/dev/x", "=/dev/x", "a/b=/dev/x"};

    ck_assert_int_eq(device_files_check("fpga=/dev/xdma*", NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = {0};

        ck_assert_int_lt(device_files_check(bad[i], &err), 0);
        ck_assert_str_ne(err.text, "");
    }
}
END_TEST

SUITE("fingerprint", a_cpu_that_goes_offline_and_memory_that_goes_leave_traces,
      memory_in_use_leaves_none, device_files_that_match_are_devices, a_wrong_pattern_is_refused)
