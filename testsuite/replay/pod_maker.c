/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/pod_maker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define HEAD                                                           \
    "{\"metadata\":{\"name\":\"x\",\"namespace\":\"default\",\"uid\":" \
    "\"x\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","            \
    "\"annotations\":{\"kiln.hpc/job-id\":\"1\","                      \
    "\"batch.kubernetes.io/job-completion-index\":\"0\"},"             \
    "\"resourceVersion\":"
#define SPEC                                                             \
    "},\"spec\":{\"schedulerName\":\"default-scheduler\","               \
    "\"activeDeadlineSeconds\":1,\"securityContext\":{\"runAsUser\":1}," \
    "\"containers\":[{\"name\":\"main\",\"image\":\"host\","             \
    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]"

static const char waiting[] = HEAD "\"1\"" SPEC "},\"status\":{\"phase\":\"Pending\"}}";
static const char running[] =
    HEAD "\"2\"" SPEC ",\"nodeName\":\"x\"},\"status\":{\"phase\":\"Running\",\"startTime\":"
         "\"2026-01-01T00:00:00Z\"}}";

/* Its values differ for every pod, its names do not. */
struct pod_template {
    struct arena *arena;
    struct json *tree;
    struct json *meta, *annotations, *spec, *who, *requests, *status;
};

struct pod_maker {
    struct pod_template waiting, running;
};

static void
read_template(struct pod_template *t, const char *text)
{
    struct error err = {0};

    t->arena = arena_new(0);
    t->tree = json_parse(t->arena, text, strlen(text), NULL, &err);
    if (t->tree == NULL || record_normalize(pod_kind.record, t->arena, t->tree, NULL, &err) < 0) {
        fprintf(stderr, "replay: %s: %s\n", err.text, text);
        abort();
    }
    t->meta = json_get(t->tree, "metadata");
    t->annotations = json_get(t->meta, "annotations");
    t->spec = json_get(t->tree, "spec");
    t->who = json_get(t->spec, "securityContext");
    t->requests = json_get_path(json_at(json_get(t->spec, "containers"), 0), "resources.requests");
    t->status = json_get(t->tree, "status");
}

struct pod_maker *
pod_maker_new(void)
{
    struct pod_maker *m = xnew(struct pod_maker);

    read_template(&m->waiting, waiting);
    read_template(&m->running, running);
    return m;
}

void
pod_maker_free(struct pod_maker *m)
{
    if (m == NULL)
        return;
    arena_free(m->waiting.arena);
    arena_free(m->running.arena);
    free(m);
}

static void
set_time(struct arena *arena, struct json *to, const char *name, int64_t at_us)
{
    char text[TIME_TEXT_SIZE];

    time_format(at_us, false, text);
    json_set_string(arena, to, name, text);
}

const struct object *
pod_maker_make(struct pod_maker *m, const struct pod_words *w)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(2048);
    struct pod_template *t = w->node != NULL ? &m->running : &m->waiting;
    char text[64];

    snprintf(text, sizeof(text), "j%" PRIu64 "-%u", w->job, w->member);
    json_set_string(arena, t->meta, "name", text);
    json_set_string(arena, t->meta, "uid", text);
    set_time(arena, t->meta, "creationTimestamp", w->created_us);
    snprintf(text, sizeof(text), "%" PRIu64, w->job + 1);
    json_set_string(arena, t->annotations, "kiln.hpc/job-id", text);
    snprintf(text, sizeof(text), "%u", w->member);
    json_set_string(arena, t->annotations, "batch.kubernetes.io/job-completion-index", text);
    json_set_int(arena, t->spec, "activeDeadlineSeconds", w->limit_s);
    json_set_int(arena, t->who, "runAsUser", w->user);
    snprintf(text, sizeof(text), "%u", w->cpus);
    json_set_string(arena, t->requests, "cpu", text);
    if (w->node != NULL) {
        json_set_string(arena, t->spec, "nodeName", w->node);
        set_time(arena, t->status, "startTime", w->started_us);
    }
    return object_new(&pod_kind, t->tree);
}
