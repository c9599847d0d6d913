/* SPDX-License-Identifier: Apache-2.0 */
/* A line is written for what changes something or is refused. Reads would be most of the
 * traffic and hide the rest, and agents report about themselves all day. Somebody without a
 * proof can cause refusals at will, so these have a rate and the rest is counted: otherwise a
 * stranger could rotate the evidence away.
 */
#include "controller/apiserver/access/audit.h"

#include <string.h>

#include "controller/apiserver/access/audit_log.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/auth/protocol.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_request.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define UNPROVEN_A_SECOND 10
#define MESSAGE_MAX       1024

/* Enough for most lines. */
#define LINE_ROOM 1024

/* Every change is logged on the loop, so lines are made without printf. */
#define ADD(out, literal) strbuf_add((out), (literal), sizeof(literal) - 1)

static const char *const ranks[] = {
    [PRINCIPAL_USER] = "user",
    [PRINCIPAL_OPERATOR] = "operator",
    [PRINCIPAL_ADMINISTRATOR] = "administrator",
    [PRINCIPAL_AGENT] = "agent",
    [PRINCIPAL_ENROLLING] = "enrolling",
    [PRINCIPAL_SCHEDULER] = "scheduler",
    [PRINCIPAL_LIFECYCLE] = "lifecycle",
};

static const char *const proofs[] = {
    [IDENTITY_LOCAL] = "socket",
    [IDENTITY_CREDENTIAL] = "credential",
    [IDENTITY_SESSION] = "session",
    [IDENTITY_TOKEN] = "token",
};

/* ---- Requests to log ---- */

static bool
is_change(const struct request *q)
{
    if (q->route.kind == NULL)
        return q->method != HTTP_GET && q->method != HTTP_HEAD;
    return q->route.verb >= VERB_CREATE && !(q->route.kind->flags & KIND_ANSWERED);
}

/* Routine writes: an agent reports about itself and its pods all day long. */
static bool
is_routine(const struct request *q)
{
    if (q->principal->type != PRINCIPAL_AGENT)
        return false;
    return q->route.subresource == SUBRESOURCE_STATUS || q->route.subresource == SUBRESOURCE_USAGE
           || q->route.subresource == SUBRESOURCE_STEPS
           || q->route.subresource == SUBRESOURCE_REQUESTS
           || (q->route.kind != NULL && q->route.kind->routine_verbs & VERB_BIT(q->route.verb));
}

static bool
is_worth_a_line(const struct request *q, const char *path)
{
    int code = q->reply.code;

    if (code == 401 || code == 403)
        return true;
    if (!is_change(q) || strcmp(path, PROTOCOL_SESSION_TARGET) == 0)
        return false;
    if (code >= 400)
        return q->principal->type != PRINCIPAL_AGENT;
    return !is_routine(q) && !q->options.is_dry_run;
}

/* ---- The line ---- */

static void
add_name(struct strbuf *out, const char *name)
{
    ADD(out, ",\"");
    strbuf_add_text(out, name);
    ADD(out, "\":");
}

static void
add_text(struct strbuf *out, const char *name, const char *text)
{
    size_t length;

    if (text == NULL || *text == '\0')
        return;
    length = strlen(text);
    add_name(out, name);
    json_print_string(text, length < MESSAGE_MAX ? length : MESSAGE_MAX, out);
}

static void
add_number(struct strbuf *out, const char *name, uint64_t number)
{
    char digits[24];
    char *first = digits + sizeof(digits);

    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    add_name(out, name);
    strbuf_add(out, first, (size_t)(digits + sizeof(digits) - first));
}

static void
add_principal(struct strbuf *out, const struct principal *principal)
{
    add_text(out, "user", principal->name);
    add_number(out, "uid", principal->uid);
    add_text(out, "rank", ranks[principal->type]);
    add_text(out, "node", principal->node);
    add_text(out, "proof", proofs[principal->proof]);
    if (principal->impersonator != NULL)
        add_text(out, "impersonator", principal->impersonator->name);
}

/* For a create without a name, the answer has the name that the server gave. */
static const char *
name_of(const struct request *q)
{
    if (q->route.name != NULL)
        return q->route.name;
    if (q->group != NULL)
        return q->group;
    return q->reply.form == REPLY_OBJECT && q->route.verb == VERB_CREATE
               ? q->reply.object->meta->name
               : NULL;
}

static const char *
verb_of(const struct request *q)
{
    if (q->route.kind != NULL)
        return verb_name(q->route.verb);
    return http_method_name(q->method);
}

static void
add_object(struct strbuf *out, const struct request *q, const char *path)
{
    const struct kind *kind = q->route.kind;

    add_text(out, "verb", verb_of(q));
    if (kind == NULL) {
        add_text(out, "path", path);
        return;
    }
    ADD(out, ",\"resource\":\"");
    strbuf_add_text(out, kind->plural);
    if (kind->group[0] != '\0')
        strbuf_add_char(out, '.');
    strbuf_add_text(out, kind->group);
    strbuf_add_char(out, '"');
    if (q->route.subresource != SUBRESOURCE_NONE)
        add_text(out, "subresource", subresource_name(q->route.subresource));
    add_text(out, "namespace", q->route.namespace);
    add_text(out, "name", name_of(q));
}

static void
add_result(struct strbuf *out, const struct request *q)
{
    const struct reply *r = &q->reply;

    add_number(out, "code", (uint64_t)r->code);
    if (r->code < 400 || r->form != REPLY_TREE)
        return;
    add_text(out, "reason", json_get_text(r->tree, "reason"));
    add_text(out, "message", json_get_text(r->tree, "message"));
}

/* Limits lines that unauthenticated clients can cause to some each second. */
static bool
may_be_told(struct apiserver *server, int64_t now_us)
{
    int64_t second = now_us / 1000000;

    if (server->unproven_second != second) {
        server->unproven_second = second;
        server->unproven_told = 0;
    }
    if (server->unproven_told++ < UNPROVEN_A_SECOND)
        return true;
    server->unproven_hidden++;
    return false;
}

void
audit_note(struct request *q, const struct http_peer *from, const char *path, bool is_proven)
{
    struct apiserver *server = q->server;
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;
    int64_t now_us;
    char time[TIME_TEXT_SIZE], room[LINE_ROOM];

    if (server->audit == NULL || !is_worth_a_line(q, path))
        return;
    now_us = clock_real_us(server->clock);
    if (!is_proven && !may_be_told(server, now_us))
        return;
    time_format(now_us, true, time);
    strbuf_init_in(&line, room, sizeof(room));
    ADD(&line, "{\"time\":\"");
    strbuf_add_text(&line, time);
    strbuf_add_char(&line, '"');
    if (is_proven)
        add_principal(&line, q->principal);
    add_text(&line, "from", from->address);
    add_object(&line, q, path);
    add_result(&line, q);
    add_text(&line, "client", q->agent);
    if (!is_proven && server->unproven_hidden > 0) {
        add_number(&line, "hidden", server->unproven_hidden);
        server->unproven_hidden = 0;
    }
    strbuf_add_char(&line, '}');
    audit_log_spare(server->audit, store_is_read_only(server->store));
    audit_log_add(server->audit, line.text, line.length);
}
