/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_stored.c - any bytes as rows of the store, one per line: restored
 * objects appear, change and are deleted while scheduler and lifecycle run
 */
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/lifecycle.h"
#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "controller/store/engine/engine.h"
#include "controller/store/row_decoder.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "testsuite/fuzz/fuzz.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"

#define MAX_ROWS 64

struct setting {
    struct fake_clock time;
    struct fake_client *api;
    struct loop *loop;
    struct scheduler *scheduler;
    struct informers *informers;
    struct lifecycle *lifecycle;
    struct row_decoder *decoder;
    const struct object *objects[MAX_ROWS];
    unsigned n_objects;
};

static void
setting_init(struct setting *s)
{
    static const struct fake_clock clock = FAKE_CLOCK;
    struct client *client;

    memset(s, 0, sizeof(*s));
    s->time = clock;
    s->api = fake_client_new();
    s->loop = loop_new();
    s->decoder = row_decoder_new(NULL);
    client = fake_client_client(s->api);
    if (scheduler_new(
            &(struct scheduler_settings){.client = client, .clock = &s->time.clock, .seed = 1},
            &s->scheduler, NULL)
        < 0)
        abort();
    s->informers = informers_new(s->scheduler, client, NULL, NULL);
    s->lifecycle = lifecycle_new(&(struct lifecycle_settings){
        .loop = s->loop,
        .client = client,
        .clock = &s->time.clock,
    });
}

static void
setting_fini(struct setting *s)
{
    for (unsigned i = 0; i < s->n_objects; i++)
        object_unref(s->objects[i]);
    lifecycle_free(s->lifecycle);
    informers_free(s->informers);
    scheduler_free(s->scheduler);
    row_decoder_free(s->decoder);
    loop_free(s->loop);
    fake_client_free(s->api);
}

static void
settle(struct setting *s)
{
    for (unsigned turn = 0; turn < 4; turn++) {
        fake_clock_advance(&s->time, 11 * FAKE_SECOND);
        fake_client_run(s->api);
        loop_stop(s->loop);
        loop_run(s->loop);
        scheduler_tick(s->scheduler);
        scheduler_work(s->scheduler, 100);
        fake_client_run(s->api);
    }
}

/* Restores one row, as the store's start does. */
static void
restore(struct setting *s, const char *text, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree = json_parse(arena, text, length, NULL, NULL);
    const char *kind_name = json_get_text(tree, "kind");
    const char *revision = json_path_text(tree, "metadata.resourceVersion");
    struct engine_row row = {
        .row = 1,
        .revision = revision != NULL ? strtoll(revision, NULL, 10) : 0,
        .body = text,
        .length = length,
    };
    const struct kind *kind = kind_name != NULL ? kind_find_any_name(kind_name) : NULL;

    if (kind != NULL && s->n_objects < MAX_ROWS
        && row_decode(s->decoder, kind, &row, &s->objects[s->n_objects], NULL) == 0)
        s->n_objects++;
}

static void
put(struct setting *s, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(s->api, object->kind, object_text(object, arena));
}

/* Half of the objects exist when the daemons start. */
static void
live(struct setting *s)
{
    for (unsigned i = 0; i < s->n_objects / 2; i++)
        put(s, s->objects[i]);
    fake_client_run(s->api);
    scheduler_start(s->scheduler);
    settle(s);
    for (unsigned i = s->n_objects / 2; i < s->n_objects; i++)
        put(s, s->objects[i]);
    settle(s);
    for (unsigned i = 0; i < s->n_objects; i++)
        fake_client_remove(s->api, s->objects[i]->kind, s->objects[i]->meta->namespace,
                           s->objects[i]->meta->name);
    settle(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP_FREE char *copy = xstrndup((const char *)bytes, length);
    struct setting s;
    char *rest = copy, *line;

    log_set_level(LOG_LEVEL_ERROR);
    setting_init(&s);
    while ((line = strsep(&rest, "\n")) != NULL)
        restore(&s, line, strlen(line));
    live(&s);
    setting_fini(&s);
    return 0;
}
