/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h - a set of nodes with limits of its own: kind Partition
 *
 * The same as Slurm's partition. A pod names one in spec.placement.partition,
 * or several ("a,b"), and gets the first with room. A node may be in several
 * partitions.
 *
 * Thread:  any; plain data.
 * See:     kiln-time(7).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/object/meta.h"
#include "lib/api/value/selector.h"

struct object;
struct strbuf;

/* The partition of all nodes, which every new cluster has. */
#define PARTITION_ALL "all"

struct partition_spec {
    const struct label_selector *selector; /* NULL: every node */
    const char *default_time;              /* partition_time_s; "": none */
    const char *maximum_time;
    const char *default_memory_per_cpu; /* quantities; "" or NULL: none */
    const char *maximum_memory;
    const char *maximum_cpus;
    int64_t maximum_nodes; /* 0: no limit */
    LIST_OF(const char *) allowed_users;
    LIST_OF(const char *) allowed_groups;
    LIST_OF(const char *) allowed_accounts; /* namespaces */
    int64_t priority_tier;                  /* see partition_tier; 0: the default */
    const char *preemption_mode;            /* Off, Requeue, Cancel, Suspend; "":
                                    Requeue */
    const char *grace_time;                 /* for preempted pods; "": the pod's own */
    int64_t maximum_requeues;               /* of an interrupted job; 0: no limit */
    const char *exclusive;                  /* "", Node, User */
    const char *state;                      /* Up, Drain, Down, Inactive; "": Up */
    const char *reason;
    bool is_default;
};

struct partition {
    struct meta meta;
    struct partition_spec spec;
};

extern const struct record partition_record;

const struct partition *partition_of(const struct object *object);

enum partition_index {
    PARTITION_BY_DEFAULT, /* "default": the default partition */
};

/* Whether the partition accepts new jobs, and whether its pending jobs may
 * start.
 */
bool partition_takes_jobs(const struct partition *p);
bool partition_starts_jobs(const struct partition *p);

/* Pods of a higher tier are scheduled before those of a lower one, whatever
 * their priorities. For names: the lowest tier of "a,b", since the pod may run
 * in that partition; the default tier for unknown names and for no names.
 */
#define PARTITION_USUAL_TIER 1
int64_t partition_tier(const struct partition *p);
typedef const struct object *partition_find_fn(void *owner, const char *kind, const char *name);
int64_t partition_tier_of_names(const char *names, partition_find_fn *find, void *owner);

/* Whether a node with one of the partition's pods may have only pods of the
 * same user. For names: whether any of the partitions says so, since the pod
 * may run there.
 */
bool partition_is_of_one_user(const struct partition *p);
bool partition_names_are_of_one_user(const char *names, partition_find_fn *find, void *owner);

/* Whether each of its pods has a node for itself. For names: whether that holds
 * in all, or in any of the partitions.
 */
bool partition_is_of_one_pod(const struct partition *p);
bool partition_names_are_of_one_pod(const char *names, partition_find_fn *find, void *owner,
                                    bool *ret_any);

/* The number of times that an interrupted job of these partitions may restart:
 * the smallest limit of those that have one, since the job may run in any; 0:
 * no limit.
 */
int64_t partition_maximum_requeues(const char *names, partition_find_fn *find, void *owner);

/* The effect of preemption on the partition's pods. */
enum partition_preemption {
    PREEMPTION_REQUEUES, /* they restart, if their Job may */
    PREEMPTION_IS_OFF,   /* they are not preempted */
    PREEMPTION_CANCELS,  /* their Job ends */
    PREEMPTION_SUSPENDS, /* they are suspended and continue later */
};
enum partition_preemption partition_preemption(const struct partition *p);
enum partition_preemption partition_preemption_mode(const char *word);

/* The first partition of "a,b" that contains a node with these labels, or NULL.
 * `find` returns the object of a kind and name.
 */
const struct partition *partition_find_of_node(const char *names, const struct string_map *labels,
                                               partition_find_fn *find, void *owner);

/* The partition in which a pod that names these starts on such a node, of which
 * it has the whole or a part: the first that has the node and is up, and whose
 * pods do not all have the whole, unless this one has; else the first that has
 * the node, because one that has gone down by now is better than none. NULL: none
 * has the node.
 */
const struct partition *partition_find_start(const char *names, const struct string_map *labels,
                                             bool has_whole_node, partition_find_fn *find,
                                             void *owner);

/* Appends "is down (new switch)" or "is draining". */
void partition_format_state(const struct partition *p, struct strbuf *out);

bool partition_has_all_nodes(const struct partition *p);
bool partition_has_node(const struct partition *p, const struct string_map *labels);

/* The seconds of "4h", "4:00:00" or "1-00:00:00"; 0 for "none", "" and NULL; -1
 * for anything else. A plain number means minutes, as in ksub -t.
 */
int64_t partition_time_s(const char *text);

/* The time limit of jobs that request none: the default, or the maximum if the
 * default is missing or longer. 0: no limit.
 */
int64_t partition_given_time_s(const char *default_time, const char *maximum_time);

/* The names of a list "a,b": moves *at to the next name and returns its length;
 * 0 at the end of the list.
 *
 *     for (const char *at = list; (n = partition_next_name(&at)) > 0; at += n)
 */
size_t partition_next_name(const char **at);
