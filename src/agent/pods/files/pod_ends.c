/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/pod_ends.h"

#include <stdlib.h>
#include <string.h>

#include "agent/records/end_record.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* A request of the API has 3 MiB at most. */
#define LIST_BYTES (2u << 20)

struct json *
pod_ends_describe(struct arena *arena, const struct object *pod)
{
    const struct allocation *allocation = pod_of(pod)->status.allocation;
    const struct owner_reference *job = meta_controller_of(pod->meta, &job_kind);
    struct json *item = json_object(arena), *of;

    if (allocation == NULL)
        return NULL;
    json_set_string(arena, item, "namespace", arena_strdup(arena, pod->meta->namespace));
    json_set_string(arena, item, "name", arena_strdup(arena, pod->meta->name));
    json_set_string(arena, item, "uid", arena_strdup(arena, pod->meta->uid));
    json_set_int(arena, item, "revision", pod->revision);
    if (job != NULL) {
        of = json_make_object(arena, item, "job");
        json_set_string(arena, of, "name", arena_strdup(arena, job->name));
        json_set_string(arena, of, "uid", arena_strdup(arena, job->uid));
    }
    json_set(arena, item, "allocation",
             json_dup(arena, record_encode(&allocation_record, arena, allocation)));
    return item;
}

void
pod_ends_note(struct end_records *ends, struct arena *arena, const struct object *pod,
              const struct json *report)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *item = pod_ends_describe(arena, pod);

    if (item == NULL)
        return;
    json_set(arena, item, "report", json_dup(arena, report));
    if (pod->meta->deleted_at_us != 0)
        json_set_bool(arena, item, "wasDeleted", true);
    json_print(item, &text);
    end_records_add(ends, pod->meta->uid, pod->revision, text.text);
}

static struct json *
parse(struct arena *arena, const char *text)
{
    return json_parse(arena, arena_strdup(arena, text), strlen(text), NULL, NULL);
}

struct json *
pod_ends_find(const struct end_records *ends, struct arena *arena, const char *pod_uid,
              bool *ret_was_deleted)
{
    CLEANUP_FREE char *text = end_records_find(ends, pod_uid);
    struct json *item = text != NULL ? parse(arena, text) : NULL;
    struct json *report = json_get(item, "report");

    *ret_was_deleted = json_is_true(json_get(item, "wasDeleted"));
    return json_is(report, JSON_OBJECT) ? report : NULL;
}

struct end_list {
    struct arena *arena;
    struct json *items;
    pod_ends_is_lost_fn *is_lost;
    void *context;
    size_t bytes;
    unsigned n_left_out;
};

static bool
wants(int64_t revision, void *context)
{
    const struct end_list *l = context;

    return l->is_lost(revision, l->context);
}

static void
add(const char *uid, UNUSED int64_t revision, const char *text, void *context)
{
    struct end_list *l = context;
    struct json *item = parse(l->arena, text);
    const char *of = json_get_text(item, "uid");
    CLEANUP_STRBUF struct strbuf size = STRBUF_INIT;

    if (of == NULL || strcmp(of, uid) != 0)
        return;
    json_remove(item, "report");
    json_print(item, &size);
    l->bytes += size.length + 1;
    if (l->bytes > LIST_BYTES)
        l->n_left_out++;
    else
        json_append(l->arena, l->items, item);
}

struct json *
pod_ends_list(const struct end_records *ends, struct arena *arena, pod_ends_is_lost_fn *is_lost,
              void *context)
{
    struct end_list l = {
        .arena = arena,
        .items = json_array(arena),
        .is_lost = is_lost,
        .context = context,
    };

    end_records_visit(ends, &(struct end_record_visitor){wants, add, &l});
    if (l.n_left_out > 0)
        log_warning("the controller, whose state was put back, is not told of %u pods that have "
                    "ended here since: there are too many; their jobs may run again",
                    l.n_left_out);
    return l.items;
}
