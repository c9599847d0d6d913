/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/observation.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/numa/page_nodes.h"
#include "agent/shepherd/files/live_record.h"
#include "lib/base/fd.h"
#include "lib/base/sanitizer.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define CLEANUP_SCRATCH CLEANUP(scratch_freep)

static void
put(const char *proc, int pid, const char *file, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%d/%s", proc, pid, file);
    CLEANUP_FREE char *directory = xstrdup(path);
    struct error *none = NULL;

    *strrchr(directory, '/') = '\0';
    ck_assert_int_eq(dir_make(directory, 0755, none), 0);
    ck_assert_int_eq(file_write_atomic(path, 0644, text, strlen(text), none), 0);
}

static void
put_process(const char *proc, int pid, const char *cpus, const char *maps)
{
    CLEANUP_FREE char *status = xasprintf("Name:\tx\nCpus_allowed_list:\t%s\n"
                                          "Mems_allowed_list:\t0\nvoluntary_ctxt_switches:\t1\n",
                                          cpus);

    put(proc, pid, "status", status);
    put(proc, pid, "statm", "100 20 3 1 0 5 0\n");
    put(proc, pid, "numa_maps", maps);
}

static struct bitset
only(unsigned bit)
{
    struct bitset s = {0};

    bitset_add(&s, bit);
    return s;
}

START_TEST(a_process_and_its_children_are_seen_together)
{
    CLEANUP_SCRATCH char *proc = scratch_new();
    const struct observation_request request = {
        .proc = proc,
        .main = 10,
        .memory_nodes = only(0),
    };
    struct observation seen;

    put_process(proc, 10, "2-3",
                "5560 default file=/bin/sh mapped=9 N1=9 kernelpagesize_kB=4\n"
                "5570 bind:0 heap anon=8 dirty=8 N0=6 N1=2 "
                "kernelpagesize_kB=4\n");
    put(proc, 10, "task/10/children", "11 ");
    put_process(proc, 11, "7",
                "7f00 bind:0 anon=1 dirty=1 N0=1 kernelpagesize_kB=32\n"
                "7f10 bind:0 file=/dev/shm/x mapped=2 N0=2 "
                "kernelpagesize_kB=4\n"
                "7f20 default\n");

    ck_assert(observation_take(&request, &seen));
    ck_assert_uint_eq(seen.processes, 2);
    ck_assert_uint_eq(bitset_count(&seen.cpus), 3);
    ck_assert(bitset_has(&seen.cpus, 7));
    ck_assert(seen.has_memory);
    ck_assert_uint_eq(seen.bytes, (8 + 8 + 2) * 4096);
    ck_assert_uint_eq(seen.bytes_elsewhere, 2 * 4096);
    ck_assert_int_eq(observation_percent(&seen), 88);
}
END_TEST

START_TEST(a_process_that_is_gone_is_not_seen)
{
    CLEANUP_SCRATCH char *proc = scratch_new();
    const struct observation_request request = {.proc = proc, .main = 10};
    struct observation seen;

    ck_assert(!observation_take(&request, &seen));
    put(proc, 10, "status", "Name:\tx\nState:\tZ (zombie)\n");
    ck_assert(!observation_take(&request, &seen));
}
END_TEST

START_TEST(a_first_process_that_ends_has_not_left_its_cgroup)
{
    CLEANUP_SCRATCH char *proc = scratch_new();
    CLEANUP_FREE char *listed = xasprintf("%s/cgroup.procs", proc);
    CLEANUP_FREE char *cgroup = xasprintf("x\n2 0 %s\n", proc);
    const struct observation_request request = {
        .proc = proc,
        .cgroup = cgroup,
        .main = 10,
    };
    struct observation seen;

    ck_assert_int_eq(file_write_atomic(listed, 0644, "11\n", 3, NULL), 0);
    put_process(proc, 10, "2", "");
    put_process(proc, 11, "2", "");

    ck_assert(observation_take(&request, &seen));
    ck_assert(seen.has_strayed);
    put(proc, 10, "statm", "0 0 0 0 0 0 0\n");
    ck_assert(observation_take(&request, &seen));
    ck_assert(!seen.has_strayed);
}
END_TEST

START_TEST(this_process_is_where_the_kernel_says_it_is)
{
    struct observation_request request = {
        .proc = "/proc",
        .main = getpid(),
        .memory_nodes = only(0),
    };
    struct observation seen;

    ck_assert_int_eq(live_record_read_start(getpid(), &request.main_start), 0);
    ck_assert(observation_take(&request, &seen));
    ck_assert_uint_ge(bitset_count(&seen.cpus), 1);
    if (access("/proc/self/numa_maps", R_OK) == 0)
        ck_assert_uint_gt(seen.bytes, 0);

    request.main_start++;
    ck_assert(!observation_take(&request, &seen));
}
END_TEST

/* More memory than numa_maps is used for. */
START_TEST(much_memory_is_asked_for_page_by_page)
{
    const size_t bytes = (size_t)1100 << 20;
    struct observation_request request = {
        .proc = "/proc",
        .main = getpid(),
        .memory_nodes = only(63),
    };
    struct page_count count = {0};
    struct observation seen;
    char *memory;

    /* The kernel lacks move_pages, or a sanitizer maps terabytes. */
    if (IS_SANITIZED || page_nodes_count("/proc", getpid(), &request.memory_nodes, 1, &count) < 0)
        return;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                  -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    ck_assert_int_eq(live_record_read_start(getpid(), &request.main_start), 0);
    ck_assert(observation_take(&request, &seen));
    ck_assert(seen.has_memory);
    ck_assert_uint_ge(seen.bytes, bytes);
    ck_assert_uint_lt(seen.bytes, bytes + ((size_t)512 << 20));
    ck_assert_int_eq(observation_percent(&seen), 0);
    munmap(memory, bytes);
}
END_TEST

START_TEST(a_deviation_from_the_grant_is_reported)
{
    const struct observation right = {
        .processes = 1,
        .cpus = only(2),
        .memory_nodes = only(0),
        .has_memory = true,
        .bytes = 100 << 20,
        .bytes_elsewhere = 4 << 20,
    };
    const struct placement_expectation expected = {
        .cpus = {{0x0c}},
        .memory_nodes = only(0),
    };
    const struct placement_expectation none = {.cpus = {{0}}};
    struct observation wrong = right;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    ck_assert(observation_check(&right, &expected, &words));
    ck_assert_uint_eq(words.length, 0);

    bitset_add(&wrong.cpus, 4);
    bitset_add(&wrong.memory_nodes, 1);
    wrong.bytes_elsewhere = 40 << 20;
    wrong.has_strayed = true;
    ck_assert(!observation_check(&wrong, &expected, &words));
    ck_assert_str_eq(words.text, "its first process has left its cgroup; "
                                 "may run on CPUs 4, which are not its own; "
                                 "may use memory of NUMA nodes 1, which are not its own; "
                                 "40 MiB of its 100 MiB of memory are on NUMA nodes that "
                                 "are not its own");

    wrong.has_strayed = false;
    ck_assert(observation_check(&wrong, &none, &words));
}
END_TEST

SUITE("observation", a_process_and_its_children_are_seen_together,
      a_process_that_is_gone_is_not_seen, a_first_process_that_ends_has_not_left_its_cgroup,
      this_process_is_where_the_kernel_says_it_is, much_memory_is_asked_for_page_by_page,
      a_deviation_from_the_grant_is_reported)
