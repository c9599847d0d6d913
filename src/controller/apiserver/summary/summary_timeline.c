/* SPDX-License-Identifier: Apache-2.0 */
/* summary_timeline.c - nodes with the pods that run there, until when, and the
 * pods that are planned there:
 *
 *   {"now": "2026-...", "total": 5000, "nodes": [{"name": "n1", "state":
 *    "Mixed", "cpus": 64, ..., "jobs": [{"id": 12, "name": "run", "user":
 *    "alice", "pod": "job-12-0", "milliCPU": 4000, "start": "2026-...", "end":
 *    "2026-...", "isPlanned": true}, ...], "more": 3}, ...]}
 *
 * `milliCPU` is what the job uses of the node or will use: all of it for an
 * exclusive job. Beside `jobs` a node has `reservations[]` {name, start, end,
 * isMaintenance}. A job without an `end` has no time limit, or is suspended
 * (`isFrozen`) for an unknown time. A job that has yielded its cores
 * (`hasLentCores`) has an end when the jobs on those cores have one: theirs
 * plus what is left of its own limit. `?nodes=n1,n2` names the nodes; without
 * it they are the first `limit` by name. The document has of a job what tables
 * of jobs show to everybody.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/node_use.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_times.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PATH "/kiln/v1/timeline"

#define NODES_DEFAULT 40u
#define NODES_MOST    256u

/* The most pods of one node, and of all nodes; the rest is only counted. */
#define JOBS_OF_NODE 64u
#define JOBS_LEAST   16u
#define JOBS_MOST    4096u

#define NODES_A_TURN 256u /* examined to find the first by name */

#define WINDOWS_OF_NODE 16u
#define WINDOWS_MOST    8u /* of one recurring reservation */

#define SECOND_US  INT64_C(1000000)
#define HORIZON_US (60 * 86400 * SECOND_US)

/* A node of the answer, to look up by name. */
struct made {
    const char *name;
    struct json *tree;
};

struct timeline_summary {
    struct time_slice time_slice;
    struct request *q;
    struct json *nodes;
    struct made *made; /* sorted when complete */
    size_t n_made;
    char after[OBJECT_KEY_SIZE]; /* the node, and later the reservation, that
                                  * was examined last
                                  */
    bool is_choosing;            /* of the first nodes by name */
    size_t looked;               /* nodes, in this turn */
    bool is_over;
    const char **names; /* in the order of the answer */
    size_t count, done;
    size_t most;
    size_t total;
    int64_t now_us;
};

bool
summary_timeline_is_asked(const char *path)
{
    return strcmp(path, PATH) == 0;
}

/* ---- The nodes ---- */

static bool
take_limit(struct timeline_summary *s, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > NODES_MOST) {
        reply_bad_request(&s->q->reply, "limit: '%.64s' is not a number from 1 to %u", text,
                          NODES_MOST);
        return false;
    }
    s->most = value;
    return true;
}

static bool
take_names(struct timeline_summary *s, const char *list)
{
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        const char *name = arena_strndup(s->q->arena, at, length);

        at += length + (at[length] == ',');
        if (length == 0)
            continue;
        if (s->count == NODES_MOST) {
            reply_bad_request(&s->q->reply, "nodes: more than %u", NODES_MOST);
            return false;
        }
        if (store_find(s->q->server->store, STORE_PUBLISHED, &node_kind, NULL, name) == NULL) {
            reply_fail(&s->q->reply,
                       &(struct reply_failure){
                           .code = 404,
                           .reason = "NotFound",
                           .message = arena_printf(s->q->arena, "node \"%.253s\" not found", name),
                       });
            return false;
        }
        s->names[s->count++] = name;
    }
    return true;
}

/* Returns the index at which the name belongs among those kept so far. */
static size_t
place_of(const struct timeline_summary *s, const char *name)
{
    size_t from = 0, until = s->count;

    while (from < until) {
        size_t middle = from + (until - from) / 2;

        if (strverscmp(name, s->names[middle]) < 0)
            until = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* Keeps the first nodes by name, a few of many; n2 comes before n10. */
static bool
keep_if_first(const struct object *object, void *context)
{
    struct timeline_summary *s = context;
    size_t at = place_of(s, object->meta->name);

    s->total++;
    s->looked++;
    object_key(object, s->after);
    if (at < s->most) {
        s->count -= s->count == s->most;
        memmove(s->names + at + 1, s->names + at, (s->count - at) * sizeof(*s->names));
        s->names[at] = arena_strdup(s->q->arena, object->meta->name);
        s->count++;
    }
    return s->looked < NODES_A_TURN;
}

/* Examines some of all nodes in each turn. */
static void
choose_some(struct timeline_summary *s)
{
    char after[OBJECT_KEY_SIZE];

    memcpy(after, s->after, sizeof(after));
    s->looked = 0;
    store_list(s->q->server->store, &node_kind, NULL, after[0] != '\0' ? after : NULL, 0,
               keep_if_first, s);
    if (s->looked < NODES_A_TURN) {
        s->is_choosing = false;
        s->after[0] = '\0';
    }
}

/* ---- Pods ---- */

static void
set_time(struct arena *arena, struct json *tree, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    time_format(us, false, text);
    json_set_string(arena, tree, name, text);
}

static const struct job *
find_job(const struct request *q, const struct pod *pod)
{
    const struct owner_reference *owner = meta_controller_of(&pod->meta, &job_kind);
    const struct object *job = owner != NULL
                                   ? store_find(q->server->store, STORE_PUBLISHED, &job_kind,
                                                pod->meta.namespace, owner->name)
                                   : NULL;

    return job != NULL ? job_of(job) : NULL;
}

static void
add_identity(struct request *q, struct json *tree, const struct pod *pod)
{
    const struct job *job = find_job(q, pod);
    const char *user = string_map_find(&pod->meta.annotations, ANNOTATION_USER);
    const char *name =
        job != NULL ? string_map_find(&job->meta.annotations, ANNOTATION_JOB_NAME) : NULL;

    if (job != NULL && job->status.id > 0)
        json_set_int(q->arena, tree, "id", job->status.id);
    if (name == NULL)
        name = job != NULL ? job->meta.name : pod->meta.name;
    json_set_string(q->arena, tree, "name", name);
    if (user != NULL)
        json_set_string(q->arena, tree, "user", user);
    json_set_string(q->arena, tree, "pod", pod->meta.name);
}

struct jobs {
    struct timeline_summary *making;
    const struct node *node;
    struct json *list;
    size_t most, more;
    bool is_planned;
};

/* The end by the time limit, extended by the time of suspensions so far;
 * INT64_MAX: no limit.
 */
static int64_t
limit_end_us(const struct timeline_summary *s, const struct pod *pod, int64_t start_us)
{
    return pod_limit_end_us(pod, start_us, pod_frozen_us(pod, s->now_us));
}

/* The end of the last pod that has one of the pod's CPUs. */
struct taken {
    const struct timeline_summary *making;
    const struct pod *pod;
    struct bitset cpus;
    int64_t free_at_us;
};

static bool
note_taker(const struct object *object, void *context)
{
    struct taken *t = context;
    const struct pod *pod = pod_of(object);
    const struct allocation *a = pod->status.allocation;
    struct bitset cpus;
    int64_t end_us;

    if (pod == t->pod || pod_is_finished(pod) || a == NULL || a->cpus == NULL
        || pod_has_yielded(pod) || cpuset_parse(a->cpus, &cpus, NULL) < 0
        || !bitset_intersects(&cpus, &t->cpus))
        return true;
    end_us = limit_end_us(t->making, pod, pod_began_us(pod, t->making->now_us));
    if (pod_is_frozen(pod))
        end_us = INT64_MAX;
    if (end_us > t->free_at_us)
        t->free_at_us = end_us;
    return true;
}

/* The expected end of a pod that has yielded, computed as the scheduler does.
 */
static int64_t
end_after_others_us(struct timeline_summary *s, const struct pod *pod, int64_t start_us)
{
    struct taken taken = {.making = s, .pod = pod, .free_at_us = s->now_us};
    int64_t end_us = limit_end_us(s, pod, start_us);

    if (!pod_has_yielded(pod) || end_us == INT64_MAX || pod->status.allocation == NULL
        || pod->status.allocation->cpus == NULL
        || cpuset_parse(pod->status.allocation->cpus, &taken.cpus, NULL) < 0)
        return INT64_MAX;
    store_visit_index(s->q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED,
                      pod->spec.node_name, note_taker, &taken);
    return taken.free_at_us == INT64_MAX ? INT64_MAX : end_us + (taken.free_at_us - s->now_us);
}

static bool
add_pod(const struct object *object, void *context)
{
    struct jobs *jobs = context;
    struct request *q = jobs->making->q;
    const struct pod *pod = pod_of(object);
    int64_t start_us, end_us;
    struct json *tree;

    if (pod_is_finished(pod))
        return true;
    if (json_count(jobs->list) == jobs->most) {
        jobs->more++;
        return true;
    }
    start_us =
        jobs->is_planned ? pod->status.cause->from_us : pod_began_us(pod, jobs->making->now_us);
    tree = json_object(q->arena);
    add_identity(q, tree, pod);
    json_set_int(q->arena, tree, "milliCPU",
                 jobs->is_planned ? node_use_planned_milli(pod, jobs->node)
                                  : node_use_held_milli(pod));
    set_time(q->arena, tree, "start", start_us);
    end_us = pod_is_frozen(pod) ? end_after_others_us(jobs->making, pod, start_us)
                                : limit_end_us(jobs->making, pod, start_us);
    if (end_us != INT64_MAX)
        set_time(q->arena, tree, "end", end_us);
    if (pod_is_frozen(pod))
        json_set_bool(q->arena, tree, "isFrozen", true);
    if (pod_has_yielded(pod))
        json_set_bool(q->arena, tree, "hasLentCores", true);
    if (jobs->is_planned)
        json_set_bool(q->arena, tree, "isPlanned", true);
    json_append(q->arena, jobs->list, tree);
    return true;
}

static void
add_node(struct timeline_summary *s, const char *name)
{
    struct request *q = s->q;
    const struct object *node =
        store_find(q->server->store, STORE_PUBLISHED, &node_kind, NULL, name);
    size_t share = JOBS_MOST / s->count;
    struct jobs jobs = {
        .making = s,
        .list = json_array(q->arena),
        .most = share > JOBS_OF_NODE ? JOBS_OF_NODE
                : share < JOBS_LEAST ? JOBS_LEAST
                                     : share,
    };
    struct json *tree;

    if (node == NULL)
        return;
    jobs.node = node_of(node);
    tree = summary_describe_node(q, jobs.node);
    for (unsigned turn = 0; turn < 2; turn++) {
        jobs.is_planned = turn == 1;
        store_visit_index(q->server->store, &pod_kind, turn == 0 ? POD_BY_NODE : POD_BY_PLAN,
                          STORE_PUBLISHED, name, add_pod, &jobs);
    }
    json_set(q->arena, tree, "jobs", jobs.list);
    if (jobs.more > 0)
        json_set_int(q->arena, tree, "more", (int64_t)jobs.more);
    json_append(q->arena, s->nodes, tree);
    s->made[s->n_made++] = (struct made){name, tree};
}

/* ---- Reservations ---- */

static int
compare_made(const void *a, const void *b)
{
    return strcmp(((const struct made *)a)->name, ((const struct made *)b)->name);
}

static void
add_window(struct timeline_summary *s, const struct made *made, const struct node_reservation *r,
           const struct reserved_window *w)
{
    struct arena *arena = s->q->arena;
    struct json *list, *tree;

    list = json_get(made->tree, "reservations");
    if (list == NULL) {
        list = json_array(arena);
        json_set(arena, made->tree, "reservations", list);
    }
    if (json_count(list) == WINDOWS_OF_NODE)
        return;
    tree = json_object(arena);
    json_set_string(arena, tree, "name", r->meta.name);
    set_time(arena, tree, "start", w->from_us);
    if (w->until_us != INT64_MAX)
        set_time(arena, tree, "end", w->until_us);
    if (r->spec.is_maintenance)
        json_set_bool(arena, tree, "isMaintenance", true);
    json_append(arena, list, tree);
}

/* The reservation's nodes that are in the answer, each once. */
static unsigned
find_its_nodes(const struct timeline_summary *s, const struct node_reservation *r,
               const struct made *found[NODES_MOST])
{
    const char *const *names;
    unsigned count = node_reservation_nodes(r, &names), n = 0;

    for (unsigned i = 0; i < count && n < NODES_MOST; i++) {
        const struct made wanted = {.name = names[i]};

        found[n] = bsearch(&wanted, s->made, s->n_made, sizeof(*s->made), compare_made);
        n += found[n] != NULL;
    }
    return n;
}

static void
add_reservation(struct timeline_summary *s, const struct node_reservation *r)
{
    const struct made *found[NODES_MOST];
    unsigned count = find_its_nodes(s, r, found);
    struct reserved_window w;
    int64_t at_us = s->now_us;

    for (unsigned turn = 0; count > 0 && turn < WINDOWS_MOST; turn++) {
        if (!node_reservation_window(r, at_us, &w) || w.from_us > s->now_us + HORIZON_US)
            return;
        for (unsigned i = 0; i < count; i++)
            add_window(s, found[i], r, &w);
        if (w.until_us == INT64_MAX)
            return;
        at_us = w.until_us;
    }
}

static bool
visit_reservation(const struct object *object, void *context)
{
    struct timeline_summary *s = context;

    add_reservation(s, node_reservation_of(object));
    object_key(object, s->after);
    s->is_over = false;
    return false;
}

/* One reservation a turn, because it may have all nodes. Returns false after
 * the last.
 */
static bool
add_next_reservation(struct timeline_summary *s)
{
    char after[OBJECT_KEY_SIZE];

    if (s->after[0] == '\0')
        qsort(s->made, s->n_made, sizeof(*s->made), compare_made);
    memcpy(after, s->after, sizeof(after));
    s->is_over = true;
    store_list(s->q->server->store, &reservation_kind, NULL, after[0] != '\0' ? after : NULL, 0,
               visit_reservation, s);
    return !s->is_over;
}

static bool
run_slice(struct time_slice *time_slice)
{
    struct timeline_summary *s = container_of(time_slice, struct timeline_summary, time_slice);
    struct request *q = s->q;
    struct json *tree;

    if (s->is_choosing) {
        choose_some(s);
        return true;
    }
    if (s->done < s->count)
        add_node(s, s->names[s->done++]);
    if (s->done < s->count || add_next_reservation(s))
        return true;
    tree = json_object(q->arena);
    set_time(q->arena, tree, "now", s->now_us);
    json_set_int(q->arena, tree, "total", (int64_t)s->total);
    json_set(q->arena, tree, "nodes", s->nodes);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
    return false;
}

static bool
choose_nodes(struct timeline_summary *s, const struct parameter *all, size_t count)
{
    const char *nodes = parameter_find(all, count, "nodes");
    const char *limit = parameter_find(all, count, "limit");

    if (limit != NULL && !take_limit(s, limit))
        return false;
    if (nodes == NULL || nodes[0] == '\0') {
        s->is_choosing = true;
        return true;
    }
    if (!take_names(s, nodes))
        return false;
    s->total = s->count;
    return true;
}

void
summary_timeline(struct request *q, const struct parameter *parameters, size_t count)
{
    struct timeline_summary *s;

    s = arena_alloc(q->arena, sizeof(*s));
    *s = (struct timeline_summary){
        .q = q,
        .nodes = json_array(q->arena),
        .names = arena_new_array(q->arena, const char *, NODES_MOST + 1),
        .made = arena_new_array(q->arena, struct made, NODES_MOST + 1),
        .most = NODES_DEFAULT,
        .now_us = clock_real_us(q->server->clock),
    };
    if (summary_check(q) && choose_nodes(s, parameters, count))
        time_slices_add(q->server->time_slices, &s->time_slice, run_slice);
    else
        request_finish(q);
}
