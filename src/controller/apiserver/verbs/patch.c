/* SPDX-License-Identifier: Apache-2.0 */
/* patch.c - PATCH: changes the pending object as the body says */
#include <errno.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/objects/status_change.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/verbs/apply.h"
#include "controller/apiserver/verbs/update.h"
#include "controller/apiserver/verbs/verbs.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/json_patch.h"
#include "lib/json/merge.h"
#include "lib/json/strategic.h"

static void
refuse_operations(struct request *q, const struct error *err)
{
    if (err->code == -EFBIG) {
        reply_errno(&q->reply, err->code, err);
        return;
    }
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 422,
                              .reason = "Invalid",
                              .message = "the server rejected our request due to an "
                                         "error in our request",
                              .empty_details = true,
                          });
}

static struct json *
apply(struct request *q, struct json *tree)
{
    struct error err = {0};

    switch (q->format) {
    case BODY_MERGE_PATCH:
        json_merge_prune(q->body);
        return json_merge(q->arena, tree, q->body);
    case BODY_STRATEGIC_PATCH:
        if (strategic_merge(q->arena, q->route.kind->record, tree, q->body, &err) < 0) {
            reply_bad_request(&q->reply, "%s", err.text);
            return NULL;
        }
        return tree;
    case BODY_JSON_PATCH:
        if (json_patch_apply(q->arena, &tree, q->body, &err) < 0) {
            refuse_operations(q, &err);
            return NULL;
        }
        return tree;
    default:
        return NULL;
    }
}

/* The tree that the patch is applied to. A merge patch of the status changes
 * nothing else, so the rest is shared with the old tree.
 */
static struct json *
copy_to_patch(struct request *q, const struct json *old_tree)
{
    struct json *tree;

    if (q->route.subresource != SUBRESOURCE_STATUS
        || (q->format != BODY_MERGE_PATCH && q->format != BODY_STRATEGIC_PATCH))
        return json_dup(q->arena, old_tree);
    tree = json_copy(q->arena, old_tree);
    for (uint32_t i = 0; i < tree->count; i++) {
        struct json_member *m = &tree->members[i];

        if (strcmp(m->name, "metadata") == 0 || strcmp(m->name, "status") == 0
            || json_get(q->body, m->name) != NULL)
            m->value = json_dup(q->arena, m->value);
    }
    return tree;
}

static bool
check_options(struct request *q)
{
    bool applies = q->format == BODY_APPLY;
    struct causes causes;

    causes_init(&causes, q->arena);
    if (applies && q->options.field_manager == NULL)
        causes_add(&causes, CAUSE_REQUIRED, "fieldManager", NULL, "is required for apply patch");
    if (!applies && q->options.says_force)
        causes_add(&causes, CAUSE_FORBIDDEN, "force", NULL,
                   "may not be specified for non-apply patch");
    if (causes.count == 0)
        return true;
    reply_invalid(&q->reply, "meta.k8s.io", "PatchOptions", "", &causes);
    return false;
}

/* An apply patch is the only one that may create the object. */
static void
apply_patch(struct request *q)
{
    const struct object *old_object;

    if (!apply_check(q)) {
        request_finish(q);
        return;
    }
    old_object = write_find(q);
    if ((old_object == NULL && q->route.subresource != SUBRESOURCE_NONE)
        || (old_object != NULL && !authorization_covers(q, old_object)))
        request_finish_durably(q);
    else
        apply_configuration(q, old_object);
}

static void
merge(struct request *q)
{
    const struct object *old_object = write_find(q);
    struct json *old_tree, *tree;

    if (old_object == NULL || !authorization_covers(q, old_object)) {
        request_finish_durably(q);
        return;
    }
    if (status_change(q, old_object))
        return;
    old_tree = write_tree(q, old_object);
    tree = apply(q, copy_to_patch(q, old_tree));
    if (tree == NULL || !body_normalize_patched(q, tree, old_tree)) {
        request_finish_durably(q);
        return;
    }
    update_finish(q, old_object, old_tree, tree);
}

void
verb_patch(struct request *q)
{
    if (!check_options(q)) {
        request_finish(q);
        return;
    }
    if (q->format == BODY_APPLY) {
        apply_patch(q);
        return;
    }
    const struct kind_hooks *hooks = kind_hooks_of_route(q);

    if (hooks->look_up != NULL)
        hooks->look_up(q, merge);
    else
        merge(q);
}
