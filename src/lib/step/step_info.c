/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_info.h"

#include <errno.h>
#include <string.h>

#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_order.h"
#include "lib/step/step_request.h"

#define VALUES_MOST 4096u

static const struct field place_fields[] = {
    STRING("name", step_info_place, name, 0),
    STRING("cpus", step_info_place, cpus, 0),
    INT64("gpus", step_info_place, gpus, 0),
    INT64("memoryBytes", step_info_place, memory_bytes, 0),
};
static const struct record step_info_place_record = {
    .name = "StepPlace",
    .size = sizeof(struct step_info_place),
    RECORD_FIELDS(place_fields),
};

static const struct field info_fields[] = {
    STRING("cluster", step_info, cluster, 0),
    STRING("group", step_info, group, 0),
    LIST(STRING, "nodes", step_info, nodes, 0),
    INT64("port", step_info, port, 0),
    INT64("agentUID", step_info, agent_uid, 0),
    STRING("mungeSocket", step_info, munge_socket, 0),
    OBJECT("place", step_info, place, step_info_place, 0),
    LIST(STRING, "variables", step_info, variables, 0),
};
static const struct record info_record = {
    .name = "StepInfo",
    .size = sizeof(struct step_info),
    RECORD_FIELDS(info_fields),
};

void
step_info_encode(const struct step_info *info, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    json_print(record_encode(&info_record, arena, info), out);
}

int
step_info_decode(struct arena *arena, const char *text, size_t length, struct step_info *ret_info,
                 struct error *err)
{
    struct json *tree = json_parse_bounded(arena, text, length, VALUES_MOST, NULL, err);
    struct record_notes notes = {0};

    if (tree == NULL)
        return error_wrap(err, -EBADMSG, "the agent's answer");
    if (record_normalize(&info_record, arena, tree, &notes, err) < 0)
        return -EBADMSG;
    *ret_info = (struct step_info){0};
    record_decode(&info_record, arena, tree, ret_info);
    if (ret_info->nodes.count > STEP_NODES_MOST || ret_info->port < 0 || ret_info->port > UINT16_MAX
        || ret_info->agent_uid < 0 || ret_info->agent_uid > UINT32_MAX)
        return error_set(err, -EBADMSG, "the agent's answer: a number is out of range");
    return 0;
}

/* ---- Places ---- */

struct places_text {
    LIST_OF(struct step_info_place) places;
};

static const struct field places_fields[] = {
    OBJECTS("places", places_text, places, step_info_place, 0),
};
static const struct record places_record = {
    .name = "StepPlaces",
    .size = sizeof(struct places_text),
    RECORD_FIELDS(places_fields),
};

void
step_places_encode(const struct step_info_place *places, unsigned n, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct places_text p;

    p.places.items = arena_memdup(arena, places, n * sizeof(*places));
    p.places.count = n;
    json_print(record_encode(&places_record, arena, &p), out);
}

static int
fill_place(struct arena *arena, const struct step_info_place *from, struct step_place *p)
{
    *p = (struct step_place){.name = from->name, .memory_bytes = from->memory_bytes};
    if (from->name == NULL || from->name[0] == '\0' || from->cpus == NULL
        || step_order_parse(arena, from->cpus, &p->cpus, &p->order) < 0 || from->gpus < 0
        || from->gpus > STEP_CPUS_MOST || from->memory_bytes < 0)
        return -EBADMSG;
    p->gpus = (unsigned)from->gpus;
    return 0;
}

int
step_places_decode(struct arena *arena, const char *text, size_t length,
                   struct step_place **ret_places, unsigned *ret_n, struct error *err)
{
    struct json *tree = json_parse_bounded(arena, text, length, VALUES_MOST, NULL, err);
    struct record_notes notes = {0};
    struct places_text p = {0};
    struct step_place *places;

    if (tree == NULL)
        return error_wrap(err, -EBADMSG, "the nodes of the job");
    if (record_normalize(&places_record, arena, tree, &notes, err) < 0)
        return -EBADMSG;
    record_decode(&places_record, arena, tree, &p);
    if (p.places.count == 0 || p.places.count > STEP_NODES_MOST)
        return error_set(err, -EBADMSG, "the nodes of the job: their number is out of range");
    places = arena_new_array(arena, struct step_place, p.places.count);
    for (unsigned i = 0; i < p.places.count; i++)
        if (fill_place(arena, &p.places.items[i], &places[i]) < 0)
            return error_set(err, -EBADMSG, "the nodes of the job: node %u is malformed", i);
    *ret_places = places;
    *ret_n = p.places.count;
    return 0;
}
