/* SPDX-License-Identifier: Apache-2.0 */
/* pod_template.c - a pod spec kept for use by others (kind PodTemplate) */
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field pod_template_object_fields[] = {
    TYPE_META,
    BARE_METADATA,
    OPAQUE_OBJECT("template", pod_template, ALWAYS,
        HELP("What pods are made from.")),
};
static RECORD(pod_template_object, meta, "io.k8s.api.core.v1.PodTemplate",
       HELP("A template for pods, kept by itself."));
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
        causes_add(c,
                   CAUSE_FORBIDDEN,
                   "ephemeralContainers",
                   NULL,
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
    meta_prepare(&pod_template_kind, arena, object, old);
    pod_spec_drop_disabled(arena,
                           json_get_path(object, "template.spec"),
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
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .warn = warn,
};
