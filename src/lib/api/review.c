/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/review.h"

#include "lib/api/causes.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field requirement_fields[] = {
    OPAQUE(STRING, "key", ALWAYS | REQUIRED),
    OPAQUE(STRING, "operator", ALWAYS | REQUIRED),
    OPAQUE_LIST(STRING, "values", 0),
};
static OPAQUE_RECORD(requirement,
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement");

static const struct field selector_attributes_fields[] = {
    OPAQUE(STRING, "rawSelector", 0),
    OPAQUE_OBJECTS("requirements", requirement, 0),
};
static OPAQUE_RECORD(selector_attributes,
       "io.k8s.api.authorization.v1.LabelSelectorAttributes");

static const struct field resource_attributes_fields[] = {
    OPAQUE(STRING, "namespace", 0),
    OPAQUE(STRING, "verb", 0),
    OPAQUE(STRING, "group", 0),
    OPAQUE(STRING, "version", 0),
    OPAQUE(STRING, "resource", 0),
    OPAQUE(STRING, "subresource", 0),
    OPAQUE(STRING, "name", 0),
    OPAQUE_OBJECT("fieldSelector", selector_attributes, 0),
    OPAQUE_OBJECT("labelSelector", selector_attributes, 0),
};
static OPAQUE_RECORD(resource_attributes,
       "io.k8s.api.authorization.v1.ResourceAttributes");

static const struct field non_resource_attributes_fields[] = {
    OPAQUE(STRING, "path", 0),
    OPAQUE(STRING, "verb", 0),
};
static OPAQUE_RECORD(non_resource_attributes,
       "io.k8s.api.authorization.v1.NonResourceAttributes");

static const struct field access_spec_fields[] = {
    OPAQUE_OBJECT("resourceAttributes", resource_attributes, 0),
    OPAQUE_OBJECT("nonResourceAttributes", non_resource_attributes, 0),
};
static OPAQUE_RECORD(access_spec,
       "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec");

static const struct field access_status_fields[] = {
    OPAQUE(BOOL, "allowed", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "denied", 0),
    OPAQUE(STRING, "reason", 0),
    OPAQUE(STRING, "evaluationError", 0),
};
static OPAQUE_RECORD(access_status,
       "io.k8s.api.authorization.v1.SubjectAccessReviewStatus");

static const struct field self_subject_access_review_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS),
    OPAQUE_OBJECT("spec", access_spec, ALWAYS | REQUIRED),
    OPAQUE_OBJECT("status", access_status, ALWAYS),
};
OPAQUE_RECORD(self_subject_access_review,
       "io.k8s.api.authorization.v1.SelfSubjectAccessReview");

static const struct field resource_rule_fields[] = {
    OPAQUE_LIST(STRING, "verbs", ALWAYS | REQUIRED),
    OPAQUE_LIST(STRING, "apiGroups", 0),
    OPAQUE_LIST(STRING, "resources", 0),
    OPAQUE_LIST(STRING, "resourceNames", 0),
};
static OPAQUE_RECORD(resource_rule, "io.k8s.api.authorization.v1.ResourceRule");

static const struct field non_resource_rule_fields[] = {
    OPAQUE_LIST(STRING, "verbs", ALWAYS | REQUIRED),
    OPAQUE_LIST(STRING, "nonResourceURLs", 0),
};
static OPAQUE_RECORD(non_resource_rule,
       "io.k8s.api.authorization.v1.NonResourceRule");

static const struct field rules_spec_fields[] = {
    OPAQUE(STRING, "namespace", 0),
};
static OPAQUE_RECORD(rules_spec,
       "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec");

static const struct field rules_status_fields[] = {
    OPAQUE_OBJECTS("resourceRules", resource_rule, ALWAYS | REQUIRED),
    OPAQUE_OBJECTS("nonResourceRules", non_resource_rule, ALWAYS | REQUIRED),
    OPAQUE(BOOL, "incomplete", ALWAYS | REQUIRED),
    OPAQUE(STRING, "evaluationError", 0),
};
static OPAQUE_RECORD(rules_status,
       "io.k8s.api.authorization.v1.SubjectRulesReviewStatus");

static const struct field self_subject_rules_review_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS),
    OPAQUE_OBJECT("spec", rules_spec, ALWAYS | REQUIRED),
    OPAQUE_OBJECT("status", rules_status, ALWAYS),
};
OPAQUE_RECORD(self_subject_rules_review,
       "io.k8s.api.authorization.v1.SelfSubjectRulesReview");

static const struct field user_info_fields[] = {
    OPAQUE(STRING, "username", 0),
    OPAQUE(STRING, "uid", 0),
    OPAQUE_LIST(STRING, "groups", 0),
    OPAQUE(ANY, "extra", 0),
};
static OPAQUE_RECORD(user_info, "io.k8s.api.authentication.v1.UserInfo");

static const struct field subject_status_fields[] = {
    OPAQUE_OBJECT("userInfo", user_info, ALWAYS),
};
static OPAQUE_RECORD(subject_status,
       "io.k8s.api.authentication.v1.SelfSubjectReviewStatus");

static const struct field self_subject_review_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", meta, ALWAYS),
    OPAQUE_OBJECT("status", subject_status, ALWAYS),
};
OPAQUE_RECORD(self_subject_review,
       "io.k8s.api.authentication.v1.SelfSubjectReview");
/* clang-format on */

static void
validate_access(struct causes *c,
                const struct json *object,
                const struct json *old)
{
    const struct json *spec = json_get(object, "spec");
    bool of_resource =
        json_is(json_get(spec, "resourceAttributes"), JSON_OBJECT);
    bool of_path =
        json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT);

    (void)old;
    if (of_resource != of_path)
        return;
    causes_add(c,
               CAUSE_INVALID,
               of_path ? "spec.nonResourceAttributes"
                       : "spec.resourceAttributes",
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
