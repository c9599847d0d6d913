/* SPDX-License-Identifier: Apache-2.0 */
/* pod.h - a process on one node: what it needs, where it is, how it ended
 *
 * The struct has the fields that Kiln's own code reads; the field table in
 * pod.c has all of upstream's. Kiln's additions are spec.placement,
 * spec.execution, status.allocation, status.observed, status.usage and
 * status.cause.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/node/allocation.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/selector.h"

struct env_variable {
    const char *name;
    const char *value;
};

struct container_port {
    const char *name;
    int64_t container_port;
    int64_t host_port;
    const char *protocol;
    const char *host_ip;
};

struct resources {
    struct string_map requests; /* name to quantity */
    struct string_map limits;
};

struct volume_mount {
    const char *name;
    const char *mount_path;
    bool read_only;
};

struct container {
    const char *name;
    const char *image;
    LIST_OF(const char *) command;
    LIST_OF(const char *) args;
    const char *working_dir;
    LIST_OF(struct env_variable) env;
    LIST_OF(struct container_port) ports;
    struct resources resources;
    LIST_OF(struct volume_mount) volume_mounts;
    const char *restart_policy; /* "Always": a sidecar */
};

struct toleration {
    const char *key;
    const char *operator_;
    const char *value;
    const char *effect;
    const int64_t *toleration_seconds;
};

struct preferred_node_term {
    int64_t weight;
    struct node_selector_term preference;
};

struct node_affinity {
    const struct node_selector *required;
    LIST_OF(struct preferred_node_term) preferred;
};

struct pod_affinity_term {
    const struct label_selector *label_selector;
    LIST_OF(const char *) namespaces;
    const char *topology_key;
    const struct label_selector *namespace_selector;
    LIST_OF(const char *) match_label_keys;
    LIST_OF(const char *) mismatch_label_keys;
};

struct weighted_pod_affinity_term {
    int64_t weight;
    struct pod_affinity_term term;
};

struct pod_affinity {
    LIST_OF(struct pod_affinity_term) required;
    LIST_OF(struct weighted_pod_affinity_term) preferred;
};

struct affinity {
    const struct node_affinity *node_affinity;
    const struct pod_affinity *pod_affinity;
    const struct pod_affinity *pod_anti_affinity;
};

struct topology_spread {
    int64_t max_skew;
    const char *topology_key;
    const char *when_unsatisfiable;
    const struct label_selector *label_selector;
    const int64_t *min_domains;
    const char *node_affinity_policy;
    const char *node_taints_policy;
    LIST_OF(const char *) match_label_keys;
};

struct security_context {
    const int64_t *run_as_user;
    const int64_t *run_as_group;
    LIST_OF(int64_t) supplemental_groups;
};

/* Kiln: how cores and memory are chosen on the node. NULL members: the default.
 */
struct placement {
    const char *numa_policy;  /* none, best-effort, restricted,
                                 single-numa-node */
    const char *cpu_policy;   /* exclusive, shared */
    int64_t threads_per_core; /* 0: not given */
    int64_t cores_per_socket;
    const char *distribution;  /* pack, scatter, cyclic */
    const char *memory_policy; /* bind, preferred, interleave */
    const char *gpu_binding;   /* closest, none */
    const char *gpu_type;      /* words of the GPU's model */
    bool whole_node;           /* --exclusive */
    const char *partition;     /* one, or several: "a,b"; -p */
    const char *reservation;   /* --reservation */
};

struct rlimit_value {
    const char *name; /* "nofile", "stack", ...: RLIMIT_ in lower case */
    const char *soft; /* a number, or "unlimited" */
    const char *hard;
};

struct limit_signal {
    const char *name;       /* "USR1" */
    int64_t seconds_before; /* before the end of the time limit */
    bool batch_only;        /* only to the script, otherwise only to its children */
};

/* Kiln: the Unix properties of the process. Paths may contain %j %x %u %N %%.
 */
struct execution {
    const char *stdin_path; /* NULL: /dev/null */
    const char *stdout_path;
    const char *stderr_path; /* NULL: same as stdout */
    /* "truncate", "append"; by default the first attempt truncates, and later
     * ones append
     */
    const char *open_mode;
    const char *umask; /* "0022" */
    LIST_OF(struct rlimit_value) limits;
    const struct limit_signal *signal;
    int64_t fence_after_s;          /* 0: never */
    const char *checkpoint_command; /* for /bin/sh; NULL or "": none */
    bool bind_threads;              /* --thread-bind */
    const char *runs;               /* of a Job of several nodes: EXECUTION_RUNS_... */
};

/* Which pods of a Job run its program: the first, while the others hold their
 * resources, or each of them.
 */
#define EXECUTION_RUNS_FIRST "First"
#define EXECUTION_RUNS_EACH  "Each"

/* The command of a pod that only holds its resources: the agent's program. */
#define POD_PAUSE_COMMAND "kiln-pause"

struct scheduling_gate {
    const char *name;
};

struct pod_volume {
    const char *name;
    const char *claim_name; /* of persistentVolumeClaim, or NULL */
    bool read_only;
    const struct json *ephemeral; /* with volumeClaimTemplate, or NULL */
};

struct scheduling_group {
    const char *pod_group_name;
};

struct pod_spec {
    LIST_OF(struct container) containers;
    LIST_OF(struct container) init_containers;
    struct string_map overhead;
    const char *node_name;
    struct string_map node_selector;
    const struct affinity *affinity;
    LIST_OF(struct toleration) tolerations;
    LIST_OF(struct topology_spread) topology_spread;
    LIST_OF(struct scheduling_gate) scheduling_gates;
    const char *scheduler_name;
    const char *priority_class_name;
    const int64_t *priority;
    const char *preemption_policy;
    const char *restart_policy;
    const int64_t *active_deadline_seconds;
    const int64_t *termination_grace_seconds;
    const char *hostname;
    const char *subdomain;
    bool host_network;
    const struct security_context *security_context;
    LIST_OF(struct pod_volume) volumes;
    const struct scheduling_group *scheduling_group;
    const struct placement *placement;
    const struct execution *execution;
};

struct pod_condition {
    const char *type;
    const char *status; /* "True", "False", "Unknown" */
    const char *reason;
    const char *message;
    int64_t last_probe_at_us;
    int64_t last_transition_at_us;
};

/* The reason of a terminated container whose pod was told to end and then
 * ended with an exit code of its own choice, be it 0: the code does not say how
 * the pod ended.
 */
/* After a pod's uid, in requests to its agent: not its output but its standard
 * error, which has a file of its own.
 */
#define LOG_OF_ERROR "/stderr"

struct container_state {
    bool waiting, running, terminated; /* one at most */
    const char *reason;
    const char *message;
    int64_t exit_code;
    int64_t signal;
    int64_t started_at_us;
    int64_t finished_at_us;
};

/* Kiln: the agent's observations of the process. */
struct observed {
    const char *cpus;                    /* Cpus_allowed_list */
    const char *memory_nodes;            /* Mems_allowed_list */
    const int64_t *local_memory_percent; /* on the allocation's NUMA nodes */
    int64_t processes;
    int64_t at_us;
    const char *node_boot_id;
    bool has_own_end;
};

struct pod_usage { /* Kiln: totals, at the end or so far */
    int64_t peak_memory_bytes;
    int64_t user_cpu_us;
    int64_t system_cpu_us;
    const int64_t *rss_bytes;   /* of the peak, without page cache; NULL: unknown */
    const int64_t *cache_bytes; /* page cache, at the end */
    const int64_t *gpus;        /* of NVIDIA; NULL: no GPU, or their use is unknown */
    const int64_t *gpu_milli;   /* busy on average, in thousandths of a GPU */
    const int64_t *gpu_peak_bytes, *gpu_memory_bytes; /* used at most; all of their memory */
    const int64_t *read_bytes;                        /* of storage, at the end; NULL: unknown */
    const int64_t *written_bytes;
};

/* Kiln: why the pod waits or was ended, written by the component that decided it; job_reason.h
 * has the codes. It is removed when it no longer applies.
 */
struct pod_cause {
    const char *code;    /* "Resources" */
    const char *message; /* "waits for 2 CPUs on real" */
    int64_t from_us;     /* expected time; 0: unknown */
    bool is_assumed;     /* from_us is a guess: some pods have no limit */
    const char *node;    /* reserved for the pod from then; or NULL */
    bool is_final;       /* preempted, and its Job ends with that */
};

/* Kiln: the agent ends the pod, and it has not ended yet. */
struct pod_ending {
    const char *reason; /* as the container's will be: "DeadlineExceeded" */
    int64_t since_us;
};

struct pod_status {
    const char *phase; /* Pending, Running, Succeeded, Failed, Unknown */
    const char *reason;
    const char *message;
    const char *nominated_node_name;
    int64_t start_at_us; /* when the agent accepted it */
    LIST_OF(struct pod_condition) conditions;
    const struct json *container_statuses; /* as received */
    const char *qos_class;
    const struct allocation *allocation;
    const struct observed *observed;
    const struct pod_usage *usage;
    const struct pod_cause *cause;
    int64_t frozen_us; /* earlier suspensions, in total */
    const struct pod_ending *ending;
};

struct pod {
    struct meta meta;
    struct pod_spec spec;
    struct pod_status status;
};

/* The template from which pods are made. Its metadata is only in the text. Jobs
 * that are alike share the spec, which is never NULL.
 */
struct pod_template {
    const struct pod_spec *spec;
};

extern const struct record pod_record;
extern const struct record pod_spec_record;
extern const struct record pod_template_record;
extern const struct record pod_usage_record;
extern const struct record pod_cause_record;
extern const struct record pod_ending_record;

/* The view of an object of kind Pod. */
const struct pod *pod_of(const struct object *object);

bool pod_is_finished(const struct pod *pod);

/* The latest change of a condition: when a pod whose node is lost has ended. */
int64_t pod_last_transition_us(const struct pod *pod);

/* Whether others ended the pod: it was preempted or evicted, or lost with its node.
 * A process that had ended by itself before it heard of that was not disrupted.
 */
bool pod_was_disrupted(const struct pod *pod);

/* Whether the pod was ended by its deletion, and not by its process, whatever
 * the exit code. Its end is what the deletion was for.
 */
bool pod_was_ended(const struct pod *pod);

/* The partition, or several as "a,b": from the pod's own field, or from the
 * node label that former releases used; or NULL.
 */
const char *pod_spec_partition(const struct pod_spec *spec);

/* Whether a node with these labels is one that the pod asks for, by its
 * selector and its required affinity.
 */
bool pod_spec_wants_node(const struct pod_spec *spec, const struct string_map *labels,
                         const char *node_name);

/* The scratch that the pod requests by its ephemeral claims (ksub --tmp). */
int64_t pod_spec_scratch_bytes(const struct pod_spec *spec);

enum pod_index {
    POD_BY_NODE,      /* spec.nodeName; "" while pending */
    POD_BY_JOB,       /* the uid of the controlling Job */
    POD_BY_PLAN,      /* node reserved for a pending pod */
    POD_LIVE_BY_NODE, /* the node, if the pod has not ended */
    POD_LIVE_BY_JOB,  /* uid of the Job, if also on a node */
};

/* "bind", "preferred" or "interleave": the requested policy; otherwise "bind"
 * if the allocation has memory, and "preferred" if it has none, so that no
 * memory is the pod's own.
 */
const char *pod_memory_policy(const struct pod *pod);

/* Whether the pod's memory must stay on the NUMA nodes of its allocation. Every
 * memory policy except "preferred" requires this; "preferred" uses other nodes
 * when these are full.
 */
bool pod_is_memory_bound(const struct pod *pod);
/* Whether the pod ended before its program ran, for a reason that lies with the
 * node: trying it on another node repeats nothing.
 */
bool pod_was_not_started(const struct pod *pod);
/* Whether the pod was preempted in a way that also ends its job. */
bool pod_is_ended_by_preemption(const struct pod *pod);
/* Whether the processes of the pod are being ended: it is being deleted, or its
 * agent ends it because of its time limit.
 */
#define POD_OVER_LIMIT "over its time limit, and has not ended on SIGTERM yet"
bool pod_is_ending(const struct pod *pod);
/* A pod is frozen while its agent suspends it; it keeps its memory and cores.
 * pod_frozen_us is the total time suspended, including the present one.
 */
#define CONDITION_FROZEN "Frozen"
bool pod_is_frozen(const struct pod *pod);

/* Its program is the agent's, which holds resources. Without arguments it is one of those that
 * wait while the script runs elsewhere; with arguments, the first one of an allocation (kalloc).
 */
bool pod_pauses(const struct pod *pod, bool has_arguments);
static inline bool
pod_only_holds(const struct pod *pod)
{
    return pod_pauses(pod, false);
}
static inline bool
pod_is_allocation(const struct pod *pod)
{
    return pod_pauses(pod, true);
}

/* find_yield: for whom the pod must yield its cores while suspended
 * (ANNOTATION_YIELD), or NULL. has_yielded: the agent has confirmed it, so
 * others may run on the cores; the pod keeps its memory, devices and everything
 * else. is_going_on: the pod need not yield any more, and the agent will soon
 * confirm that it runs. cannot_freeze: the agent has reported that it cannot
 * suspend the pod.
 */
const char *pod_find_yield(const struct pod *pod);
bool pod_has_yielded(const struct pod *pod);
bool pod_is_going_on(const struct pod *pod);
bool pod_cannot_freeze(const struct pod *pod);
int64_t pod_frozen_us(const struct pod *pod, int64_t now_us);

const struct pod_condition *pod_find_condition(const struct pod *pod, const char *type);

/* The start barrier of a gang. The number of members that start together; 0: the pod
 * starts by itself. Awaits: it has not been told to start. Prepared: its agent reports
 * that nothing but that is missing, or it runs already: an agent of an earlier release
 * does not wait.
 */
#define CONDITION_PREPARED "Prepared"
int64_t pod_start_barrier(const struct pod *pod);
bool pod_awaits_start(const struct pod *pod);
bool pod_is_prepared(const struct pod *pod);

/* Whether a pod with that toleration tolerates the taint. */
struct taint;
bool toleration_tolerates(const struct toleration *toleration, const struct taint *taint);

/* The state of the pod's first container. False: none has been reported. */
bool pod_main_state(const struct pod *pod, struct container_state *ret_state);

/* The name of the claim behind a volume, or NULL. The claim of an ephemeral
 * volume is named after pod and volume.
 */
#define POD_CLAIM_NAME_SIZE 512
const char *pod_volume_claim(const struct pod *pod, const struct pod_volume *volume,
                             char buffer[POD_CLAIM_NAME_SIZE]);
