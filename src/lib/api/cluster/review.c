/* SPDX-License-Identifier: Apache-2.0 */
/* review.c - questions about the caller: who am I, what may I do
 *
 * Request bodies that are answered but not stored.
 */
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field requirement_fields[] = {
    OPAQUE(STRING, "key", ALWAYS | REQUIRED,
        HELP("The label.")),
    OPAQUE(STRING, "operator", ALWAYS | REQUIRED,
        HELP("In, NotIn, Exists or DoesNotExist.")),
    OPAQUE_LIST(STRING, "values", 0,
        HELP("The values it is compared with.")),
};
static OPAQUE_RECORD(requirement,
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
       MESSAGE("key operator values"),
       HELP("A condition on a label."));

static const struct field selector_attributes_fields[] = {
    OPAQUE(STRING, "rawSelector", 0,
        HELP("The selector as text.")),
    OPAQUE_OBJECTS("requirements", requirement, 0,
        HELP("The parsed requirements.")),
};
static OPAQUE_RECORD(selector_attributes,
       "io.k8s.api.authorization.v1.LabelSelectorAttributes",
       MESSAGE("rawSelector requirements"),
       HELP("A selector of a request."));

static const struct field resource_attributes_fields[] = {
    OPAQUE(STRING, "namespace", 0,
        HELP("In which namespace; none for all.")),
    OPAQUE(STRING, "verb", 0,
        HELP("get, list, watch, create, update, patch, delete or *.")),
    OPAQUE(STRING, "group", 0,
        HELP("The group; * for all.")),
    OPAQUE(STRING, "version", 0,
        HELP("The version; * for all.")),
    OPAQUE(STRING, "resource", 0,
        HELP("The resource, by its plural.")),
    OPAQUE(STRING, "subresource", 0,
        HELP("The subresource.")),
    OPAQUE(STRING, "name", 0,
        HELP("The object; none for all.")),
    OPAQUE_OBJECT("fieldSelector", selector_attributes, 0,
        HELP("Only objects with these fields.")),
    OPAQUE_OBJECT("labelSelector", selector_attributes, 0,
        HELP("Only objects with these labels.")),
};
static OPAQUE_RECORD(resource_attributes,
       "io.k8s.api.authorization.v1.ResourceAttributes",
       MESSAGE("namespace verb group version resource subresource name "
               "fieldSelector labelSelector"),
       HELP("An action on objects."));

static const struct field non_resource_attributes_fields[] = {
    OPAQUE(STRING, "path", 0,
        HELP("The path.")),
    OPAQUE(STRING, "verb", 0,
        HELP("The method, in lower case.")),
};
static OPAQUE_RECORD(non_resource_attributes,
       "io.k8s.api.authorization.v1.NonResourceAttributes",
       MESSAGE("path verb"),
       HELP("A request for a path."));

static const struct field access_spec_fields[] = {
    OPAQUE_OBJECT("resourceAttributes", resource_attributes, 0,
        HELP("An action on objects.")),
    OPAQUE_OBJECT("nonResourceAttributes", non_resource_attributes, 0,
        HELP("A path.")),
};
static OPAQUE_RECORD(access_spec,
       "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
       MESSAGE("resourceAttributes nonResourceAttributes"),
       HELP("The action in question."));

static const struct field access_status_fields[] = {
    OPAQUE(BOOL, "allowed", ALWAYS | REQUIRED,
        HELP("Whether the caller is allowed to do it.")),
    OPAQUE(BOOL, "denied", 0,
        HELP("Whether a rule forbids it.")),
    OPAQUE(STRING, "reason", 0,
        HELP("Reason in one word, for programs.")),
    OPAQUE(STRING, "evaluationError", 0,
        HELP("What could not be evaluated.")),
};
static OPAQUE_RECORD(access_status,
       "io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
       MESSAGE("allowed reason evaluationError denied"),
       HELP("The answer."));

static const struct field self_subject_access_review_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Name, namespace, labels and what else objects have in "
             "common.")),
    OPAQUE_OBJECT("spec", access_spec, ALWAYS | REQUIRED,
        HELP("Desired state.")),
    OPAQUE_OBJECT("status", access_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
static OPAQUE_RECORD(self_subject_access_review,
       "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
       MESSAGE("metadata spec status"),
       HELP("Asks whether the caller may do something."));

static const struct field resource_rule_fields[] = {
    OPAQUE_LIST(STRING, "verbs", ALWAYS | REQUIRED,
        HELP("What.")),
    OPAQUE_LIST(STRING, "apiGroups", 0,
        HELP("Of these API groups.")),
    OPAQUE_LIST(STRING, "resources", 0,
        HELP("Of these resources.")),
    OPAQUE_LIST(STRING, "resourceNames", 0,
        HELP("Only objects with these names; none for all.")),
};
static OPAQUE_RECORD(resource_rule, "io.k8s.api.authorization.v1.ResourceRule",
       MESSAGE("verbs apiGroups resources resourceNames"),
       HELP("What may be done to some objects."));

static const struct field non_resource_rule_fields[] = {
    OPAQUE_LIST(STRING, "verbs", ALWAYS | REQUIRED,
        HELP("How.")),
    OPAQUE_LIST(STRING, "nonResourceURLs", 0,
        HELP("The paths.")),
};
static OPAQUE_RECORD(non_resource_rule,
       "io.k8s.api.authorization.v1.NonResourceRule",
       MESSAGE("verbs nonResourceURLs"),
       HELP("Which paths may be asked for."));

static const struct field rules_spec_fields[] = {
    OPAQUE(STRING, "namespace", 0,
        HELP("The namespace.")),
};
static OPAQUE_RECORD(rules_spec,
       "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec",
       MESSAGE("namespace"),
       HELP("Where."));

static const struct field rules_status_fields[] = {
    OPAQUE_OBJECTS("resourceRules", resource_rule, ALWAYS | REQUIRED,
        HELP("What may be done to objects.")),
    OPAQUE_OBJECTS("nonResourceRules", non_resource_rule, ALWAYS | REQUIRED,
        HELP("Which paths may be asked for.")),
    OPAQUE(BOOL, "incomplete", ALWAYS | REQUIRED,
        HELP("Whether the list is incomplete.")),
    OPAQUE(STRING, "evaluationError", 0,
        HELP("What could not be evaluated.")),
};
static OPAQUE_RECORD(rules_status,
       "io.k8s.api.authorization.v1.SubjectRulesReviewStatus",
       MESSAGE("resourceRules nonResourceRules incomplete evaluationError"),
       HELP("The answer."));

static const struct field self_subject_rules_review_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Name, namespace, labels and what else objects have in "
             "common.")),
    OPAQUE_OBJECT("spec", rules_spec, ALWAYS | REQUIRED,
        HELP("Desired state.")),
    OPAQUE_OBJECT("status", rules_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
static OPAQUE_RECORD(self_subject_rules_review,
       "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
       MESSAGE("metadata spec status"),
       HELP("Asks what the caller may do in a namespace."));

static const struct field user_info_fields[] = {
    OPAQUE(STRING, "username", 0,
        HELP("The name.")),
    OPAQUE(STRING, "uid", 0,
        HELP("The uid.")),
    OPAQUE_LIST(STRING, "groups", 0,
        HELP("The groups.")),
    OPAQUE(ANY, "extra", 0,
        HELP("Further attributes.")),
};
static OPAQUE_RECORD(user_info, "io.k8s.api.authentication.v1.UserInfo",
       MESSAGE("username uid groups extra"),
       HELP("The identity of a user."));

static const struct field subject_status_fields[] = {
    OPAQUE_OBJECT("userInfo", user_info, ALWAYS,
        HELP("Who the caller is.")),
};
static OPAQUE_RECORD(subject_status,
       "io.k8s.api.authentication.v1.SelfSubjectReviewStatus",
       MESSAGE("userInfo"),
       HELP("The answer."));

static const struct field self_subject_review_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Name, namespace, labels and what else objects have in "
             "common.")),
    OPAQUE_OBJECT("status", subject_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
static OPAQUE_RECORD(self_subject_review,
       "io.k8s.api.authentication.v1.SelfSubjectReview",
       MESSAGE("metadata status"),
       HELP("Asks who the caller is."));
/* clang-format on */

static void
validate_access(struct causes *c, const struct json *object, const struct json *old)
{
    const struct json *spec = json_get(object, "spec");
    bool of_resource = json_is(json_get(spec, "resourceAttributes"), JSON_OBJECT);
    bool of_path = json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT);

    (void)old;
    if (of_resource != of_path)
        return;
    causes_add(c, CAUSE_INVALID, of_path ? "spec.nonResourceAttributes" : "spec.resourceAttributes",
               NULL,
               of_path ? "cannot be specified in combination with "
                         "resourceAttributes"
                       : "exactly one of nonResourceAttributes or "
                         "resourceAttributes must be specified");
}

const struct kind self_subject_access_review_kind = {
    .group = "authorization.k8s.io",
    .version = "v1",
    .api_version = "authorization.k8s.io/v1",
    .name = "SelfSubjectAccessReview",
    .list_name = "",
    .plural = "selfsubjectaccessreviews",
    .singular = "selfsubjectaccessreview",
    .flags = KIND_ANSWERED,
    .record = &self_subject_access_review_record,
    .validate = validate_access,
};

const struct kind self_subject_rules_review_kind = {
    .group = "authorization.k8s.io",
    .version = "v1",
    .api_version = "authorization.k8s.io/v1",
    .name = "SelfSubjectRulesReview",
    .list_name = "",
    .plural = "selfsubjectrulesreviews",
    .singular = "selfsubjectrulesreview",
    .flags = KIND_ANSWERED,
    .record = &self_subject_rules_review_record,
};

const struct kind self_subject_review_kind = {
    .group = "authentication.k8s.io",
    .version = "v1",
    .api_version = "authentication.k8s.io/v1",
    .name = "SelfSubjectReview",
    .list_name = "",
    .plural = "selfsubjectreviews",
    .singular = "selfsubjectreview",
    .flags = KIND_ANSWERED,
    .record = &self_subject_review_record,
};
