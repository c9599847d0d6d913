/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/cluster_identity.h"

#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define AGAIN_MS 2000

struct lost_range {
    int64_t after;
    int64_t before;
};

struct cluster_identity {
    struct cluster_identity_settings s;
    char *path;
    /* the file's text, which begins with the cluster's uid; NULL: no file */
    char *mark;
    struct lost_range *lost;
    size_t n_lost;
    struct timer *timer;
    bool is_asking;
    bool ask_again; /* after the answer to the request under way */
    bool was_foreign;
    bool has_joined;
    struct error last_failure; /* the failure logged last, so that each is logged once */
};

static size_t
uid_length(const char *mark)
{
    return strcspn(mark, " \n");
}

static void
read_mark(struct cluster_identity *b)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(b->path, 1024, &text, NULL) < 0)
        return;
    while (text.length > 0 && text.text[text.length - 1] == '\n')
        strbuf_truncate(&text, text.length - 1);
    if (text.length > 0)
        b->mark = strbuf_take(&text);
}

static void
write_mark(struct cluster_identity *b, const char *mark)
{
    struct error err = {0};

    if (b->mark != NULL && strcmp(b->mark, mark) == 0)
        return;
    free(b->mark);
    b->mark = xstrdup(mark);
    if (file_write_atomic(b->path, 0600, mark, strlen(mark), &err) < 0)
        log_warning("cannot record which cluster this node belongs to: %s", err.text);
}

/* True when the list has more ranges than in the last answer. */
static bool
read_lost_ranges(struct cluster_identity *b, const struct json *list)
{
    bool is_more = b->has_joined && json_count(list) > b->n_lost;

    free(b->lost);
    b->n_lost = json_count(list);
    b->lost = xnew_array(struct lost_range, b->n_lost + 1);
    for (uint32_t i = 0; i < b->n_lost; i++) {
        b->lost[i].after = json_get_int(json_at(list, i), "after", 0);
        b->lost[i].before = json_get_int(json_at(list, i), "before", 0);
    }
    return is_more;
}

static bool
is_foreign(const struct cluster_identity *b, const char *uid)
{
    return b->mark != NULL
           && (uid_length(b->mark) != strlen(uid) || strncmp(b->mark, uid, strlen(uid)) != 0);
}

static void
log_foreign(struct cluster_identity *b, const char *uid)
{
    if (!b->was_foreign)
        log_error("the controller serves another cluster (%s) than the one "
                  "this node belongs to (%.*s), or its store was created "
                  "again: its orders are ignored, and jobs here keep running. "
                  "Restore the right store (kiln-controller(8)); or, to join "
                  "that cluster and end the jobs of the former one, remove "
                  "'%s'",
                  uid, (int)uid_length(b->mark), b->mark, b->path);
    b->was_foreign = true;
}

/* Logs the failure in the words of registration.c, because the registration
 * waits for this answer.
 */
static void
log_failure(struct cluster_identity *b, const struct client_reply *reply)
{
    struct error err = {0};

    client_reply_error(reply, &err);
    if (strcmp(b->last_failure.text, err.text) != 0)
        log_warning("cannot register node '%s': %s, trying again", b->s.node, err.text);
    b->last_failure = err;
}

static enum cluster_answer
read_answer(struct cluster_identity *b, const struct client_reply *reply)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *tree;
    const char *uid, *mark;

    if (reply->code == 404 || reply->code == 405)
        return CLUSTER_OURS; /* an older release without marks */
    if (reply->code == 401 || reply->code == 403)
        return CLUSTER_REFUSED;
    if (reply->code != 200 && reply->code != 201)
        return CLUSTER_UNKNOWN;
    tree = json_parse(arena, reply->text, reply->length, NULL, NULL);
    uid = json_get_text(tree, "clusterUID");
    mark = json_get_text(tree, "mark");
    if (uid == NULL || mark == NULL)
        return CLUSTER_UNKNOWN;
    if (is_foreign(b, uid)) {
        log_foreign(b, uid);
        return CLUSTER_FOREIGN;
    }
    b->was_foreign = false;
    write_mark(b, mark);
    return read_lost_ranges(b, json_get(tree, "lost")) ? CLUSTER_OLDER : CLUSTER_OURS;
}

static void
on_answer(const struct client_reply *reply, void *context)
{
    struct cluster_identity *b = context;
    enum cluster_answer answer = read_answer(b, reply);
    bool is_repeated = b->ask_again;

    b->is_asking = false;
    if (!b->has_joined && (answer == CLUSTER_UNKNOWN || answer == CLUSTER_REFUSED))
        log_failure(b, reply);
    b->has_joined = b->has_joined || answer == CLUSTER_OURS;
    timer_start(b->timer,
                answer == CLUSTER_REFUSED || answer == CLUSTER_UNKNOWN ? AGAIN_MS : b->s.every_ms);
    if (is_repeated)
        cluster_identity_ask(b);
    /* Only one answer says that the store has lost revisions. */
    if (!is_repeated || answer == CLUSTER_OLDER)
        b->s.answered(answer, b->s.context);
}

void
cluster_identity_ask(struct cluster_identity *b)
{
    struct arena *arena;
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &node_kind,
        .name = b->s.node,
        .subresource = "mark",
        .raw = true,
    };

    b->ask_again = b->is_asking;
    if (b->is_asking)
        return;
    b->is_asking = true;
    arena = arena_new(0);
    request.body = json_object(arena);
    if (b->mark != NULL)
        json_set_string(arena, request.body, "mark", arena_printf(arena, "%s", b->mark));
    client_call(b->s.client, arena, &request, on_answer, b);
}

static void
on_timer(void *context)
{
    cluster_identity_ask(context);
}

bool
cluster_identity_has_lost(const struct cluster_identity *b, int64_t revision)
{
    for (size_t i = 0; i < b->n_lost; i++)
        if (revision > b->lost[i].after && revision < b->lost[i].before)
            return true;
    return false;
}

struct cluster_identity *
cluster_identity_new(const struct cluster_identity_settings *settings)
{
    struct cluster_identity *b = xnew(struct cluster_identity);

    b->s = *settings;
    b->path = xasprintf("%s/cluster", settings->state_dir);
    b->timer = timer_new(settings->loop, on_timer, b);
    read_mark(b);
    return b;
}

void
cluster_identity_free(struct cluster_identity *b)
{
    if (b == NULL)
        return;
    timer_free(b->timer);
    free(b->path);
    free(b->mark);
    free(b->lost);
    free(b);
}
