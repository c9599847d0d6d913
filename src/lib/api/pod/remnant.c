/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/remnant.h"

#include "lib/api/node/allocation.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static void
add_requests(struct arena *arena, struct json *sums, const struct string_map *requests)
{
    for (unsigned i = 0; i < requests->count; i++) {
        const struct string_entry *r = &requests->items[i];
        const char *so_far = json_get_text(sums, r->key);
        struct quantity sum, more;
        char text[QUANTITY_TEXT_SIZE];

        if (quantity_parse(r->value, &sum) < 0)
            continue;
        if (so_far != NULL && quantity_parse(so_far, &more) == 0)
            quantity_add(&sum, &more);
        quantity_format(&sum, text);
        json_set_string(arena, sums, r->key, text);
    }
}

struct json *
remnant_make(struct arena *arena, const struct object *object, int64_t now_us)
{
    const struct pod *pod = pod_of(object);
    struct json *remnant = json_object(arena);
    struct json *requests;
    char now[TIME_TEXT_SIZE];

    json_set_string(arena, remnant, "namespace", pod->meta.namespace);
    json_set_string(arena, remnant, "name", pod->meta.name);
    time_format(now_us, false, now);
    json_set_string(arena, remnant, "leftAt", now);
    requests = json_make_object(arena, remnant, "requests");
    for (unsigned i = 0; i < pod->spec.containers.count; i++)
        add_requests(arena, requests, &pod->spec.containers.items[i].resources.requests);
    if (pod->status.allocation != NULL)
        json_set(arena, remnant, "allocation",
                 record_encode(&allocation_record, arena, pod->status.allocation));
    return remnant;
}
