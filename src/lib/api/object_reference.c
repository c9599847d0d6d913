/* SPDX-License-Identifier: Apache-2.0 */
/* object_reference.c - pointers from one object to another */
#include "lib/api/event.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field object_reference_fields[] = {
    STRING("kind", object_reference, kind, 0),
    STRING("namespace", object_reference, namespace, 0),
    STRING("name", object_reference, name, 0),
    STRING("apiVersion", object_reference, api_version, 0),
    STRING("fieldPath", object_reference, field_path, 0),
    STRING("resourceVersion", object_reference, resource_version, 0),
    STRING("uid", object_reference, uid, 0),
};
RECORD(object_reference, object_reference,
       "io.k8s.api.core.v1.ObjectReference", ATOMIC);

static const struct field local_object_reference_fields[] = {
    OPAQUE(STRING, "name", 0, AS_ABSENT("")),
};
OPAQUE_RECORD(local_object_reference,
       "io.k8s.api.core.v1.LocalObjectReference", ATOMIC);

static const struct field typed_local_object_reference_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "kind", ALWAYS | REQUIRED),
    OPAQUE(STRING, "apiGroup", KEPT),
};
OPAQUE_RECORD(typed_local_object_reference,
       "io.k8s.api.core.v1.TypedLocalObjectReference", ATOMIC);

static const struct field typed_object_reference_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "kind", ALWAYS | REQUIRED),
    OPAQUE(STRING, "apiGroup", KEPT),
    OPAQUE(STRING, "namespace", KEPT),
};
OPAQUE_RECORD(typed_object_reference,
       "io.k8s.api.core.v1.TypedObjectReference");

static const struct field secret_reference_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(STRING, "namespace", 0),
};
OPAQUE_RECORD(secret_reference, "io.k8s.api.core.v1.SecretReference", ATOMIC);
/* clang-format on */
