/* SPDX-License-Identifier: Apache-2.0 */
/* stay.h - one pod's stay on this node, from its arrival to its last report
 *
 *   ARRIVED --> PREPARING --> LAUNCHED --> RUNNING --> ENDED --> DONE
 *      |            |             |                      ^         ^
 *      |            |             +----------------------+         |
 *      +------------+----------------------------------------------+
 *
 * ARRIVED: known. PREPARING: its blobs are fetched; directories and cgroup are
 * made and a shepherd started, on a worker. LAUNCHED: a shepherd has it.
 * RUNNING: the user's process was seen. ENDED: it is over, what is left of it
 * is removed; its cores are not free yet. DONE: clean; the end is told to the
 * API until that has it, however long that takes.
 *
 * A stay survives the agent: after a restart it is taken up from the disk and
 * from what the shepherd says of itself.
 *
 * Owns:    the pod's directories and cgroup, one reference to the pod.
 * Thread:  the loop's; its work on workers touches none of this.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/api/node/allocation.h"
#include "lib/base/macro.h"

struct blobs;
struct commons;
struct cgroup;
struct error;
struct ground;
struct mountings;
struct object;
struct stay;
struct strbuf;

enum stay_phase {
    STAY_ARRIVED,
    STAY_PREPARING,
    STAY_LAUNCHED,
    STAY_RUNNING,
    STAY_ENDED,
    STAY_DONE,
};

/* Reasons of refusals that are the condition AllocationBroken, too. */
#define BROKEN_OVERLAP  "AllocationOverlap"
#define BROKEN_NOT_HERE "AllocationNotHere"

/* The node cannot start pods now (ground.h). */
#define REFUSED_BROKEN "NodeBroken"

/* The stay is over and told, or the pod is gone from the API: it may be freed
 * (the callback does).
 */
typedef void stay_over_fn(struct stay *stay, void *context);

struct stay_settings {
    const struct ground *ground;
    struct blobs *blobs;
    struct mountings *mountings;
    struct commons *commons;
    stay_over_fn *over;
    stay_over_fn *holding_changed; /* it holds nothing any more, to be told
                                      yet, or it cannot be killed */
    allocation_given_fn *given; /* memory, to all pods here; NULL: not known */
    void *context;              /* of them all */
    unsigned *n_launched; /* how many of them are, on the way to RUNNING */
};

/* Life. Freeing stops following: a running pod goes on with its shepherd. */
void stay_free(struct stay *stay);
struct stay *stay_new(const struct stay_settings *settings,
                      const struct object *pod) OWNED_BY(stay_free);
DEFINE_CLEANUP(struct stay, stay_free)

/* Change. Start: runs it. Resume: takes up what an earlier agent left: a live
 * shepherd, an exit record, or a pod that was lost with the machine. Refuse:
 * ends it before it began. Await: keeps it until its cores are free, which its
 * owner looks after; it then resumes or is refused. Dismiss: it was over before
 * it came, and is let go.
 * Recheck: the node's topology is another, or memory that others were given is.
 * Update: the API has a newer state, a deletion perhaps. Tell_now: what waits to
 * be told once more. Vanish: the API has it no more: it is killed at once and
 * not told. Orphan: the API's store has lost it; it goes on, and is counted.
 */
void stay_start(struct stay *stay);
void stay_resume(struct stay *stay);
void stay_refuse(struct stay *stay, const char *reason, const char *message);
void stay_await(struct stay *stay);
void stay_update(struct stay *stay, const struct object *pod);
void stay_tell_now(struct stay *stay);
void stay_vanish(struct stay *stay);
void stay_orphan(struct stay *stay, bool is_orphan);
void stay_dismiss(struct stay *stay);
void stay_recheck(struct stay *stay);

/* Look. Format_cgroup: false while it has none, or the one it had is given back.
 */
enum stay_phase stay_phase(const struct stay *stay);
const struct object *stay_pod(const struct stay *stay);
const char *stay_uid(const struct stay *stay);
bool stay_holds_cores(const struct stay *stay);
bool stay_is_stuck(const struct stay *stay);   /* it cannot be killed */
bool stay_is_waiting(const struct stay *stay); /* for cores to be free */
bool stay_format_cgroup(const struct stay *stay, struct strbuf *out);
bool stay_is_orphan(const struct stay *stay);
bool stay_is_gone(const struct stay *stay);  /* from the API */
bool stay_has_lost(const struct stay *stay); /* what the machine had */

/* Something of it is here, and nobody else knows: the API has forgotten the pod
 * or given it up.
 */
bool stay_is_unclaimed(const struct stay *stay);

/* Where a process that runs is, borrowed until the next change; false while
 * none does.
 */
struct stay_footing {
    const struct object *pod;
    const struct cgroup *cgroup; /* NULL where there are none */
    pid_t shepherd;              /* 0: not known */
    int64_t started_at_us;
};
bool stay_find_footing(const struct stay *stay,
                       struct stay_footing *ret_footing);
