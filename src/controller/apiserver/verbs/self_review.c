/* SPDX-License-Identifier: Apache-2.0 */
/* self_review.c - who the principal is, and the principal's rights, from the
 * table that authorization uses
 *
 * SelfSubjectReview, SelfSubjectAccessReview and SelfSubjectRulesReview answer
 * `kubectl auth whoami` and `kubectl auth can-i`.
 */
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/discovery/discovery.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object_owner.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/json/record.h"

/* One question of a review, in the terms of the table of rights. */
struct review_question {
    const struct kind *kind;
    enum subresource part;
    const char *namespace; /* NULL: all namespaces */
    const char *name;      /* NULL: any */
};

struct review_verdict {
    bool is_allowed;
    const char *reason; /* or NULL */
};

static const char *
given(const struct json *attributes, const char *name)
{
    const char *text = json_get_text(attributes, name);

    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Rights on the user's own objects. A named object that does not exist is
 * allowed.
 */
static struct review_verdict
judge_own(struct request *q, const struct review_question *what)
{
    const struct object *object =
        what->name != NULL
            ? store_find(q->server->store, STORE_PUBLISHED, what->kind, what->namespace, what->name)
            : NULL;
    uid_t uid;

    if (object != NULL && (!object_owner(object, &uid) || uid != q->principal->uid))
        return (struct review_verdict){false, "it belongs to another user"};
    return (struct review_verdict){true, "only objects of the user"};
}

static struct review_verdict
judge(struct request *q, const struct review_question *what, enum verb verb)
{
    switch (authorization_scope(q->principal->type, verb, what->kind, what->part)) {
    case SCOPE_ALL:
        return (struct review_verdict){.is_allowed = true};
    case SCOPE_OWN:
        return judge_own(q, what);
    case SCOPE_MEMBERS:
        if (what->namespace != NULL
            && membership_has(q->server->membership, what->namespace, q->principal))
            return (struct review_verdict){.is_allowed = true};
        return (struct review_verdict){false, "only in namespaces that the user belongs to"};
    case SCOPE_NODE:
        return (struct review_verdict){true, "only objects of the agent's own node"};
    default:
        return (struct review_verdict){false, "no rule allows it"};
    }
}

/* "*" means every verb. */
static struct review_verdict
judge_verbs(struct request *q, const struct review_question *what, const char *name)
{
    struct review_verdict verdict = {false, "unknown verb"};

    for (unsigned verb = 0; verb < N_VERBS; verb++) {
        if (strcmp(name, "*") != 0 && strcmp(name, verb_name(verb)) != 0)
            continue;
        verdict = judge(q, what, verb);
        if (!verdict.is_allowed)
            break;
    }
    return verdict;
}

static bool
is_of_group(const struct kind *kind, const char *group)
{
    return strcmp(group, "*") == 0 || strcmp(kind->group, group) == 0;
}

static struct review_verdict
judge_resource(struct request *q, const struct json *attributes)
{
    const char *group = json_get_text(attributes, "group");
    const char *resource = given(attributes, "resource");
    const char *part = given(attributes, "subresource");
    const char *verb = given(attributes, "verb");
    struct review_question what = {
        .namespace = given(attributes, "namespace"),
        .name = given(attributes, "name"),
        .part = part != NULL ? subresource_parse(part) : SUBRESOURCE_NONE,
    };
    struct review_verdict verdict = {false, "unknown resource"};

    /* An administrator has every right, also on resources that do not exist. */
    if (q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return (struct review_verdict){.is_allowed = true};
    if (resource == NULL || verb == NULL || what.part == N_SUBRESOURCES)
        return verdict;
    for (unsigned i = 0; i < n_kinds + n_measured_kinds; i++) {
        what.kind = i < n_kinds ? kinds[i] : measured_kinds[i - n_kinds];
        if (!is_of_group(what.kind, group != NULL ? group : "")
            || (strcmp(resource, "*") != 0 && strcmp(resource, what.kind->plural) != 0))
            continue;
        verdict = judge_verbs(q, &what, verb);
        if (!verdict.is_allowed)
            return verdict;
    }
    return verdict;
}

static struct review_verdict
judge_path(struct request *q, const struct json *attributes)
{
    const char *path = given(attributes, "path");
    const char *verb = given(attributes, "verb");

    if (q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return (struct review_verdict){.is_allowed = true};
    if (path != NULL && verb != NULL && strcmp(verb, "get") == 0 && discovery_knows(path))
        return (struct review_verdict){.is_allowed = true};
    return (struct review_verdict){false, "no rule allows it"};
}

static bool
answer_access(struct request *q, struct json *tree)
{
    const struct json *spec = json_get(tree, "spec");
    const struct json *resource = json_get(spec, "resourceAttributes");
    struct json *status = json_object(q->arena);
    struct review_verdict verdict = json_is(resource, JSON_OBJECT)
                                        ? judge_resource(q, resource)
                                        : judge_path(q, json_get(spec, "nonResourceAttributes"));

    json_set_bool(q->arena, status, "allowed", verdict.is_allowed);
    if (verdict.reason != NULL)
        json_set_string(q->arena, status, "reason", verdict.reason);
    json_set(q->arena, tree, "status", status);
    return true;
}

static struct json *
list_of(struct request *q, const char *text)
{
    struct json *list = json_array(q->arena);

    json_append(q->arena, list, json_string(q->arena, text));
    return list;
}

static struct json *
rule_of(struct request *q, struct json *verbs, const char *group, const char *resource)
{
    struct json *rule = json_object(q->arena);

    json_set(q->arena, rule, "verbs", verbs);
    json_set(q->arena, rule, "apiGroups", list_of(q, group));
    json_set(q->arena, rule, "resources", list_of(q, resource));
    return rule;
}

static void
add_rule(struct request *q, struct json *rules, const struct review_question *what)
{
    struct json *verbs = json_array(q->arena);
    const char *resource = what->kind->plural;

    for (unsigned verb = 0; verb < N_VERBS; verb++)
        if ((what->part == SUBRESOURCE_NONE ? kind_allows(what->kind, verb)
                                            : subresource_allows(what->kind, what->part, verb))
            && judge(q, what, verb).is_allowed)
            json_append(q->arena, verbs, json_string(q->arena, verb_name(verb)));
    if (verbs->count == 0)
        return;
    if (what->part != SUBRESOURCE_NONE)
        resource = arena_printf(q->arena, "%s/%s", resource, subresource_name(what->part));
    json_append(q->arena, rules, rule_of(q, verbs, what->kind->group, resource));
}

static void
add_rules(struct request *q, struct json *rules, const char *namespace)
{
    struct review_question what = {.namespace = namespace};

    if (q->principal->type == PRINCIPAL_ADMINISTRATOR) {
        json_append(q->arena, rules, rule_of(q, list_of(q, "*"), "*", "*"));
        return;
    }
    for (unsigned i = 0; i < n_kinds; i++)
        for (unsigned part = 0; part < N_SUBRESOURCES; part++) {
            what.kind = kinds[i];
            what.part = part;
            add_rule(q, rules, &what);
        }
    what.part = SUBRESOURCE_NONE;
    for (unsigned i = 0; i < n_answered_kinds; i++) {
        what.kind = answered_kinds[i];
        add_rule(q, rules, &what);
    }
    for (unsigned i = 0; i < n_measured_kinds; i++) {
        what.kind = measured_kinds[i];
        add_rule(q, rules, &what);
    }
}

static struct json *
path_rule(struct request *q)
{
    struct json *rule = json_object(q->arena);
    struct json *paths = json_array(q->arena);
    bool is_all = q->principal->type == PRINCIPAL_ADMINISTRATOR;
    const char *const *known = discovery_paths();

    json_set(q->arena, rule, "verbs", list_of(q, is_all ? "*" : "get"));
    if (is_all)
        json_append(q->arena, paths, json_string(q->arena, "*"));
    for (; !is_all && *known != NULL; known++)
        json_append(q->arena, paths, json_string(q->arena, *known));
    json_set(q->arena, rule, "nonResourceURLs", paths);
    return rule;
}

static bool
answer_rules(struct request *q, struct json *tree)
{
    const char *namespace = given(json_get(tree, "spec"), "namespace");
    struct json *status = json_object(q->arena);
    struct json *rules = json_array(q->arena);
    struct json *paths = json_array(q->arena);

    if (namespace == NULL) {
        reply_bad_request(&q->reply, "no namespace on request");
        return false;
    }
    add_rules(q, rules, namespace);
    json_append(q->arena, paths, path_rule(q));
    json_set(q->arena, status, "resourceRules", rules);
    json_set(q->arena, status, "nonResourceRules", paths);
    json_set_bool(q->arena, status, "incomplete", false);
    /* Upstream answers with an empty spec. */
    json_set(q->arena, tree, "spec", json_object(q->arena));
    json_set(q->arena, tree, "status", status);
    return true;
}

static void
add_groups(struct request *q, struct json *groups)
{
    const struct principal *principal = q->principal;

    if (principal->type == PRINCIPAL_ADMINISTRATOR)
        json_append(q->arena, groups, json_string(q->arena, "system:masters"));
    if (principal->type == PRINCIPAL_OPERATOR)
        json_append(q->arena, groups, json_string(q->arena, "kiln:operators"));
    if (principal->type == PRINCIPAL_AGENT)
        json_append(q->arena, groups, json_string(q->arena, "system:nodes"));
    for (size_t i = 0; i < principal->n_groups; i++)
        json_append(q->arena, groups,
                    json_stringf(q->arena, "gid:%u", (unsigned)principal->groups[i]));
    json_append(q->arena, groups, json_string(q->arena, "system:authenticated"));
}

static bool
answer_subject(struct request *q, struct json *tree)
{
    const struct principal *principal = q->principal;
    struct json *status = json_object(q->arena);
    struct json *user = json_object(q->arena);
    struct json *groups = json_array(q->arena);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(q->server->clock), false, now);
    json_set_string(q->arena, json_make_object(q->arena, tree, "metadata"), "creationTimestamp",
                    now);
    json_set(q->arena, user, "username",
             principal->node != NULL ? json_stringf(q->arena, "system:node:%s", principal->node)
                                     : json_string(q->arena, principal->name));
    json_set(q->arena, user, "uid",
             q->server->profile->everybodys_uid != NULL
                 ? json_string(q->arena, q->server->profile->everybodys_uid)
                 : json_stringf(q->arena, "%u", (unsigned)principal->uid));
    add_groups(q, groups);
    json_set(q->arena, user, "groups", groups);
    json_set(q->arena, status, "userInfo", user);
    json_set(q->arena, tree, "status", status);
    return true;
}

/* Each returns false when the reply is made. */
static const struct {
    const struct kind *kind;
    bool (*answer)(struct request *q, struct json *tree);
} answers[] = {
    {&self_subject_access_review_kind, answer_access},
    {&self_subject_review_kind, answer_subject},
    {&self_subject_rules_review_kind, answer_rules},
};

static bool
answer(struct request *q, struct json *tree)
{
    for (unsigned i = 0; i < ARRAY_SIZE(answers); i++)
        if (answers[i].kind == q->route.kind)
            return answers[i].answer(q, tree);
    return false;
}

static bool
validate(struct request *q, const struct json *tree)
{
    const struct kind *kind = q->route.kind;
    struct causes causes;

    if (kind->validate == NULL)
        return true;
    causes_init(&causes, q->arena);
    kind->validate(&causes, tree, NULL);
    if (causes.count == 0)
        return true;
    reply_invalid(&q->reply, kind->group, kind->name, "", &causes);
    return false;
}

void
verb_review(struct request *q)
{
    struct json *tree = q->body;
    bool is_answered = body_normalize(q, tree) && validate(q, tree);

    if (is_answered) {
        json_remove(tree, "status");
        is_answered = answer(q, tree);
    }
    if (is_answered) {
        record_normalize(q->route.kind->record, q->arena, tree, NULL, NULL);
        reply_tree(&q->reply, 201, tree);
    }
    request_finish(q);
}
