/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/kalloc_reason.h"

#include <stdint.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/listing.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define PATIENCE_US INT64_C(3000000)

const char *
kalloc_reason_find(const char *program, const char *server, const struct object *job,
                   struct arena *arena)
{
    struct kctl kctl = {.server = server, .program = program, .patience_us = PATIENCE_US};
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = job->meta->namespace,
        .name = job->meta->name,
        .accept = listing_accept(&(struct listing_style){0}),
    };
    const struct json *columns, *cells;
    struct json *table = NULL;
    struct error err = {0};
    const char *words = "";

    /* The cell of the server's table, so that kalloc and 'kctl jobs' say the same. */
    if (kctl_call(&kctl, &request, arena, &table, &err) == 0) {
        columns = json_get(table, "columnDefinitions");
        cells = json_get(json_at(json_get(table, "rows"), 0), "cells");
        for (uint32_t i = 0; i < json_count(columns); i++) {
            const char *name = json_get_text(json_at(columns, i), "name");

            if (name != NULL && strcmp(name, "Reason") == 0
                && json_text(json_at(cells, i)) != NULL) {
                CLEANUP_FREE char *clean = sanitize_text_dup(json_text(json_at(cells, i)));

                words = arena_strdup(arena, clean);
            }
        }
    }
    kctl_fini(&kctl);
    return words;
}
