/* SPDX-License-Identifier: Apache-2.0 */
/* step_nodes.c - the nodes of a job
 *
 * An agent watches only its own pods, so it learns the other nodes from the host file
 * that the pod was started with, which outlives the agent. It does
 * not know at all what the pods there have: each krun asks the agents of the nodes, and tells the manager.
 */
#include "agent/steps/step_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/pod_record.h"
#include "agent/pods/pods.h"
#include "agent/steps/step_place.h"
#include "agent/steps/step_socket.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/byte_text.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_info.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_order.h"

#define HOSTS_MOST     (1u << 20) /* bytes of a host file */
#define VARIABLES_MOST 512u

/* ---- The nodes of a job ---- */

struct step_nodes {
    struct arena *arena;
    const char **names;        /* in the order of their ranks */
    unsigned n, own;           /* own: the index of this node; n: it is none of them */
    struct step_place *places; /* NULL: no krun has told them */
};

void
step_nodes_free(struct step_nodes *n)
{
    if (n == NULL)
        return;
    arena_free(n->arena);
    free(n);
}

static unsigned
find_name(const struct step_nodes *n, const char *name)
{
    unsigned i = 0;

    while (i < n->n && strcmp(n->names[i], name) != 0)
        i++;
    return i;
}

struct step_nodes *
step_nodes_read(const struct agent_context *agent, const char *pod_uid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *path = pod_record_state_path(agent, pod_uid, HOSTFILE);
    struct step_nodes *n = xnew(struct step_nodes);
    unsigned most = 1;

    n->arena = arena_new(0);
    (void)file_read(path, HOSTS_MOST, &text, NULL);
    for (const char *c = text.text; *c != '\0'; c++)
        most += *c == '\n';
    n->names = arena_new_array(n->arena, const char *, most);
    for (const char *line = text.text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        n->names[n->n++] = arena_printf(n->arena, "%.*s", (int)strcspn(line, " \n"), line);
        line += line[length] == '\n' ? length + 1 : length;
    }
    n->own = find_name(n, agent->node);
    return n;
}

unsigned
step_nodes_count(const struct step_nodes *n)
{
    return n->n;
}

const char *
step_nodes_manager(const struct step_nodes *n)
{
    return n->names[0];
}

bool
step_nodes_is_manager(const struct step_nodes *n)
{
    return n->own == 0;
}

/* ---- What the pods there have ---- */

void
step_nodes_take_places(struct step_nodes *n, const char *text, size_t length)
{
    struct step_place *places;
    unsigned count;

    if (n->n < 2 || n->places != NULL)
        return;
    if (step_places_decode(n->arena, text, length, &places, &count, NULL) == 0 && count == n->n)
        n->places = places;
}

bool
step_nodes_have_places(const struct step_nodes *n)
{
    return n->places != NULL;
}

struct step_place *
step_nodes_copy_places(const struct step_nodes *n, struct arena *arena, struct step_place **ret_own)
{
    struct step_place *places = arena_memdup(arena, n->places, n->n * sizeof(*n->places));

    for (unsigned i = 0; i < n->n; i++)
        places[i].name = n->names[i];
    *ret_own = n->own < n->n ? &places[n->own] : NULL;
    if (*ret_own != NULL)
        **ret_own = (struct step_place){0};
    return places;
}

/* ---- The names of a pod ---- */

/* "NAMESPACE/GROUP": the same for all pods of an attempt of a job; NULL: it has no
 * other.
 */
static const char *
group_of(struct arena *arena, const struct object *pod)
{
    const char *group = pod_group_named_by(pod);

    return group != NULL ? arena_printf(arena, "%s/%s", pod->meta->namespace, group) : NULL;
}

char *
step_nodes_name_group(const struct object *pod)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *name = group_of(arena, pod);

    return name != NULL ? xstrdup(name) : NULL;
}

const char *
step_nodes_find_pod(const struct pods *pods, const char *name)
{
    return pods_has(pods, name) ? name : pods_find_of_group(pods, name);
}

/* ---- Answers ---- */

/* Control characters would take more room in the answer than a letter does. */
static bool
is_plain(const char *entry)
{
    for (; *entry != '\0'; entry++)
        if ((unsigned char)*entry < ' ')
            return false;
    return true;
}

/* The answer has the first that it has room for; of a pod that an agent of the release before
 * has started it has none.
 */
static void
add_variables(struct arena *arena, const struct agent_context *agent, const char *pod_uid,
              struct step_info *info)
{
    CLEANUP_FREE char *path = pod_record_run_path(agent, pod_uid, VARIABLES_FILE);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    size_t bytes = 0;

    if (file_read(path, VARIABLES_BYTES, &text, NULL) < 0)
        return;
    info->variables.items = arena_new_array(arena, const char *, VARIABLES_MOST);
    for (size_t at = 0; at < text.length; at += strlen(text.text + at) + 1) {
        const char *entry = byte_text_encode(arena, text.text + at);
        const size_t length = strlen(entry);

        if (!is_plain(entry) || info->variables.count == VARIABLES_MOST
            || bytes + length > STEP_INFO_VARIABLES_BYTES)
            continue;
        bytes += length;
        info->variables.items[info->variables.count++] = arena_strdup(arena, entry);
    }
}

void
step_nodes_answer(const struct step_nodes_settings *s, struct step_channel *connection,
                  const struct object *pod)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(step_nodes_freep) struct step_nodes *n = step_nodes_read(s->agent, pod->meta->uid);
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct step_cpu_order order = {.cpus = NULL};
    struct step_place place = {0};
    struct step_info info = {
        .cluster = s->agent->cluster,
        .group = group_of(arena, pod),
        .port = s->port,
        .agent_uid = s->agent->uid,
        .munge_socket = s->munge_socket,
        .nodes = {n->names, n->n},
    };

    step_place_fill(s->agent, pod, &order, &place);
    step_order_format(&place.cpus, place.order, &cpus);
    info.place = (struct step_info_place){
        .name = place.name,
        .cpus = cpus.text,
        .gpus = place.gpus,
        .memory_bytes = place.memory_bytes,
    };
    add_variables(arena, s->agent, pod->meta->uid, &info);
    step_info_encode(&info, &text);
    step_socket_answer(connection, STEP_FRAME_INFO, text.text);
    step_socket_close(connection);
    free(order.cpus);
}
