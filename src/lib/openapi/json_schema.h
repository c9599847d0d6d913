/* SPDX-License-Identifier: Apache-2.0 */
/* json_schema.h - the schemas of OpenAPI v3, made from field tables
 *
 * Names are upstream's ("io.k8s.api.core.v1.PodSpec"), and so are the
 * extensions that describe how lists merge. Descriptions are included if the
 * table has them. All memory is from the arena passed in.
 *
 * Thread:  any.
 */
#pragma once

struct arena;
struct json;
struct kind;
struct record;

/* Adds the record and all records it refers to, each once, to
 * "components.schemas".
 */
void json_schema_add_record(struct arena *arena, struct json *schemas, const struct record *record);

/* Adds the record of a kind, marked with its group, version and kind, and its
 * list if it has one.
 */
void json_schema_add_kind(struct arena *arena, struct json *schemas, const struct kind *kind);

/* {"$ref": "#/components/schemas/NAME"}, for a record or for a kind's list. */
struct json *json_schema_reference(struct arena *arena, const char *name);
struct json *json_schema_reference_list(struct arena *arena, const struct kind *kind);

/* {"group": ..., "version": ..., "kind": ...} */
struct json *json_schema_group_version_kind(struct arena *arena, const struct kind *kind,
                                            const char *name);
