/* SPDX-License-Identifier: Apache-2.0 */
/* pod_template.c - a stored template for pods (kind PodTemplate) */
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/table.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field pod_template_object_fields[] = {
    TYPE_META,
    BARE_METADATA,
    OPAQUE_OBJECT("template", pod_template, ALWAYS,
        HELP("A template for pods.")),
};
static RECORD(pod_template_object, meta, "io.k8s.api.core.v1.PodTemplate",
       MESSAGE("metadata template"),
       HELP("A template for pods, as a separate object."));
/* clang-format on */

void
pod_template_check(struct causes *c, const struct json *owner, const char *name)
{
    const struct json *template = json_get(owner, name);
    const struct json *spec = json_get(template, "spec");
    const struct json *meta = json_get(template, "metadata");
    unsigned at = causes_enter(c, name), inside;

    meta_check_labels(c, meta);
    pod_annotations_check(c, meta, spec);
    inside = causes_enter(c, "spec");
    pod_spec_check(c, spec);
    pod_annotations_match(c, template);
    if (json_count(json_get(spec, "ephemeralContainers")) > 0)
        causes_add(c, CAUSE_FORBIDDEN, "ephemeralContainers", NULL,
                   "ephemeral containers not allowed in pod template");
    causes_leave(c, inside);
    causes_leave(c, at);
}

static void
set_defaults(struct arena *arena, struct json *object)
{
    struct json *template = json_make_object(arena, object, "template");

    pod_spec_set_defaults(arena, json_make_object(arena, template, "spec"));
}

static void
prepare(struct arena *arena, struct json *object, const struct json *old)
{
    meta_prepare(arena, object, old);
    pod_spec_drop_disabled(arena, json_get_path(object, "template.spec"),
                           json_get_path(old, "template.spec"));
}

static void
validate(struct causes *c, const struct json *object, const struct json *old)
{
    meta_check(c, &pod_template_kind, NAME_DNS_SUBDOMAIN, object, old);
    pod_template_check(c, object, "template");
}

static void
warn(struct causes *c, const struct json *object, const struct json *old)
{
    unsigned at = causes_enter(c, "template");

    (void)old;
    pod_warn(c, json_get(object, "template"));
    causes_leave(c, at);
}

static void
add_each(struct table_row *row, const char *name)
{
    const struct json *containers = json_get_path(row->summary, "template.spec.containers");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(containers); i++) {
        const char *value = json_get_text(json_at(containers, i), name);

        strbuf_printf(&text, "%s%s", i > 0 ? "," : "", value != NULL ? value : "");
    }
    table_cell(row, text.text);
}

static void
add_containers(struct table_row *row)
{
    add_each(row, "name");
}

static void
add_images(struct table_row *row)
{
    add_each(row, "image");
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct json_member *)a)->name, ((const struct json_member *)b)->name);
}

static void
add_labels(struct table_row *row)
{
    const struct json *labels = json_get_path(row->summary, "template.metadata.labels");
    uint32_t count = json_count(labels);
    struct json_member *sorted = arena_new_array(row->arena, struct json_member, count + 1);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < count; i++)
        sorted[i] = labels->members[i];
    qsort(sorted, count, sizeof(*sorted), by_name);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(&text, "%s%s=%s", i > 0 ? "," : "", sorted[i].name, sorted[i].value->text);
    table_cell(row, count > 0 ? text.text : "<none>");
}

static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Containers", add_containers, "The names of its containers."),
    COLUMN("Images", add_images, "The images of its containers."),
    COLUMN("Pod Labels", add_labels, "The labels its pods get."),
};
static const struct table table = {
    TABLE_COLUMNS(columns),
    .summarize = table_tree,
};

const struct kind pod_template_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "PodTemplate",
    .list_name = "PodTemplateList",
    .plural = "podtemplates",
    .singular = "podtemplate",
    .flags = KIND_NAMESPACED | KIND_UNCONDITIONAL_UPDATE | KIND_GENERATION,
    .record = &pod_template_object_record,
    .generation_of = "template",
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .warn = warn,
    .table = &table,
};
