/* SPDX-License-Identifier: Apache-2.0 */
/* step_log.h - the steps of a pod on this node, for an agent that did not start them
 *
 * A file in /run for each pod that had a step. Each line is appended by one write:
 *
 *   begin ID KINDS CPUS GPUS MEMORY OWNER   the step has these; its kiln-step is about to
 *                              be started. An older agent wrote less: no OWNER, or no
 *                              GPUS and MEMORY either
 *   run ID PID TICKS           the process, and the kernel's start time of that pid
 *   end ID
 *
 * KINDS: "x", or "o" for a step that overlaps others; CPUS is a list, or "-".
 *
 * A job may have any number of steps, one after the other: the file is written anew, without
 * the ended ones, each time that it has grown by a megabyte.
 *
 * Thread: the loop's; the files are small, and in /run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/bitset.h"
#include "lib/base/macro.h"

struct error;

struct step_log_entry {
    int64_t id;
    bool overlaps;
    struct bitset cpus, gpus;
    int64_t memory_bytes;
    uid_t owner; /* 0: not known */
    pid_t pid;   /* 0: it had none yet */
    int64_t ticks;
};

int step_log_begin(const char *dir, const char *pod_uid, const struct step_log_entry *e,
                   struct error *err);
int step_log_run(const char *dir, const char *pod_uid, const struct step_log_entry *e,
                 struct error *err);
void step_log_end(const char *dir, const char *pod_uid, int64_t id);
void step_log_remove(const char *dir, const char *pod_uid);

/* Reads the steps that have not ended, and the next id. Lines that are torn are
 * ignored. The caller frees the entries. -ENOENT: the pod had no step.
 */
int step_log_read(const char *dir, const char *pod_uid, struct step_log_entry **ret_entries,
                  unsigned *ret_n, int64_t *ret_next_id);

/* Calls `visit` for each pod with a log. */
void step_log_visit(const char *dir, void (*visit)(const char *pod_uid, void *context),
                    void *context);
