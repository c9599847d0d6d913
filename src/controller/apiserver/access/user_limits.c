/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds are of users and not of connections or addresses: a user with a thousand processes on
 * a login node is one user, and a login node is not. Questions to the scheduler have a bound
 * of their own, in rate and in number, because they take its time and not the server's.
 */
#include "controller/apiserver/access/user_limits.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/site_limits.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/base/arena.h"
#include "lib/http/http_request.h"

#define WAIT_FOR_STREAM_S 5 /* the user may have ended a stream by then */

/* The most unanswered questions of one user to the scheduler, so that there is
 * room for other users' questions (responder.c).
 */
#define ASKING_MAX 8

bool
user_limits_bind(const struct request *q)
{
    const struct principal *p = q->principal;

    return principal_is_person(p) && !(p->uid == 0 && p->proof == IDENTITY_LOCAL);
}

static bool
refuse(struct request *q, int64_t retry_after_s, const char *why)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 429,
                              .reason = "TooManyRequests",
                              .message = why,
                              .retry_after_s = retry_after_s,
                          });
    return false;
}

bool
user_limits_take_request(struct request *q)
{
    int64_t most = q->server->policy->limits.per_user.requests_per_second;

    if (most == 0 || !user_limits_bind(q)
        || user_counts_take(q->server->counts, q->principal->uid, USER_REQUEST, most))
        return true;
    return refuse(q, 1,
                  arena_printf(q->arena,
                               "user '%s' makes more than %" PRId64 " "
                               "requests a second, which is the site's limit "
                               "(limits.perUser.requestsPerSecond); wait a "
                               "second",
                               q->principal->name, most));
}

void
user_limits_charge_requests(const struct request *q, unsigned count)
{
    int64_t most = q->server->policy->limits.per_user.requests_per_second;

    if (most > 0 && user_limits_bind(q))
        user_counts_charge(q->server->counts, q->principal->uid, USER_REQUEST, most, count);
}

bool
user_limits_take_question(struct request *q)
{
    int64_t most = q->server->policy->limits.per_user.questions_per_second;

    if (most == 0 || !user_limits_bind(q)
        || user_counts_take(q->server->counts, q->principal->uid, USER_QUESTION, most))
        return true;
    return refuse(q, 1,
                  arena_printf(q->arena,
                               "user '%s' asks the scheduler more than "
                               "%" PRId64 " times a second, which is the "
                               "site's limit "
                               "(limits.perUser.questionsPerSecond); wait a "
                               "second",
                               q->principal->name, most));
}

bool
user_limits_begin_question(struct request *q)
{
    struct user_count has;

    if (!user_limits_bind(q))
        return true;
    has = user_counts_get(q->server->counts, q->principal->uid);
    if (has.streams[USER_ASKING] >= ASKING_MAX)
        return refuse(q, 1,
                      arena_printf(q->arena,
                                   "user '%s' already waits for %d answers of "
                                   "the scheduler, which is the limit; ask "
                                   "again when one has arrived",
                                   q->principal->name, ASKING_MAX));
    user_counts_begin_stream(q->server->counts, q->principal->uid, USER_ASKING);
    return true;
}

bool
user_limits_begin_stream(struct request *q, enum user_stream stream)
{
    const struct limits *limits = &q->server->policy->limits;
    bool is_watch = stream == USER_WATCH;
    int64_t most = is_watch ? limits->per_user.watches : limits->per_user.log_readers;
    struct user_count has;

    if (!user_limits_bind(q))
        return true;
    has = user_counts_get(q->server->counts, q->principal->uid);
    if (most > 0 && has.streams[stream] >= most)
        return refuse(q, WAIT_FOR_STREAM_S,
                      arena_printf(q->arena,
                                   "user '%s' has %" PRId64 " %s, which is the site's "
                                   "limit (limits.perUser.%s); end some",
                                   q->principal->name, has.streams[stream],
                                   is_watch ? "watches" : "readers of job output",
                                   is_watch ? "watches" : "logReaders"));
    user_counts_begin_stream(q->server->counts, q->principal->uid, stream);
    return true;
}

void
user_limits_end_stream(struct request *q, enum user_stream stream)
{
    if (user_limits_bind(q))
        user_counts_end_stream(q->server->counts, q->principal->uid, stream);
}

bool
user_limits_take_connection(struct request *q, struct http_request *http)
{
    const struct principal *p = q->principal;
    int64_t most = q->server->policy->limits.per_user.connections;
    char account[320];

    if (p->type == PRINCIPAL_AGENT)
        snprintf(account, sizeof(account), "node %s", p->node);
    else
        snprintf(account, sizeof(account), "user %u", (unsigned)p->uid);
    if (http_request_charge(http, account, user_limits_bind(q) ? (unsigned)most : 0))
        return true;
    http_request_close_after(http);
    return refuse(q, WAIT_FOR_STREAM_S,
                  arena_printf(q->arena,
                               "user '%s' has %" PRId64 " connections, which "
                               "is the site's limit "
                               "(limits.perUser.connections); end some "
                               "commands that wait, watch or follow output",
                               p->name, most));
}
