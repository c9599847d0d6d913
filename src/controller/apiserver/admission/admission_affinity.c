/* SPDX-License-Identifier: Apache-2.0 */
/* admission_affinity.c - bounds what pod affinity may cost other users: the
 * number of terms, and whose pods they keep away
 */
#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

/* The most terms of a pod in all its lists, and the most namespaces, labels,
 * requirements and values in all its terms: the scheduler compares each with
 * every pod.
 */
#define MAX_TERMS 32
#define MAX_WORDS 1024

static uint32_t
count_selector(const struct json *selector)
{
    const struct json *expressions = json_get(selector, "matchExpressions");
    uint32_t count = json_count(json_get(selector, "matchLabels"));

    for (uint32_t i = 0; i < json_count(expressions); i++)
        count += 1 + json_count(json_get(json_at(expressions, i), "values"));
    return count;
}

static uint32_t
count_words(const struct json *term)
{
    return count_selector(json_get(term, "labelSelector"))
           + count_selector(json_get(term, "namespaceSelector"))
           + json_count(json_get(term, "namespaces"));
}

static void
count_terms(const struct json *affinity, uint32_t *terms, uint32_t *words)
{
    static const char *const lists[] = {
        "podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "podAffinity.preferredDuringSchedulingIgnoredDuringExecution",
        "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *list = json_get_path(affinity, lists[i]);

        *terms += json_count(list);
        for (uint32_t k = 0; k < json_count(list); k++) {
            const struct json *entry = json_at(list, k);
            const struct json *weighted = json_get(entry, "podAffinityTerm");

            *words += count_words(weighted != NULL ? weighted : entry);
        }
    }
}

bool
affinity_terms_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    uint32_t terms = 0, words = 0;

    (void)old_object;
    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE)
        return true;
    count_terms(json_get(admission_pod_spec(q, tree), "affinity"), &terms, &words);
    if (terms > MAX_TERMS)
        return admission_refuse(q, tree, "AffinityTerms",
                                arena_printf(q->arena,
                                             "%" PRIu32 " terms of podAffinity and "
                                             "podAntiAffinity are more than the limit of %d; list "
                                             "several values in one term",
                                             terms, MAX_TERMS));
    if (words > MAX_WORDS)
        return admission_refuse(q, tree, "AffinityTerms",
                                arena_printf(q->arena,
                                             "%" PRIu32 " namespaces, labels and values in "
                                             "podAffinity and podAntiAffinity are more than the "
                                             "limit of %d; give the intended pods a label of "
                                             "their own",
                                             words, MAX_WORDS));
    return true;
}

/* The annotation says whose pods the affinity of this pod keeps away. For pods
 * of administrators that is everybody's by default. Users may not set it.
 */
bool
repelling_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    const char *now = json_get_text(json_get(meta, "annotations"), ANNOTATION_REPELS);
    const char *before = old_object != NULL
                             ? string_map_find(&old_object->meta->annotations, ANNOTATION_REPELS)
                             : NULL;

    if (!principal_is_person(q->principal))
        return true;
    if (q->principal->type == PRINCIPAL_ADMINISTRATOR) {
        if (old_object == NULL && now == NULL)
            json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                            ANNOTATION_REPELS, REPELS_ALL);
        return true;
    }
    if (now == NULL && before != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_REPELS, before);
    return now == NULL || text_equals(now, before)
           || admission_refuse(q, tree, "Repelling",
                               "metadata.annotations '" ANNOTATION_REPELS
                               "' is for administrators: the affinity of your pods considers "
                               "only your own pods");
}
