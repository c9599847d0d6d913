/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/scheduling_pause.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/json/record.h"

/* Its value is "TIME NAME". */
#define SECRET "cluster/scheduling-paused"

#define PATH "/kiln/v1/scheduling/"

/* The scheduler's flag follows the store, which goes back after a failed commit.
 */
static void
update_scheduler_flag(const struct apiserver *server)
{
    if (server->is_scheduling_paused != NULL)
        atomic_store(server->is_scheduling_paused,
                     server->holds_scheduling || store_find_secret(server->store, SECRET) != NULL);
}

void
scheduling_pause_hold(struct apiserver *server, bool holds)
{
    server->holds_scheduling = holds;
    update_scheduler_flag(server);
}

static void
put(struct apiserver *server, struct store_txn *txn, const char *name)
{
    char now[TIME_TEXT_SIZE], value[256];

    time_format(clock_real_us(server->clock), false, now);
    snprintf(value, sizeof(value), "%s %s", now, name);
    store_txn_put_secret(txn, SECRET, value);
}

const char *
scheduling_pause_describe(const struct apiserver *server, struct arena *arena)
{
    const char *value = store_find_secret(server->store, SECRET);
    size_t length = value != NULL ? strcspn(value, " ") : 0;

    if (value == NULL)
        return NULL;
    return arena_printf(arena, "since %.*s by %s", (int)length, value,
                        value[length] != '\0' ? value + length + 1 : "?");
}

void
scheduling_pause_begin(struct apiserver *server, bool begins_paused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *words;

    if (begins_paused && scheduling_pause_describe(server, arena) == NULL) {
        struct store_txn *txn = store_begin(server->store);

        put(server, txn, "kiln-controller --paused");
        store_commit(txn, NULL, NULL);
    }
    words = scheduling_pause_describe(server, arena);
    if (words != NULL)
        log_warning("scheduling is paused %s: no job starts until 'kctl resume scheduling'", words);
    update_scheduler_flag(server);
}

static void
committed(int outcome, void *context)
{
    struct request *q = context;

    if (outcome < 0)
        reply_not_stored(&q->reply, outcome);
    update_scheduler_flag(q->server);
    request_finish(q);
}

static void
refuse(struct request *q, int code, const char *reason, const char *message)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = code,
                              .reason = reason,
                              .message = message,
                          });
    request_finish(q);
}

/* A repeated request changes nothing: the first one's time and name remain. */
static void
set(struct request *q, bool is_paused)
{
    struct apiserver *server = q->server;
    struct store_txn *txn;

    reply_success(&q->reply, 200);
    if ((store_find_secret(server->store, SECRET) != NULL) == is_paused) {
        request_finish_durably(q);
        return;
    }
    log_warning("user '%s' has %s scheduling", q->principal->name,
                is_paused ? "paused" : "resumed");
    txn = store_begin(server->store);
    if (is_paused)
        put(server, txn, q->principal->name);
    else
        store_txn_remove_secret(txn, SECRET);
    update_scheduler_flag(server);
    store_commit(txn, committed, q);
}

bool
scheduling_pause_serve(struct request *q, const char *path)
{
    const char *verb = strncmp(path, PATH, strlen(PATH)) == 0 ? path + strlen(PATH) : "";
    const bool is_pause = strcmp(verb, "pause") == 0;

    if ((!is_pause && strcmp(verb, "resume") != 0))
        return false;
    if (q->principal->type != PRINCIPAL_ADMINISTRATOR)
        refuse(q, 403, "Forbidden", "only administrators pause and resume scheduling");
    else if (q->method != HTTP_POST)
        refuse(q, 405, "MethodNotAllowed", "pause and resume scheduling with POST");
    else
        set(q, is_pause);
    return true;
}
