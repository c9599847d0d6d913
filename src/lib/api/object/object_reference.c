/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/object_reference.h"

#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field object_reference_fields[] = {
    STRING("kind", object_reference, kind, 0,
        HELP("The kind of object.")),
    STRING("namespace", object_reference, namespace, 0,
        HELP("The namespace it is in.")),
    STRING("name", object_reference, name, 0,
        HELP("Its name.")),
    STRING("apiVersion", object_reference, api_version, 0,
        HELP("The group and version of the kind, such as batch/v1.")),
    STRING("fieldPath", object_reference, field_path, 0,
        HELP("The part of the object.")),
    STRING("resourceVersion", object_reference, resource_version, 0,
        HELP("The required revision.")),
    STRING("uid", object_reference, uid, 0,
        HELP("The required uid of the object.")),
};
RECORD(object_reference, object_reference,
       "io.k8s.api.core.v1.ObjectReference",
       MESSAGE("kind namespace name uid apiVersion resourceVersion fieldPath"),
       HELP("Another object."), ATOMIC);

static const struct field local_object_reference_fields[] = {
    OPAQUE(STRING, "name", 0, AS_ABSENT(""),
        HELP("Its name.")),
};
OPAQUE_RECORD(local_object_reference,
       "io.k8s.api.core.v1.LocalObjectReference",
       MESSAGE("name"),
       HELP("Another object of the same namespace, by name."), ATOMIC);

static const struct field typed_local_object_reference_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE(STRING, "kind", ALWAYS | REQUIRED,
        HELP("The kind of object.")),
    OPAQUE(STRING, "apiGroup", ALWAYS | KEPT,
        HELP("Its group; none for the core group.")),
};
OPAQUE_RECORD(typed_local_object_reference,
       "io.k8s.api.core.v1.TypedLocalObjectReference",
       MESSAGE("apiGroup kind name"),
       HELP("Another object of the same namespace."), ATOMIC);

static const struct field typed_object_reference_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE(STRING, "kind", ALWAYS | REQUIRED,
        HELP("The kind of object.")),
    OPAQUE(STRING, "apiGroup", ALWAYS | KEPT,
        HELP("Its group; none for the core group.")),
    OPAQUE(STRING, "namespace", KEPT,
        HELP("The namespace it is in.")),
};
OPAQUE_RECORD(typed_object_reference,
       "io.k8s.api.core.v1.TypedObjectReference",
       MESSAGE("apiGroup kind name namespace"),
       HELP("Another object."));

static const struct field secret_reference_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(STRING, "namespace", 0,
        HELP("The namespace it is in.")),
};
OPAQUE_RECORD(secret_reference, "io.k8s.api.core.v1.SecretReference",
       MESSAGE("name namespace"),
       HELP("A secret."), ATOMIC);
/* clang-format on */
