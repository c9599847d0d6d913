/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - the cgroup that one pod's processes are in
 *
 * One directory per hierarchy that is used: one on v2, several on v1. Made by
 * cgroot.h, and used for one pod at a time: for another only after a reset,
 * which says whether that can be. Freeing the struct leaves the directories
 * alone.
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

/* Joins a process to v1 hierarchies and to v2: at most this many files. */
#define CGROUP_MAX_DIRS 8u

struct cgroup_usage {
    uint64_t peak_memory_bytes; /* 0 where the kernel does not say */
    uint64_t cpu_user_us;
    uint64_t cpu_system_us;
    uint64_t oom_kills;
    bool has_memory; /* peak and OOM kills were counted */
    bool has_cpu;    /* CPU times were */
};

/* Life. New makes the struct alone; place says where it stands in one
 * hierarchy, the one used for tracking first. A lazy directory is made when it
 * is first written to. Parse takes what format wrote.
 */
void cgroup_free(struct cgroup *c);
struct cgroup *cgroup_new(const char *name) OWNED_BY(cgroup_free);
struct cgroup *cgroup_dup(const struct cgroup *c) OWNED_BY(cgroup_free);
void cgroup_add_directory(struct cgroup *c,
                          unsigned version,
                          unsigned controllers,
                          bool is_lazy,
                          char *directory TAKES);
int cgroup_parse(const char *text, struct cgroup **ret_c, struct error *err);
void cgroup_format(const struct cgroup *c, struct strbuf *out);
DEFINE_CLEANUP(struct cgroup, cgroup_free)

/* The directories. Make fails with -EEXIST when one is there already, and then
 * leaves nothing of its own behind; remove takes along what was made inside
 * and fails with -EBUSY while a process is left.
 */
int cgroup_make(struct cgroup *c, struct error *err);
int cgroup_remove(struct cgroup *c, struct error *err);

/* Limits. -EOPNOTSUPP where no hierarchy has the controller: see
 * cgroot_ability. Memory is a hard limit and leaves no swap, where swap is
 * counted; on v2 an OOM kill takes the whole cgroup. Weight is v2's: 100 is
 * usual, 1 to 10,000.
 */
int cgroup_set_cpus(struct cgroup *c,
                    const char *cpus,
                    const char *memory_nodes,
                    struct error *err);
/* Of v2: a scheduling domain of its own ("root"), or one without balancing
 * ("isolated"). -EINVAL with the kernel's reason where it does not let it, and
 * then it stays a member of what is around it.
 */
int cgroup_set_partition(struct cgroup *c, const char *kind, struct error *err);
int cgroup_set_memory(struct cgroup *c, uint64_t bytes, struct error *err);
int cgroup_set_weight(struct cgroup *c, unsigned weight, struct error *err);
int cgroup_set_max_processes(struct cgroup *c, uint64_t n, struct error *err);
/* Of one size of page. Where the kernel can, what is mapped counts, so that
 * too much is refused by mmap and not when it is touched.
 */
int cgroup_set_hugepages(struct cgroup *c,
                         uint64_t page_bytes,
                         uint64_t bytes,
                         struct error *err);

/* These devices can be opened by none of its processes any more, others as
 * before (v1: devices controller; v2: a BPF program, which needs root and a
 * kernel with CONFIG_CGROUP_BPF). Once for a cgroup. Try says whether the
 * kernel takes such programs.
 */
struct device_number {
    bool is_block;
    unsigned major, minor;
};
int cgroup_deny_devices(struct cgroup *c,
                        const struct device_number *denied,
                        unsigned n,
                        struct error *err);
int cgroup_try_device_program(void);

/* Another pod's. Reset makes an empty cgroup as good as new: 0, -EBUSY while
 * something is left in it, or -EOPNOTSUPP where the last pod would show to the
 * next one and it is to be removed instead (cgroup_kill, an OOM kill, much memory
 * that stays charged, a peak that cannot be reset, devices denied). Limits stay as they
 * are; once those of the next pod are set, set_back undoes the others. Was_used
 * says that it had a pod before.
 */
int cgroup_reset(struct cgroup *c);
int cgroup_set_back(struct cgroup *c, struct error *err);
bool cgroup_was_used(const struct cgroup *c);

/* Processes. Open_join_files opens one file per hierarchy that has to be joined
 * by writing "0" to it, which a child may do between fork and exec; returns how
 * many. Open_clone opens the v2 directory for CLONE_INTO_CGROUP, -EOPNOTSUPP
 * without v2; with it, they are needed for v1 only (`with_v2` false).
 */
int cgroup_add(struct cgroup *c, pid_t pid, struct error *err);
int cgroup_open_join_files(const struct cgroup *c,
                           bool with_v2,
                           int fds[CGROUP_MAX_DIRS],
                           struct error *err);
int cgroup_open_clone(const struct cgroup *c);

/* Visit calls for each process, those in cgroups inside too, and stops at the
 * first result that is not 0. Signal sends one to each process once. Kill ends
 * them all: at once on v2, and elsewhere those found now, frozen meanwhile
 * where possible: repeat it, with a pause, until the cgroup is empty. Neither
 * waits. Is_empty answers 1, 0 or a negative errno. The events path is that of
 * a file whose change (inotify IN_MODIFY, or poll's POLLPRI) says that is_empty
 * may have changed; NULL where one has to ask again. Owned by the caller.
 */
typedef int cgroup_process_fn(pid_t pid, void *context);
int cgroup_visit_processes(const struct cgroup *c,
                           cgroup_process_fn *visit,
                           void *context);
int cgroup_signal(const struct cgroup *c, int signal_number);
int cgroup_kill(const struct cgroup *c, struct error *err);
int cgroup_is_empty(const struct cgroup *c);
char *cgroup_dup_events_path(const struct cgroup *c);

/* Makes all of its processes stand still, those that are forked and moved into
 * it too, or go on. That takes a moment: is_frozen answers 1 once it is so, or 0.
 * -EOPNOTSUPP where neither v2 nor v1 can.
 */
int cgroup_freeze(const struct cgroup *c, bool still);
int cgroup_is_frozen(const struct cgroup *c);

/* Look */
const char *cgroup_name(const struct cgroup *c);
bool cgroup_has(const struct cgroup *c, unsigned controller);
void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret_usage);

/* How much memory of its own (anonymous) it has on each NUMA node, by the
 * kernel's number. -EOPNOTSUPP where nothing counts that.
 */
int cgroup_read_memory_nodes(const struct cgroup *c,
                             unsigned n_nodes,
                             uint64_t ret_bytes[]);
/* Memory that cannot be dropped when it gets short: all but files that were
 * not used of late. False where no hierarchy counts it.
 */
bool cgroup_read_working_set(const struct cgroup *c, uint64_t *ret_bytes);
