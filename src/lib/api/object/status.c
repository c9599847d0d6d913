/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/status.h"

#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field status_cause_fields[] = {
    STRING("reason", status_cause, reason, 0,
        HELP("Reason in one word, for programs.")),
    STRING("message", status_cause, message, 0,
        HELP("Explanation, for people.")),
    STRING("field", status_cause, field, 0,
        HELP("Where.")),
};
static RECORD(status_cause, status_cause,
       "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause",
       HELP("One cause of the error."));

static const struct field status_details_fields[] = {
    STRING("name", status_details, name, 0,
        HELP("Its name.")),
    STRING("group", status_details, group, 0,
        HELP("The group.")),
    STRING("kind", status_details, kind, 0,
        HELP("The kind of object.")),
    STRING("uid", status_details, uid, 0,
        HELP("The required uid of the object.")),
    OBJECTS("causes", status_details, causes, status_cause, 0,
        HELP("What is wrong.")),
    INT("retryAfterSeconds", status_details, retry_after_s, 0,
        HELP("When to try again.")),
};
static RECORD(status_details, status_details,
       "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails",
       HELP("Details of an answer."));

static const struct field list_meta_fields[] = {
    OPAQUE(STRING, "selfLink", 0,
        HELP("No longer used.")),
    OPAQUE(STRING, "resourceVersion", 0,
        HELP("The revision of the whole list.")),
    OPAQUE(STRING, "continue", 0,
        HELP("Send it to get the next page.")),
    OPAQUE(INT64, "remainingItemCount", KEPT,
        HELP("How many objects follow this page.")),
};
OPAQUE_RECORD(list_meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
       HELP("The metadata of a list."));

static const struct field status_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", list_meta, ALWAYS,
        HELP("Name, namespace, labels and what else objects have in "
             "common.")),
    STRING("status", status, status, 0,
        HELP("Success or Failure.")),
    STRING("message", status, message, 0,
        HELP("Explanation, for people.")),
    STRING("reason", status, reason, 0,
        HELP("Reason in one word, for programs.")),
    OBJECT("details", status, details, status_details, 0,
        HELP("Details.")),
    INT("code", status, code, 0,
        HELP("The HTTP status.")),
};
RECORD(status, status, "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
       HELP("The result of a request."));
/* clang-format on */
