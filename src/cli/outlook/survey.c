/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/survey.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/outlook/outlook.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"

#define PAGE 500

static void
unref_all(const struct object **objects, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        object_unref(objects[i]);
    free(objects);
}

void
survey_fini(struct survey *s)
{
    unref_all(s->nodes, s->n_nodes);
    unref_all(s->pods, s->n_pods);
    unref_all(s->volumes, s->n_volumes);
    *s = (struct survey){0};
}

/* One that this program cannot read is left out. */
static void
add_page(const struct kind *kind,
         const struct json *items,
         const struct object ***objects,
         unsigned *count)
{
    *objects = xrealloc_array(*objects,
                              *count + json_count(items) + 1,
                              sizeof(**objects));
    for (uint32_t i = 0; i < json_count(items); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        json_print(json_at(items, i), &text);
        if (object_parse(kind,
                         text.text,
                         text.length,
                         &(*objects)[*count],
                         NULL)
            == 0)
            ++*count;
    }
}

static int
list(struct client *client,
     const struct kind *kind,
     const char *field_selector,
     const struct object ***objects,
     unsigned *count,
     struct error *err)
{
    CLEANUP_FREE char *token = NULL;

    do {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
        const struct client_request request = {
            .verb = CLIENT_LIST,
            .kind = kind,
            .field_selector = field_selector,
            .continue_token = token,
            .limit = PAGE,
            .raw = true,
        };
        int r = sync_call_run(client, NULL, &request, &sync_call, err);
        const struct json *page;
        const char *more;

        if (r < 0)
            return r;
        page = json_parse(arena, sync_call.text, sync_call.length, NULL, NULL);
        if (page == NULL)
            return error_set(err, -EPROTO, "the server's answer is no JSON");
        add_page(kind, json_get(page, "items"), objects, count);
        more = json_path_text(page, "metadata.continue");
        free(token);
        token = more != NULL && more[0] != '\0' ? xstrdup(more) : NULL;
    } while (token != NULL);
    return 0;
}

int
survey_make(struct client *client,
            const struct json *pod_spec,
            struct survey *ret_survey,
            struct error *err)
{
    int r;

    *ret_survey = (struct survey){0};
    r = list(client,
             &node_kind,
             NULL,
             &ret_survey->nodes,
             &ret_survey->n_nodes,
             err);
    if (r == 0)
        r = list(client,
                 &pod_kind,
                 "status.phase!=Succeeded,status.phase!=Failed",
                 &ret_survey->pods,
                 &ret_survey->n_pods,
                 err);
    if (r == 0 && json_get(pod_spec, "volumes") != NULL)
        r = list(client,
                 &persistent_volume_kind,
                 NULL,
                 &ret_survey->volumes,
                 &ret_survey->n_volumes,
                 err);
    if (r < 0)
        survey_fini(ret_survey);
    return r;
}

static const struct object *
parse(const struct kind *kind, const struct json *tree)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *object = NULL;

    json_print(tree, &text);
    (void)object_parse(kind, text.text, text.length, &object, NULL);
    return object;
}

struct outlook *
survey_pod_outlook(const struct survey *s,
                   const struct json *pod,
                   int64_t now_us)
{
    CLEANUP(object_unrefp)
    const struct object *object = parse(&pod_kind, pod);

    return object != NULL ? outlook_new(&pod_of(object)->spec, s, now_us)
                          : NULL;
}

struct outlook *
survey_outlook(const struct survey *s, const struct json *job, int64_t now_us)
{
    CLEANUP(object_unrefp)
    const struct object *object = parse(&job_kind, job);

    return object != NULL
               ? outlook_new(job_of(object)->spec.template_.spec, s, now_us)
               : NULL;
}
