/* SPDX-License-Identifier: Apache-2.0 */
/* A restored store or the wrong controller shows an agent a world without its pods, and ending
 * them would be obedience. So the agent keeps which cluster it belongs to and how far that had
 * come (its mark), and acts on the absence of a pod only when the controller has shown that it
 * had issued everything that is here (decisions 99, 545 and 548). Whatever cannot be shown is
 * kept running.
 */
#include "agent/node/cluster_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define AGAIN_MS       2000
/* After the connection was lost; it grows by a fifth each time, because new jobs
 * wait for this.
 */
#define FIRST_AGAIN_MS 200

/* How long the mark may be below a pod. */
#define RENEWAL_MS 10000

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
    /* The run of the mark has issued pods up to this revision, too: they came
     * while the watch lasted during which the mark came.
     */
    int64_t witnessed;
    unsigned n_interruptions, n_when_asked;
    bool is_interrupted; /* since the mark */
    /* No controller that is known to have issued these gave a mark for them. */
    struct lost_range unmarked;
    char *unmarked_path;
    struct timer *timer;
    struct timer *renewal;
    int64_t again_ms;
    bool is_settling;
    bool is_asking;
    bool has_listed;  /* the pods here, with the request under way */
    bool wants_ended; /* the controller has asked for the pods that have ended */
    bool ask_again;   /* after the answer to the request under way */
    bool was_foreign;
    bool has_joined;
    struct error last_failure; /* the failure logged last, so that each is logged once */
};

static size_t
uid_length(const char *mark)
{
    return strcspn(mark, " \n");
}

/* The agent reads only this of a mark, which is the controller's text. */
static void
parse_mark(const char *mark, int64_t *ret_revision, char ret_run[24])
{
    *ret_revision = 0;
    ret_run[0] = '\0';
    if (mark != NULL)
        (void)sscanf(mark, "%*s %" SCNd64 " %*d %23s", ret_revision, ret_run);
}

static void
read_unmarked(struct cluster_identity *b)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (file_read(b->unmarked_path, 64, &text, NULL) < 0
        || sscanf(text.text, "%" SCNd64 " %" SCNd64, &b->unmarked.after, &b->unmarked.before) != 2)
        b->unmarked = (struct lost_range){0};
}

static void
write_unmarked(struct cluster_identity *b, int64_t after, int64_t before)
{
    struct error err = {0};
    char text[64];
    int length = snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 "\n", after, before);

    if (b->unmarked.after == after && b->unmarked.before == before)
        return;
    b->unmarked = (struct lost_range){.after = after, .before = before};
    if (before == 0)
        (void)unlink(b->unmarked_path);
    else if (file_write_atomic(b->unmarked_path, 0600, text, (size_t)length, &err) < 0)
        log_warning("cannot record which pods the controller may not know: %s", err.text);
}

static bool
holds(struct cluster_identity *b, int64_t after, int64_t before)
{
    return before > after + 1 && b->s.holds != NULL && b->s.holds(after, before, b->s.context);
}

/* Another run has the store than the one that gave the last mark. It issues
 * revisions above `since`, and has those of the run of that mark up to `common`.
 * Pods between the two were issued by a run that gave no mark for them, so
 * nothing shows whether this store ever had them.
 */
static void
note_unmarked(struct cluster_identity *b, const char *mark, int64_t since, int64_t common)
{
    int64_t old_revision, revision;
    char old_run[24], run[24];
    struct lost_range unmarked = b->unmarked;

    parse_mark(b->mark, &old_revision, old_run);
    parse_mark(mark, &revision, run);
    if (common > b->witnessed)
        common = b->witnessed;
    if (common > old_revision)
        old_revision = common;
    if (!holds(b, unmarked.after, unmarked.before))
        unmarked = (struct lost_range){0};
    if (strcmp(old_run, run) != 0 && old_run[0] != '\0' && holds(b, old_revision, since + 1)) {
        if (unmarked.before == 0 || old_revision < unmarked.after)
            unmarked.after = old_revision;
        if (since + 1 > unmarked.before)
            unmarked.before = since + 1;
    }
    write_unmarked(b, unmarked.after, unmarked.before);
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

static bool
is_known_range(const struct cluster_identity *b, struct lost_range range)
{
    for (size_t i = 0; i < b->n_lost; i++)
        if (b->lost[i].after <= range.after && b->lost[i].before >= range.before)
            return true;
    return false;
}

/* True when the list has a range that the last answer lacked, without those at
 * its end that a start of the controller has skipped.
 */
static bool
read_lost_ranges(struct cluster_identity *b, const struct json *list, int64_t n_skipped)
{
    const size_t n = json_count(list);
    struct lost_range *lost = xnew_array(struct lost_range, n + 1);
    bool is_more = false;

    for (uint32_t i = 0; i < n; i++) {
        lost[i].after = json_get_int(json_at(list, i), "after", 0);
        lost[i].before = json_get_int(json_at(list, i), "before", 0);
        if (i + n_skipped < (int64_t)n && !is_known_range(b, lost[i]))
            is_more = b->has_joined;
    }
    free(b->lost);
    b->lost = lost;
    b->n_lost = n;
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

static bool
lists(const struct cluster_identity *b)
{
    return b->s.list_pods != NULL;
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
    b->is_settling = json_is_true(json_get(tree, "awaitsNodes"));
    b->ask_again = b->ask_again || (b->is_settling && lists(b) && !b->has_listed);
    b->wants_ended = json_is_true(json_get(tree, "wantsEnded"));
    b->ask_again = b->ask_again || b->wants_ended;
    note_unmarked(b, mark, json_get_int(tree, "since", 0), json_get_int(tree, "common", 0));
    write_mark(b, mark);
    b->witnessed = 0;
    b->is_interrupted = b->n_interruptions != b->n_when_asked;
    return read_lost_ranges(b, json_get(tree, "lost"), json_get_int(tree, "skipped", 0))
               ? CLUSTER_OLDER
               : CLUSTER_OURS;
}

static int64_t
until_next(struct cluster_identity *b, enum cluster_answer answer)
{
    int64_t ms = b->again_ms;

    if (answer == CLUSTER_REFUSED || (answer == CLUSTER_OURS && b->is_settling))
        return AGAIN_MS;
    if (answer != CLUSTER_UNKNOWN) {
        b->again_ms = AGAIN_MS;
        return b->s.every_ms;
    }
    b->again_ms = ms + ms / 5 < AGAIN_MS ? ms + ms / 5 : AGAIN_MS;
    return ms;
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
    timer_start(b->timer, until_next(b, answer));
    if (is_repeated)
        cluster_identity_ask(b);
    /* Only one answer says that the store has lost revisions. */
    if (!is_repeated || answer == CLUSTER_OLDER)
        b->s.answered(answer, b->s.context);
}

/* Another controller, or another store, may answer only after an interruption,
 * which may be noticed late: the answer then says whether nodes are awaited.
 */
static void
add_pods(struct cluster_identity *b, struct arena *arena, struct json *body)
{
    b->has_listed = lists(b) && (b->is_interrupted || b->is_settling);
    if (!lists(b))
        return;
    json_set_bool(arena, body, "listsPods", true);
    if (b->has_listed)
        json_set(arena, body, "pods", b->s.list_pods(arena, b->s.context));
    json_set_bool(arena, body, "listsEnded", true);
    if (b->wants_ended)
        json_set(arena, body, "ended", b->s.list_ended(arena, b->s.context));
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
    b->n_when_asked = b->n_interruptions;
    arena = arena_new(0);
    request.body = json_object(arena);
    if (b->mark != NULL)
        json_set_string(arena, request.body, "mark", arena_printf(arena, "%s", b->mark));
    add_pods(b, arena, request.body);
    client_call(b->s.client, arena, &request, on_answer, b);
}

static void
on_timer(void *context)
{
    cluster_identity_ask(context);
}

void
cluster_identity_ask_soon(struct cluster_identity *b)
{
    struct random_source random;

    random_bytes(&random, sizeof(random));
    b->again_ms = FIRST_AGAIN_MS;
    if (b->has_joined && !b->is_asking)
        timer_start(b->timer, (int64_t)random_below(&random, FIRST_AGAIN_MS));
}

void
cluster_identity_note_interruption(struct cluster_identity *b)
{
    b->n_interruptions++;
    b->is_interrupted = true;
    b->ask_again = b->is_asking;
    cluster_identity_ask_soon(b);
}

void
cluster_identity_note_revision(struct cluster_identity *b, int64_t revision)
{
    int64_t marked;
    char run[24];

    parse_mark(b->mark, &marked, run);
    if (!b->is_interrupted && revision > b->witnessed)
        b->witnessed = revision;
    if (revision > marked && run[0] != '\0' && !timer_is_running(b->renewal))
        timer_start(b->renewal, RENEWAL_MS);
}

bool
cluster_identity_is_settling(const struct cluster_identity *b)
{
    return b->is_settling;
}

bool
cluster_identity_has_lost(const struct cluster_identity *b, int64_t revision)
{
    if (revision > b->unmarked.after && revision < b->unmarked.before)
        return true;
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
    b->unmarked_path = xasprintf("%s/cluster.unmarked", settings->state_dir);
    b->timer = timer_new(settings->loop, on_timer, b);
    b->renewal = timer_new(settings->loop, on_timer, b);
    b->again_ms = AGAIN_MS;
    b->is_interrupted = true; /* the mark of the file came in another life */
    read_mark(b);
    read_unmarked(b);
    return b;
}

void
cluster_identity_free(struct cluster_identity *b)
{
    if (b == NULL)
        return;
    timer_free(b->timer);
    timer_free(b->renewal);
    free(b->path);
    free(b->unmarked_path);
    free(b->mark);
    free(b->lost);
    free(b);
}
