/* SPDX-License-Identifier: Apache-2.0 */
/* partition.h - a set of nodes with limits of its own: kind Partition
 *
 * Slurm's partition. A pod names one in spec.placement.partition, or several
 * of which the first with room is taken ("a,b"). Nodes may be in several.
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

/* The partition over all nodes that every cluster begins with. */
#define PARTITION_ALL "all"

struct partition_spec {
    const struct label_selector *selector; /* NULL: every node */
    const char *default_time;              /* partition_time_s; "": none */
    const char *maximum_time;
    const char *default_memory_per_cpu; /* quantities; "" or NULL: none */
    const char *maximum_memory;
    const char *maximum_cpus;
    int64_t maximum_nodes; /* 0: none */
    LIST_OF(const char *) allowed_users;
    LIST_OF(const char *) allowed_groups;
    LIST_OF(const char *) allowed_accounts; /* namespaces */
    int64_t priority_tier;       /* partition_tier; 0: the usual one */
    const char *preemption_mode; /* Off, Requeue, Cancel, Suspend; "":
                                    Requeue */
    const char *grace_time;      /* of what is preempted; "": its own */
    int64_t maximum_requeues;    /* of a job that is interrupted; 0: any */
    const char *exclusive;       /* "", Node, User */
    const char *state;           /* Up, Drain, Down, Inactive; "": Up */
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
    PARTITION_BY_DEFAULT, /* "default": the one of jobs that name none */
};

/* Whether it takes new jobs, and whether jobs that wait in it may start. */
bool partition_takes_jobs(const struct partition *p);
bool partition_starts_jobs(const struct partition *p);

/* Pods of a higher tier go before those of a lower one, whatever their
 * priorities. Of names: the lowest of "a,b", since the pod may come to run in
 * that; names that are not there, or none, are of the usual tier.
 */
#define PARTITION_USUAL_TIER 1
int64_t partition_tier(const struct partition *p);
typedef const struct object *
partition_find_fn(void *owner, const char *kind, const char *name);
int64_t partition_tier_of_names(const char *names,
                                partition_find_fn *find,
                                void *owner);

/* Whether a node that one of its pods is on is for pods of that user alone. Of
 * names: whether any is so, since the pod may come to run in that.
 */
bool partition_is_of_one_user(const struct partition *p);
bool partition_names_are_of_one_user(const char *names,
                                     partition_find_fn *find,
                                     void *owner);

/* How often a job of these names may start anew when it is interrupted: the least
 * of those that say so, since it may run in any of them; 0: none does.
 */
int64_t partition_maximum_requeues(const char *names,
                                   partition_find_fn *find,
                                   void *owner);

/* The fate of its pods when others of a higher priority need their room. */
enum partition_preemption {
    PREEMPTION_REQUEUES, /* they start anew, where their Job may */
    PREEMPTION_IS_OFF,   /* they stay */
    PREEMPTION_CANCELS,  /* their Job has ended with that */
    PREEMPTION_SUSPENDS, /* they stand still, and go on afterwards */
};
enum partition_preemption partition_preemption(const struct partition *p);
enum partition_preemption partition_preemption_mode(const char *word);

/* Of the names "a,b" the first with a node of these labels, or NULL. `find` has
 * the object of a kind and name.
 */
const struct partition *partition_find_of_node(const char *names,
                                               const struct string_map *labels,
                                               partition_find_fn *find,
                                               void *owner);

/* "is down (new switch)", "is draining" */
void partition_format_state(const struct partition *p, struct strbuf *out);

bool partition_has_all_nodes(const struct partition *p);
bool partition_has_node(const struct partition *p,
                        const struct string_map *labels);

/* The seconds of "4h", "4:00:00", "1-00:00:00"; 0 of "none", "" and NULL; -1 of
 * anything else. A number alone is minutes, as ksub -t has it.
 */
int64_t partition_time_s(const char *text);

/* The time of jobs that ask for none: the default, or the maximum where there is
 * no default or a longer one. 0: none.
 */
int64_t partition_given_time_s(const char *default_time,
                               const char *maximum_time);

/* The names of "a,b": where the next begins and its length, 0 behind the last.
 *
 *     for (const char *at = list; (n = partition_next_name(&at)) > 0; at += n)
 */
size_t partition_next_name(const char **at);
