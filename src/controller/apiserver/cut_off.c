/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/cut_off.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/watch/watch.h"
#include "controller/store/store.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/http/http_request.h"
#include "lib/loop/timer.h"

#define CHECK_MS 500

struct cut_off {
    struct apiserver *server;
    struct timer *timer;
    bool was_cut_off;
};

/* A watch is silent now, and its client would not look for the next leader. */
static void
end_watches(void *arg)
{
    struct cut_off *c = arg;
    bool is_cut_off = store_waits(c->server->store);

    if (is_cut_off && !c->was_cut_off)
        watch_end_all(c->server);
    c->was_cut_off = is_cut_off;
}

struct cut_off *
cut_off_new(struct apiserver *server)
{
    struct cut_off *c = xnew(struct cut_off);

    c->server = server;
    if (!store_is_in_database(server->store))
        return c;
    c->timer = timer_new(server->loop, end_watches, c);
    timer_repeat(c->timer, CHECK_MS);
    return c;
}

void
cut_off_free(struct cut_off *c)
{
    if (c == NULL)
        return;
    timer_free(c->timer);
    free(c);
}

/* Paths of objects: /api/v1/REST, /apis/GROUP/VERSION/REST. A shorter path asks
 * for a description of the API.
 */
static bool
has_state(const char *path)
{
    unsigned parts = 0, of_group;

    if (strncmp(path, "/kiln/v1/", 9) == 0)
        return strcmp(path, "/kiln/v1/status") != 0;
    if (strncmp(path, "/api/", 5) == 0)
        of_group = 3;
    else if (strncmp(path, "/apis/", 6) == 0)
        of_group = 4;
    else
        return false;
    for (const char *c = path; *c != '\0'; c++)
        parts += *c == '/' && c[1] != '\0';
    return parts >= of_group;
}

static bool
takes_old_data(const struct http_request *http)
{
    const struct parameter watch = {"watch", http_request_query(http, "watch")};
    const char *version = http_request_query(http, "resourceVersion");

    return version != NULL && strcmp(version, "0") == 0
           && !(watch.value != NULL && options_wants_watch(&watch, 1));
}

bool
cut_off_refuse(struct request *q, const struct http_request *http)
{
    bool is_read = q->method == HTTP_GET || q->method == HTTP_HEAD;

    if (!store_waits(q->server->store)
        || (is_read && (!has_state(http_request_path(http)) || takes_old_data(http))))
        return false;
    reply_fail(&q->reply,
               &(struct reply_failure){
                   .code = 503,
                   .reason = "NotLeading",
                   .message = is_read ? "this controller may no longer lead: its database does "
                                        "not answer, and it shows what it has only to reads with "
                                        "resourceVersion=0"
                                      : "nothing was changed: this controller may no longer lead, "
                                        "for its database does not answer",
                   .retry_after_s = 1,
               });
    return true;
}
