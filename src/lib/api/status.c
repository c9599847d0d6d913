/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/status.h"

#include "lib/api/rows.h"

/* clang-format off */
static const struct field status_cause_fields[] = {
    STRING("reason", status_cause, reason, 0),
    STRING("message", status_cause, message, 0),
    STRING("field", status_cause, field, 0),
};
static RECORD(status_cause, status_cause,
       "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause");

static const struct field status_details_fields[] = {
    STRING("name", status_details, name, 0),
    STRING("group", status_details, group, 0),
    STRING("kind", status_details, kind, 0),
    STRING("uid", status_details, uid, 0),
    OBJECTS("causes", status_details, causes, status_cause, 0),
    INT("retryAfterSeconds", status_details, retry_after_s, 0),
};
static RECORD(status_details, status_details,
       "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails");

static const struct field list_meta_fields[] = {
    OPAQUE(STRING, "selfLink", 0),
    OPAQUE(STRING, "resourceVersion", 0),
    OPAQUE(STRING, "continue", 0),
    OPAQUE(INT64, "remainingItemCount", KEPT),
};
OPAQUE_RECORD(list_meta, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta");

static const struct field status_fields[] = {
    TYPE_META,
    OPAQUE_OBJECT("metadata", list_meta, ALWAYS),
    STRING("status", status, status, 0),
    STRING("message", status, message, 0),
    STRING("reason", status, reason, 0),
    OBJECT("details", status, details, status_details, 0),
    INT("code", status, code, 0),
};
RECORD(status, status, "io.k8s.apimachinery.pkg.apis.meta.v1.Status");
/* clang-format on */
