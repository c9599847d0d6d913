/* SPDX-License-Identifier: Apache-2.0 */
/* Each connection costs a credential of MUNGE on both machines, which block, so for hundreds
 * of nodes they are opened by threads. A job's pods start at about the same time, not at once:
 * a node whose agent does not know the pod yet is asked again.
 */
#include "cli/krun/krun_nodes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/krun/krun_grants.h"
#include "cli/krun/krun_link.h"
#include "cli/krun/krun_place.h"
#include "cli/krun/node_dial.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/thread.h"
#include "lib/step/step_info.h"
#include "lib/step/step_layout.h"

/* Connections that are opened at a time: each waits for MUNGE on both machines. */
#define THREADS_MOST 16u
/* A job's pods are started on all nodes at about the same time. */
#define PATIENCE_US  (60 * INT64_C(1000000))
#define AGAIN_US     50000

struct krun_nodes {
    struct arena *arena;
    struct krun_place place;
    char *pod_uid;
    struct step_info info; /* zeroed: the job has only this node */
    struct credential_backend *backend;
    bool is_impatient;          /* an agent that is away is not waited for */
    struct krun_grants *grants; /* in the place of MUNGE; or NULL */
};

void
krun_nodes_free(struct krun_nodes *n)
{
    if (n == NULL)
        return;
    credential_backend_free(n->backend);
    krun_grants_free(n->grants);
    free(n->pod_uid);
    arena_free(n->arena);
    free(n);
}

/* ---- Connections ---- */

/* Whether it is the node of the agent that is asked first; NULL is that one, too. */
static bool
is_first(const struct krun_nodes *n, const char *node)
{
    const char *first = n->place.socket != NULL ? n->info.place.name : n->place.node;

    return node == NULL || (first != NULL && strcmp(first, node) == 0);
}

static int
dial_first(struct krun_nodes *n, int *ret_fd, struct step_keys *ret_keys, struct error *err)
{
    const struct node_dial to = {
        .backend = n->backend,
        .grants = n->grants,
        .cluster = n->place.cluster,
        .node = n->place.node,
        .pod = n->pod_uid,
        .port = n->place.port,
        .agent_uid = n->place.agent_uid,
    };

    return n->place.socket != NULL
               ? krun_link_dial_own(n->place.socket, n->is_impatient, ret_fd, err)
               : node_dial(&to, ret_fd, ret_keys, err);
}

static int
dial(struct krun_nodes *n, const char *node, struct krun_link *l, struct error *err)
{
    const struct node_dial to = {
        .backend = n->backend,
        .grants = n->grants,
        .cluster = n->info.cluster,
        .node = node,
        .pod = n->info.group,
        .port = (unsigned)n->info.port,
        .agent_uid = (uid_t)n->info.agent_uid,
    };
    struct step_keys keys;
    const bool is_here = n->place.socket != NULL && is_first(n, node);
    int fd, r;

    if (is_first(n, node))
        r = dial_first(n, &fd, &keys, err);
    else if (n->info.port == 0 || n->info.group == NULL || n->info.cluster == NULL)
        r = error_set(err, -EHOSTUNREACH,
                      "the agent of this node has no port for steps (listen in agent.yaml), so "
                      "node '%s' is not reached",
                      node);
    else
        r = node_dial(&to, &fd, &keys, err);
    if (r < 0)
        return r;
    krun_link_open(l, fd, is_here ? NULL : &keys);
    l->node = node;
    explicit_bzero(&keys, sizeof(keys));
    return 0;
}

/* ---- Questions ---- */

/* The texts of the answer are the arena's. */
static int
ask_once(struct krun_link *l, const char *pod, struct arena *arena, struct step_info *ret_info,
         struct error *err)
{
    struct step_frame f;
    int r;

    krun_link_add(l, STEP_FRAME_ASK, pod, strlen(pod));
    r = krun_link_wait(l, &f, err);
    if (r < 0)
        return r;
    if (f.type == STEP_FRAME_REFUSE)
        return error_set(err, -ECONNREFUSED, "%.*s", (int)f.length, f.payload);
    if (f.type != STEP_FRAME_INFO)
        return error_set(err, -EBADMSG, "the agent's answer is not understood");
    return step_info_decode(arena, f.payload, f.length, ret_info, err);
}

/* An agent closes the connection while the job's pod is being started there, and when it is
 * restarted.
 */
static int
ask(struct krun_nodes *n, const char *node, struct arena *arena, struct step_info *ret_info,
    struct error *err)
{
    const int64_t began_us = clock_monotonic_us(&clock_system);
    for (;;) {
        struct krun_link l;
        int r = dial(n, node, &l, err);

        if (r < 0)
            return r;
        r = ask_once(&l, is_first(n, node) ? n->pod_uid : n->info.group, arena, ret_info, err);
        krun_link_close(&l);
        if (r == 0)
            return 0;
        if (r != -ECONNRESET || clock_monotonic_us(&clock_system) - began_us > PATIENCE_US)
            return node != NULL ? error_wrap(err, r, "node '%s'", node) : r;
        usleep(AGAIN_US);
    }
}

int
krun_nodes_open(const char *place, const char *pod_uid, bool is_single,
                struct krun_nodes **ret_nodes, struct error *err)
{
    CLEANUP(krun_nodes_freep) struct krun_nodes *n = xnew(struct krun_nodes);
    int r;

    n->arena = arena_new(0);
    n->pod_uid = xstrdup(pod_uid);
    r = krun_place_parse(n->arena, place, &n->place, err);
    if (r == 0 && n->place.grants_fd > 0)
        r = krun_grants_open(n->place.grants_fd, &n->grants, err);
    else if (r == 0 && n->place.socket == NULL)
        n->backend = credential_backend_new_munge(n->place.munge_socket);
    if (r == 0 && (n->place.socket == NULL || !is_single))
        r = ask(n, NULL, n->arena, &n->info, err);
    if (r < 0)
        return r;
    if (n->backend == NULL && n->grants == NULL && krun_nodes_are_several(n))
        n->backend = credential_backend_new_munge(n->info.munge_socket);
    *ret_nodes = n;
    n = NULL;
    return 0;
}

bool
krun_nodes_are_several(const struct krun_nodes *n)
{
    return n->info.nodes.count > 1;
}

int
krun_nodes_dial_again(struct krun_nodes *n, const char *node, struct krun_link *l,
                      struct error *err)
{
    n->is_impatient = true;
    return dial(n, node, l, err);
}

int
krun_nodes_dial_manager(struct krun_nodes *n, struct krun_link *l, struct error *err)
{
    return dial(n, krun_nodes_are_several(n) ? n->info.nodes.items[0] : NULL, l, err);
}

const char *const *
krun_nodes_variables(const struct krun_nodes *n, unsigned *ret_n)
{
    *ret_n = n->info.variables.count;
    return n->info.variables.items;
}

/* Several threads do the same for the elements of a list; the first error stays. */
struct each {
    struct krun_nodes *nodes;
    int (*fn)(struct each *each, unsigned index, struct error *err);
    unsigned count;
    atomic_uint next;
    atomic_bool has_failed;
    pthread_mutex_t lock;
    struct error error;
    /* of the two uses */
    const struct step_layout *layout;
    struct krun_link *links;
    struct step_info_place *places;
};

static void *
run_each(void *arg)
{
    struct each *e = arg;
    unsigned i;

    while (!atomic_load(&e->has_failed) && (i = atomic_fetch_add(&e->next, 1)) < e->count) {
        struct error err = {0};

        if (e->fn(e, i, &err) >= 0)
            continue;
        pthread_mutex_lock(&e->lock);
        if (e->error.code == 0)
            e->error = err;
        pthread_mutex_unlock(&e->lock);
        atomic_store(&e->has_failed, true);
    }
    return NULL;
}

/* The caller is one of the threads. */
static int
for_each(struct each *e, struct error *err)
{
    pthread_t threads[THREADS_MOST];
    unsigned n = 0;

    pthread_mutex_init(&e->lock, NULL);
    while (n + 1 < e->count && n < THREADS_MOST
           && thread_start(&threads[n], "krun-dial", run_each, e) == 0)
        n++;
    (void)run_each(e);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    pthread_mutex_destroy(&e->lock);
    return e->error.code == 0 ? 0 : error_set(err, e->error.code, "%s", e->error.text);
}

static int
dial_one(struct each *e, unsigned i, struct error *err)
{
    return dial(e->nodes, e->layout->nodes[i].name, &e->links[i], err);
}

int
krun_nodes_dial(struct krun_nodes *n, const struct step_layout *layout, struct krun_link *links,
                struct error *err)
{
    struct each e = {.nodes = n, .fn = dial_one, .count = layout->n_nodes, .layout = layout};
    int r;

    e.links = links;
    for (unsigned i = 0; i < layout->n_nodes; i++)
        links[i].fd = -1;
    r = for_each(&e, err);
    for (unsigned i = 0; r < 0 && i < layout->n_nodes; i++)
        krun_link_close(&links[i]);
    return r;
}

/* ---- Places ---- */

/* The arena belongs to all threads, so each question has one of its own. */
static int
ask_one(struct each *e, unsigned i, struct error *err)
{
    struct krun_nodes *n = e->nodes;
    const char *node = n->info.nodes.items[i];
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_info info;
    int r = ask(n, node, arena, &info, err);

    if (r < 0)
        return r;
    pthread_mutex_lock(&e->lock);
    e->places[i] = info.place;
    e->places[i].name = node;
    if (info.place.cpus != NULL)
        e->places[i].cpus = arena_strdup(n->arena, info.place.cpus);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

int
krun_nodes_ask_places(struct krun_nodes *n, struct strbuf *out, struct error *err)
{
    struct each e = {.nodes = n, .fn = ask_one, .count = n->info.nodes.count};
    int r;

    e.places = arena_new_array(n->arena, struct step_info_place, e.count);
    r = for_each(&e, err);
    if (r == 0)
        step_places_encode(e.places, e.count, out);
    return r;
}
