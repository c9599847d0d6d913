/* SPDX-License-Identifier: Apache-2.0 */
/* json_schema.h - the schemas of OpenAPI v3, from field tables
 *
 * Names are upstream's ("io.k8s.api.core.v1.PodSpec"), as are the extensions
 * that say how lists merge. Texts are there where the table has them.
 * Everything lives in the arena that is handed in.
 *
 * Thread:  any.
 */
#pragma once

struct arena;
struct json;
struct kind;
struct record;

/* Adds the record and all it refers to, each once, to "components.schemas". */
void json_schema_add_record(struct arena *arena,
                            struct json *schemas,
                            const struct record *record);

/* The same of a kind, marked as such, and its list, where it has one. */
void json_schema_add_kind(struct arena *arena,
                          struct json *schemas,
                          const struct kind *kind);

/* {"$ref": "#/components/schemas/NAME"}; of the kind or of its list. */
struct json *json_schema_reference(struct arena *arena, const char *name);
struct json *json_schema_reference_list(struct arena *arena,
                                        const struct kind *kind);

/* {"group": ..., "version": ..., "kind": ...} */
struct json *json_schema_group_version_kind(struct arena *arena,
                                            const struct kind *kind,
                                            const char *name);
