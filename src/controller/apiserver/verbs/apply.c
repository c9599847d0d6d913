/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/verbs/apply.h"

#include <string.h>

#include "controller/apiserver/objects/managed_fields.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/update.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static struct field_manager
sender(const struct request *q, bool applies)
{
    struct field_manager who = {
        .name = q->options.field_manager,
        .subresource =
            q->route.subresource == SUBRESOURCE_NONE ? "" : subresource_name(q->route.subresource),
        .applies = applies,
    };

    if (who.name == NULL)
        who.name = q->agent != NULL ? q->agent : "unknown";
    return who;
}

void
apply_note(struct request *q, struct json *tree, const struct json *live)
{
    struct field_manager who = sender(q, false);

    if (!q->is_applied)
        managed_fields_note(q->arena, q->route.kind, live, tree, &who,
                            q->options.field_manager != NULL || q->agent != NULL,
                            clock_real_us(q->server->clock));
}

/* --- the body ------------------------------------------------------------- */

static bool
check_names(struct request *q)
{
    const struct kind *kind = q->route.kind;
    const char *version = json_get_text(q->body, "apiVersion");
    const char *name = json_get_text(q->body, "kind");

    if (version == NULL || strcmp(version, kind->api_version) != 0) {
        reply_bad_request(&q->reply,
                          "Incorrect version specified in apply patch. "
                          "Specified patch version: %s, expected: %s",
                          version != NULL ? version : "", kind->api_version);
        return false;
    }
    if (name == NULL || strcmp(name, kind->name) != 0) {
        reply_bad_request(&q->reply,
                          "the kind of the apply patch (%s) is not that of "
                          "the URL (%s)",
                          name != NULL ? name : "", kind->name);
        return false;
    }
    if (json_get_path(q->body, "metadata.managedFields") != NULL
        && json_get_path(q->body, "metadata.managedFields")->type != JSON_NULL) {
        reply_bad_request(&q->reply, "metadata.managedFields must be nil");
        return false;
    }
    return true;
}

static bool
refuse_fields(struct request *q, const char *why)
{
    const char *namespace = q->route.namespace;

    reply_bad_request(&q->reply,
                      "failed to create typed patch object (%s/%s; %s, "
                      "Kind=%s): %s",
                      namespace != NULL ? namespace : "", q->route.name, q->route.kind->api_version,
                      q->route.kind->name, why);
    return false;
}

static bool
check_fields(struct request *q)
{
    struct record_notes notes = {0};
    struct error err = {0};
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (record_normalize(q->route.kind->record, q->arena, json_dup(q->arena, q->body), &notes, &err)
        < 0)
        return refuse_fields(q, err.text);
    for (unsigned i = 0; i < notes.n_unknown; i++)
        strbuf_printf(&words, "%s.%s: field not declared in schema", i > 0 ? ", " : "",
                      notes.unknown[i]);
    for (unsigned i = 0; i < q->notes.n_duplicates; i++)
        reply_warn(&q->reply, "duplicate field \"%s\"", q->notes.duplicates[i]);
    return words.length == 0 || refuse_fields(q, arena_strdup(q->arena, words.text));
}

bool
apply_check(struct request *q)
{
    return check_names(q) && check_fields(q);
}

/* --- conflicts ------------------------------------------------------------ */

/* Formats the conflict in one line; several as a list below each manager. */
static const char *
format_conflicts(struct request *q, const struct manager_conflicts *conflicts)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const char *manager = "";

    if (conflicts->count == 1)
        return arena_printf(q->arena,
                            "Apply failed with 1 conflict: conflict with %s: "
                            "%s",
                            conflicts->items[0].manager, conflicts->items[0].path);
    strbuf_printf(&words, "Apply failed with %u conflicts: ", conflicts->count);
    for (unsigned i = 0; i < conflicts->count; i++) {
        const struct manager_conflict *c = &conflicts->items[i];

        if (strcmp(manager, c->manager) != 0)
            strbuf_printf(&words, "%sconflicts with %s:", i > 0 ? "\n" : "", c->manager);
        strbuf_printf(&words, "\n- %s", c->path);
        manager = c->manager;
    }
    return arena_strdup(q->arena, words.text);
}

static void
refuse_conflicts(struct request *q, const struct manager_conflicts *conflicts)
{
    struct json *list = json_array(q->arena);

    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 409,
                              .reason = "Conflict",
                              .message = format_conflicts(q, conflicts),
                              .empty_details = true,
                          });
    for (unsigned i = 0; i < conflicts->count; i++) {
        struct json *cause = json_object(q->arena);

        json_set_string(q->arena, cause, "reason", "FieldManagerConflict");
        json_set(q->arena, cause, "message",
                 json_stringf(q->arena, "conflict with %s", conflicts->items[i].manager));
        json_set_string(q->arena, cause, "field", conflicts->items[i].path);
        json_append(q->arena, list, cause);
    }
    json_set(q->arena, json_get(q->reply.tree, "details"), "causes", list);
}

/* --- the verb ------------------------------------------------------------- */

void
apply_configuration(struct request *q, const struct object *old_object)
{
    struct json *live = old_object != NULL ? write_tree(q, old_object) : NULL;
    struct field_manager who = sender(q, true);
    struct manager_conflicts conflicts;
    struct error err = {0};
    struct json *tree =
        managed_fields_apply(q->arena, q->route.kind, live, q->body, &who, q->options.is_forced,
                             clock_real_us(q->server->clock), &conflicts);

    if (tree == NULL) {
        refuse_conflicts(q, &conflicts);
        request_finish_durably(q);
        return;
    }
    q->is_applied = true;
    if (record_normalize(q->route.kind->record, q->arena, tree, NULL, &err) < 0) {
        refuse_fields(q, err.text);
        request_finish_durably(q);
    } else if (old_object == NULL) {
        q->body = tree;
        update_create_instead(q);
    } else
        update_finish(q, old_object, live, tree);
}
