/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender_wire.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/proposal.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Requests */

static void
add_string(struct strbuf *out, const char *text)
{
    json_print_string(text, strlen(text), out);
}

static void
add_object(struct strbuf *out, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    strbuf_add(out, object_text(object, arena), object->length);
}

static void
add_names(struct strbuf *out, const struct object *const *nodes, unsigned count)
{
    strbuf_add_text(out, ",\"Nodes\":null,\"NodeNames\":[");
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        add_string(out, nodes[i]->meta->name);
    }
    strbuf_add_char(out, ']');
}

static void
add_nodes(struct strbuf *out, const struct object *const *nodes, unsigned count)
{
    strbuf_add_text(out, ",\"Nodes\":{\"metadata\":{},\"items\":[");
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        add_object(out, nodes[i]);
    }
    strbuf_add_text(out, "]},\"NodeNames\":null");
}

void
extender_args_encode(const struct pod_view *pod, const struct object *const *nodes, unsigned count,
                     bool names_only, struct strbuf *out)
{
    strbuf_add_text(out, "{\"Pod\":");
    add_object(out, pod->object);
    if (names_only)
        add_names(out, nodes, count);
    else
        add_nodes(out, nodes, count);
    strbuf_add_char(out, '}');
}

static void
add_victims(struct strbuf *out, const struct proposal *p, bool names_only)
{
    add_string(out, p->node_name);
    strbuf_add_text(out, ":{\"Pods\":[");
    for (unsigned i = 0; i < p->count; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        if (!names_only) {
            add_object(out, p->pods[i]->object);
            continue;
        }
        strbuf_add_text(out, "{\"UID\":");
        add_string(out, p->pods[i]->uid != NULL ? p->pods[i]->uid : "");
        strbuf_add_char(out, '}');
    }
    strbuf_printf(out, "],\"NumPDBViolations\":%u}", p->violations);
}

void
extender_preemption_encode(const struct pod_view *pod, const struct proposal *proposals,
                           unsigned count, bool names_only, struct strbuf *out)
{
    strbuf_add_text(out, "{\"Pod\":");
    add_object(out, pod->object);
    strbuf_add_text(out, names_only ? ",\"NodeNameToVictims\":null,"
                                      "\"NodeNameToMetaVictims\":{"
                                    : ",\"NodeNameToMetaVictims\":null,"
                                      "\"NodeNameToVictims\":{");
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        add_victims(out, &proposals[i], names_only);
    }
    strbuf_add_text(out, "}}");
}

void
extender_binding_encode(const struct pod_view *pod, const char *node_name, struct strbuf *out)
{
    strbuf_add_text(out, "{\"PodName\":");
    add_string(out, pod->name);
    strbuf_add_text(out, ",\"PodNamespace\":");
    add_string(out, pod->namespace);
    strbuf_add_text(out, ",\"PodUID\":");
    add_string(out, pod->uid != NULL ? pod->uid : "");
    strbuf_add_text(out, ",\"Node\":");
    add_string(out, node_name);
    strbuf_add_char(out, '}');
}

/* Answers */

/* The member of that name, in any mix of cases. JSON null counts as absent. */
static const struct json *
get(const struct json *object, const char *name)
{
    const struct json *found = NULL;

    if (!json_is(object, JSON_OBJECT))
        return NULL;
    for (uint32_t i = 0; i < object->count && found == NULL; i++)
        if (strcasecmp(object->members[i].name, name) == 0)
            found = object->members[i].value;
    return json_is(found, JSON_NULL) ? NULL : found;
}

static int
parse(const char *text, size_t length, struct arena *arena, enum json_type type,
      const struct json **ret_value, struct error *err)
{
    const struct json *value = json_parse(arena, text, length, NULL, err);

    if (value == NULL)
        return error_wrap(err, -EBADMSG, "the answer is not JSON");
    if (json_is(value, JSON_NULL))
        value = NULL;
    else if (!json_is(value, type))
        return error_set(err, -EBADMSG, "the answer is not of type %s but %s", json_type_name(type),
                         json_type_name(value->type));
    *ret_value = value;
    return 0;
}

/* The "Error" member: the extender's own reason for failing. */
static int
check_error(const struct json *answer, struct error *err)
{
    const char *words = json_text(get(answer, "Error"));

    if (words == NULL || words[0] == '\0')
        return 0;
    return error_set(err, -EREMOTEIO, "%.900s", words);
}

static int
read_names(const struct json *list, struct arena *arena, bool is_of_nodes,
           struct extender_filtering *f, struct error *err)
{
    uint32_t count = json_count(list);

    f->names = arena_new_array(arena, const char *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct json *item = json_at(list, i);
        const char *name = is_of_nodes ? json_path_text(item, "metadata.name") : json_text(item);

        if (name == NULL)
            return error_set(err, -EBADMSG, "node %u of the answer has no name", i);
        f->names[f->count++] = name;
    }
    return 0;
}

int
extender_filtering_decode(const char *text, size_t length, bool names_only, struct arena *arena,
                          struct extender_filtering *ret_filtering, struct error *err)
{
    struct extender_filtering f = {0};
    const struct json *answer, *names, *nodes;
    int r = parse(text, length, arena, JSON_OBJECT, &answer, err);

    if (r == 0)
        r = check_error(answer, err);
    if (r < 0)
        return r;
    f.failed = get(answer, "FailedNodes");
    f.unresolvable = get(answer, "FailedAndUnresolvableNodes");
    names = get(answer, "NodeNames");
    nodes = get(get(answer, "Nodes"), "items");
    r = names != NULL && (names_only || nodes == NULL) ? read_names(names, arena, false, &f, err)
                                                       : read_names(nodes, arena, true, &f, err);
    if (r == 0)
        *ret_filtering = f;
    return r;
}

int
extender_priorities_decode(const char *text, size_t length, struct arena *arena,
                           struct extender_priority **ret_priorities, unsigned *ret_count,
                           struct error *err)
{
    struct extender_priority *items;
    const struct json *answer;
    uint32_t count;
    int r = parse(text, length, arena, JSON_ARRAY, &answer, err);

    if (r < 0)
        return r;
    count = json_count(answer);
    items = arena_new_array(arena, struct extender_priority, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct json *item = json_at(answer, i);
        const struct json *score = get(item, "Score");

        items[i].host = json_text(get(item, "Host"));
        if (items[i].host == NULL || (score != NULL && json_to_int(score, &items[i].score) < 0))
            return error_set(err, -EBADMSG,
                             "item %u of the answer is not a Host with an "
                             "integer Score",
                             i);
    }
    *ret_priorities = items;
    *ret_count = count;
    return 0;
}

static int
read_victims(const struct json *value, struct arena *arena, struct extender_victims *v,
             struct error *err)
{
    const struct json *pods = get(value, "Pods");
    int64_t violations = 0;

    v->uids = arena_new_array(arena, const char *, json_count(pods) + 1);
    for (uint32_t i = 0; i < json_count(pods); i++) {
        const char *uid = json_text(get(json_at(pods, i), "UID"));

        if (uid == NULL)
            return error_set(err, -EBADMSG, "a victim on node \"%s\" has no UID", v->node_name);
        v->uids[v->count++] = uid;
    }
    if (json_to_int(get(value, "NumPDBViolations"), &violations) == 0 && violations > 0
        && violations <= UINT16_MAX)
        v->violations = (unsigned)violations;
    return 0;
}

int
extender_victims_decode(const char *text, size_t length, struct arena *arena,
                        struct extender_victims **ret_victims, unsigned *ret_count,
                        struct error *err)
{
    const struct json *answer, *nodes;
    struct extender_victims *items;
    int r = parse(text, length, arena, JSON_OBJECT, &answer, err);

    if (r < 0)
        return r;
    nodes = get(answer, "NodeNameToMetaVictims");
    items = arena_new_array(arena, struct extender_victims, json_count(nodes) + 1);
    if (nodes != NULL && !json_is(nodes, JSON_OBJECT))
        return error_set(err, -EBADMSG, "NodeNameToMetaVictims is not an object");
    for (uint32_t i = 0; i < json_count(nodes) && r == 0; i++) {
        items[i].node_name = nodes->members[i].name;
        r = read_victims(nodes->members[i].value, arena, &items[i], err);
    }
    if (r < 0)
        return r;
    *ret_victims = items;
    *ret_count = json_count(nodes);
    return 0;
}

int
extender_binding_decode(const char *text, size_t length, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(512);
    const struct json *answer;
    int r = parse(text, length, arena, JSON_OBJECT, &answer, err);

    return r < 0 ? r : check_error(answer, err);
}
