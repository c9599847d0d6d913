/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - the cgroup that one pod's processes are in
 *
 * One directory per hierarchy that is used: one on v2, several on v1. cgroot.h
 * makes it. It serves one pod at a time, and another one only after a
 * successful cgroup_reset. Freeing the struct does not remove the directories.
 *
 * Called by: the agent (all of it), the shepherd (join, kill, usage) after
 *            cgroup_parse of what the agent formatted.
 * Thread:    one at a time; make and remove may take milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct cgroup;
struct error;
struct strbuf;

/* The most directories, and so join files, of one cgroup on v1 and v2 together.
 */
#define CGROUP_MAX_DIRS 8u

struct cgroup_usage {
    uint64_t peak_memory_bytes; /* 0 if the kernel does not provide it */
    uint64_t cpu_user_us;
    uint64_t cpu_system_us;
    uint64_t oom_kills;
    bool has_memory; /* peak and OOM kills were counted */
    bool has_cpu;    /* CPU times were counted */
};

/* Life. cgroup_new makes only the struct; cgroup_add_directory adds its
 * directory in one hierarchy, the tracking hierarchy first. A lazy directory is
 * made when it is first written to. cgroup_parse reads the text of
 * cgroup_format.
 */
void cgroup_free(struct cgroup *c);
struct cgroup *cgroup_new(const char *name) OWNED_BY(cgroup_free);
struct cgroup *cgroup_dup(const struct cgroup *c) OWNED_BY(cgroup_free);
void cgroup_add_directory(struct cgroup *c, unsigned version, unsigned controllers, bool is_lazy,
                          char *directory TAKES);
int cgroup_parse(const char *text, struct cgroup **ret_c, struct error *err);
void cgroup_format(const struct cgroup *c, struct strbuf *out);
DEFINE_CLEANUP(struct cgroup, cgroup_free)

/* The directories. cgroup_make fails with -EEXIST when one exists already, and
 * then removes those that it has made; cgroup_remove also removes cgroups
 * inside, and fails with -EBUSY while a process is left.
 */
int cgroup_make(struct cgroup *c, struct error *err);
int cgroup_remove(struct cgroup *c, struct error *err);

/* A cgroup inside another one, for some of its processes. It has a directory only in
 * the tracking hierarchy, and no limits of its own: its processes are in the outer
 * cgroup's directories elsewhere. Parsed from its text like any other.
 * cgroup_remove_inner is like cgroup_remove.
 */
struct cgroup *cgroup_new_inner(const struct cgroup *outer, const char *name) OWNED_BY(cgroup_free);
int cgroup_make_inner(struct cgroup *c, struct error *err);
int cgroup_remove_inner(struct cgroup *c, struct error *err);

/* Limits. -EOPNOTSUPP where no hierarchy has the controller: see
 * cgroot_ability. Memory is a hard limit that also forbids swap, where swap is
 * counted; on v2 an OOM kill takes the whole cgroup. Weight is in v2's unit: 1
 * to 10,000, default 100.
 */
int cgroup_set_cpus(struct cgroup *c, const char *cpus, const char *memory_nodes,
                    struct error *err);
/* v2 only: makes a scheduling domain of its own ("root"), or one without load
 * balancing ("isolated"). -EINVAL with the kernel's reason where the kernel
 * refuses; then the cgroup stays a member of its parent's partition.
 */
int cgroup_set_partition(struct cgroup *c, const char *kind, struct error *err);
int cgroup_set_memory(struct cgroup *c, uint64_t bytes, struct error *err);
int cgroup_set_weight(struct cgroup *c, unsigned weight, struct error *err);
int cgroup_set_max_processes(struct cgroup *c, uint64_t n, struct error *err);
/* The limit is for one page size. Where the kernel supports reservation limits,
 * mapped pages count, so that mmap refuses too much and no later page fault
 * does.
 */
int cgroup_set_hugepages(struct cgroup *c, uint64_t page_bytes, uint64_t bytes, struct error *err);

/* Denies all processes of the cgroup to open these devices; other devices are
 * not affected (v1: devices controller; v2: a BPF program, which needs root and
 * a kernel with CONFIG_CGROUP_BPF). At most once for a cgroup.
 * cgroup_try_device_program tells whether the kernel accepts such programs.
 */
struct device_number {
    bool is_block;
    unsigned major, minor;
};
int cgroup_deny_devices(struct cgroup *c, const struct device_number *denied, unsigned n,
                        struct error *err);
int cgroup_try_device_program(void);

/* Reuse for another pod. cgroup_reset clears the traces of the last pod: 0,
 * -EBUSY while something is left in the cgroup, or -EOPNOTSUPP where traces
 * would be visible to the next pod and the cgroup is to be removed instead
 * (cgroup_kill, an OOM kill, much memory that stays charged, a peak that cannot
 * be reset, devices denied). Limits remain; after the next pod's limits are
 * set, cgroup_set_back undoes the others. cgroup_was_used tells whether the
 * cgroup had a pod before.
 */
int cgroup_reset(struct cgroup *c);
int cgroup_set_back(struct cgroup *c, struct error *err);
bool cgroup_was_used(const struct cgroup *c);

/* Processes. cgroup_open_join_files opens one file per hierarchy that is joined
 * by writing "0" to it, which a child may do between fork and exec; it returns
 * their number. cgroup_open_clone opens the v2 directory for CLONE_INTO_CGROUP,
 * -EOPNOTSUPP without v2; with that descriptor, join files are needed for v1
 * only (`with_v2` false).
 */
int cgroup_add(struct cgroup *c, pid_t pid, struct error *err);
int cgroup_open_join_files(const struct cgroup *c, bool with_v2, int fds[CGROUP_MAX_DIRS],
                           struct error *err);
int cgroup_open_clone(const struct cgroup *c);

/* cgroup_visit_processes calls `visit` for each process, also of cgroups
 * inside, and stops at the first result that is not 0. cgroup_signal sends one
 * signal to each process once. cgroup_kill kills all: at once on v2; elsewhere
 * it kills the processes found now, frozen meanwhile where possible, so repeat
 * it, with a pause, until the cgroup is empty. Neither waits. cgroup_is_empty
 * returns 1, 0 or a negative errno. cgroup_dup_events_path returns the path,
 * owned by the caller, of a file whose change (inotify IN_MODIFY, or poll's
 * POLLPRI) means that cgroup_is_empty may have changed; NULL where the caller
 * has to poll.
 */
typedef int cgroup_process_fn(pid_t pid, void *context);
int cgroup_visit_processes(const struct cgroup *c, cgroup_process_fn *visit, void *context);
int cgroup_signal(const struct cgroup *c, int signal_number);
int cgroup_kill(const struct cgroup *c, struct error *err);
int cgroup_is_empty(const struct cgroup *c);
char *cgroup_dup_events_path(const struct cgroup *c);

/* Freezes all processes of the cgroup, also those that are forked or moved into
 * it later, or thaws them. That takes a moment: cgroup_is_frozen returns 1 when
 * all are frozen, else 0. -EOPNOTSUPP where neither v2 nor v1 can freeze.
 */
int cgroup_freeze(const struct cgroup *c, bool still);
int cgroup_is_frozen(const struct cgroup *c);

const char *cgroup_name(const struct cgroup *c);
bool cgroup_has(const struct cgroup *c, unsigned controller);
void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret_usage);

/* Anonymous memory on each NUMA node, by the kernel's number of the node.
 * -EOPNOTSUPP where no hierarchy counts it.
 */
int cgroup_read_memory_nodes(const struct cgroup *c, unsigned n_nodes, uint64_t ret_bytes[]);
/* Memory that the kernel cannot drop under memory pressure: all except file
 * pages that were not used recently. False where no hierarchy counts it.
 */
bool cgroup_read_working_set(const struct cgroup *c, uint64_t *ret_bytes);
/* Page cache of files, without shared memory. False where no hierarchy counts
 * it.
 */
bool cgroup_read_cache(const struct cgroup *c, uint64_t *ret_bytes);
