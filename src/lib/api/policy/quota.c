/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a quota, what a pod uses, and the words of a refusal are upstream's, because
 * tools and people match them. Quantities are summed exactly and compared before anything is
 * charged: either all resources of an object fit, or nothing is charged, and the message has
 * all that were exceeded.
 */
#include "lib/api/policy/quota.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/value/resource_name.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define CLASS_SUFFIX ".storageclass.storage.k8s.io/"

void
quota_amounts_init(struct quota_amounts *amounts, struct arena *arena)
{
    *amounts = (struct quota_amounts){.arena = arena};
}

static struct quota_amount *
find(const struct quota_amounts *amounts, const char *name)
{
    for (unsigned i = 0; i < amounts->count; i++)
        if (strcmp(amounts->items[i].name, name) == 0)
            return &amounts->items[i];
    return NULL;
}

static struct quota_amount *
make(struct quota_amounts *amounts, const char *name)
{
    struct quota_amount *found = find(amounts, name);

    if (found != NULL)
        return found;
    if (amounts->count == amounts->capacity) {
        unsigned capacity = amounts->capacity ? amounts->capacity * 2 : 16;
        struct quota_amount *longer =
            arena_new_array(amounts->arena, struct quota_amount, capacity);

        if (amounts->count > 0)
            memcpy(longer, amounts->items, amounts->count * sizeof(*longer));
        amounts->items = longer;
        amounts->capacity = capacity;
    }
    found = &amounts->items[amounts->count++];
    *found = (struct quota_amount){.name = arena_strdup(amounts->arena, name)};
    return found;
}

static void
add(struct quota_amounts *amounts, const char *name, const struct quantity *amount)
{
    quantity_add(&make(amounts, name)->amount, amount);
}

void
quota_amounts_add(struct quota_amounts *amounts, const char *name, const struct quantity *amount)
{
    add(amounts, name, amount);
}

void
quota_amounts_subtract(struct quota_amounts *amounts, const char *name,
                       const struct quantity *amount)
{
    quantity_subtract(&make(amounts, name)->amount, amount);
}

static void
add_one(struct quota_amounts *amounts, const char *name)
{
    struct quantity one = quantity_of(1, QUANTITY_DECIMAL_SI);

    add(amounts, name, &one);
}

/* Adds one object: "count/pods", "count/jobs.batch". */
static void
add_object(struct quota_amounts *amounts, const struct kind *kind)
{
    add_one(amounts, kind->group[0] == '\0'
                         ? arena_printf(amounts->arena, "count/%s", kind->plural)
                         : arena_printf(amounts->arena, "count/%s.%s", kind->plural, kind->group));
}

/* --- pods ----------------------------------------------------------------- */

static bool
is_basic(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0
           || strcmp(name, "ephemeral-storage") == 0;
}

/* Adds the sums under the names that quotas use. */
static void
add_by_quota_names(struct quota_amounts *amounts, const struct pod_sums *requests,
                   const struct pod_sums *limits)
{
    for (uint32_t i = 0; i < requests->count; i++) {
        const struct pod_sum *r = &requests->items[i];
        bool is_huge = resource_name_is_hugepages(r->name);

        if (is_basic(r->name) || is_huge)
            add(amounts, r->name, &r->amount);
        if (is_basic(r->name) || is_huge || resource_name_is_extended(r->name))
            add(amounts, arena_printf(amounts->arena, "requests.%s", r->name), &r->amount);
    }
    for (uint32_t i = 0; i < limits->count; i++)
        if (is_basic(limits->items[i].name))
            add(amounts, arena_printf(amounts->arena, "limits.%s", limits->items[i].name),
                &limits->items[i].amount);
}

static bool
takes_room(const struct json *pod, int64_t now_us)
{
    const char *phase = check_text(json_get(pod, "status"), "phase");
    const char *deleted = check_text(json_get(pod, "metadata"), "deletionTimestamp");
    int64_t until_us;

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return false;
    return *deleted == '\0' || time_parse(deleted, &until_us) < 0 || until_us > now_us;
}

static void
add_pod(struct quota_amounts *amounts, const struct json *pod, int64_t now_us)
{
    const struct json *tree = json_get(pod, "spec");
    struct pod_sums requests = {0}, limits = {0};
    struct pod_spec spec = {0};

    if (!takes_room(pod, now_us))
        return;
    if (tree != NULL)
        record_decode(&pod_spec_record, amounts->arena, tree, &spec);
    pod_sums_add_requests(&requests, &spec, NULL);
    pod_sums_add_limits(&limits, &spec);
    add_one(amounts, "pods");
    add_by_quota_names(amounts, &requests, &limits);
    pod_sums_fini(&requests);
    pod_sums_fini(&limits);
}

/* --- claims --------------------------------------------------------------- */

static void
add_claim(struct quota_amounts *amounts, const struct json *claim)
{
    const struct json *spec = json_get(claim, "spec");
    const char *class = check_text(spec, "storageClassName");
    const char *text = check_text(json_get_path(spec, "resources.requests"), "storage");
    struct quantity size = {0};

    add_one(amounts, "persistentvolumeclaims");
    if (*class != '\0')
        add_one(amounts,
                arena_printf(amounts->arena, "%s" CLASS_SUFFIX "persistentvolumeclaims", class));
    if (quantity_parse(text, &size) < 0)
        return;
    add(amounts, "requests.storage", &size);
    if (*class != '\0')
        add(amounts, arena_printf(amounts->arena, "%s" CLASS_SUFFIX "requests.storage", class),
            &size);
}

void
quota_add_usage(struct quota_amounts *amounts, const struct kind *kind, const struct json *object,
                int64_t now_us)
{
    add_object(amounts, kind);
    if (kind == &pod_kind)
        add_pod(amounts, object, now_us);
    else if (kind == &persistent_volume_claim_kind)
        add_claim(amounts, object);
    else if (kind == &config_map_kind || kind == &resource_quota_kind)
        add_one(amounts, kind->plural);
}

/* --- charging ------------------------------------------------------------- */

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names that a quota limits, sorted. */
static const char **
sorted_names(struct arena *arena, const struct json *hard)
{
    uint32_t n = json_count(hard);
    const char **names = arena_new_array(arena, const char *, n + 1);

    for (uint32_t i = 0; i < n; i++)
        names[i] = hard->members[i].name;
    if (n > 1)
        qsort(names, n, sizeof(*names), compare_names);
    return names;
}

static bool
is_demanded(const char *name)
{
    static const char *const names[] = {
        "cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool
container_says(const struct json *container, const char *name)
{
    const struct json *resources = json_get(container, "resources");

    if (strncmp(name, "limits.", 7) == 0)
        return json_get(json_get(resources, "limits"), name + 7) != NULL;
    if (strncmp(name, "requests.", 9) == 0)
        name += 9;
    return json_get(json_get(resources, "requests"), name) != NULL;
}

/* Appends the names of containers that do not set the resource: "a,b". */
static void
add_silent(struct strbuf *words, const struct json *list, const char *name, unsigned *count)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (!container_says(json_at(list, i), name))
            strbuf_printf(words, "%s%s", (*count)++ > 0 ? "," : "",
                          check_text(json_at(list, i), "name"));
}

/* Checks that every container sets the resources that the quota limits. Returns
 * NULL, or a text with those that are missing.
 */
static const char *
missing(struct arena *arena, const struct json *hard, const struct json *spec)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const char **names = sorted_names(arena, hard);

    for (uint32_t i = 0; i < json_count(hard); i++) {
        CLEANUP_STRBUF struct strbuf who = STRBUF_INIT;
        unsigned count = 0;

        if (!is_demanded(names[i]))
            continue;
        add_silent(&who, json_get(spec, "containers"), names[i], &count);
        add_silent(&who, json_get(spec, "initContainers"), names[i], &count);
        if (count > 0)
            strbuf_printf(&words, "%s%s for: %s", words.length > 0 ? "; " : "must specify ",
                          names[i], who.text);
    }
    return words.length > 0 ? arena_strdup(arena, words.text) : NULL;
}

/* The three lists in the message about exceeded limits. */
struct exceeded_lists {
    struct strbuf requested;
    struct strbuf used;
    struct strbuf limited;
};

static void
add_pair(struct strbuf *list, const char *name, const struct quantity *amount)
{
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(amount, text);
    strbuf_printf(list, "%s%s=%s", list->length > 0 ? "," : "", name, text);
}

static const char *
describe_exceeded(struct arena *arena, const char *quota_name, struct exceeded_lists *e)
{
    const char *words = NULL;

    if (e->requested.length > 0)
        words = arena_printf(arena,
                             "exceeded quota: %s, requested: %s, used: %s, "
                             "limited: %s",
                             quota_name, e->requested.text, e->used.text, e->limited.text);
    strbuf_fini(&e->requested);
    strbuf_fini(&e->used);
    strbuf_fini(&e->limited);
    return words;
}

static const char *
charge(struct arena *arena, const struct json *quota, const struct quota_amounts *taken,
       struct json *used)
{
    const struct json *hard = json_get_path(quota, "status.hard");
    const char **names = sorted_names(arena, hard);
    struct exceeded_lists e = {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};

    for (uint32_t i = 0; i < json_count(hard); i++) {
        const struct quota_amount *t = find(taken, names[i]);
        struct quantity limit = {0}, before = {0}, after;
        char text[QUANTITY_TEXT_SIZE];

        if (t == NULL || quantity_sign(&t->amount) == 0 || json_get(used, names[i]) == NULL)
            continue;
        quantity_parse(check_text(hard, names[i]), &limit);
        quantity_parse(check_text(used, names[i]), &before);
        after = before;
        quantity_add(&after, &t->amount);
        if (quantity_sign(&t->amount) > 0 && quantity_compare(&after, &limit) > 0) {
            add_pair(&e.requested, names[i], &t->amount);
            add_pair(&e.used, names[i], &before);
            add_pair(&e.limited, names[i], &limit);
        }
        quantity_format(&after, text);
        json_set_string(arena, used, names[i], text);
    }
    return describe_exceeded(arena, check_text(json_get(quota, "metadata"), "name"), &e);
}

/* The text about resources that the object uses while the quota's use of them
 * has not been computed yet; NULL: there are none.
 */
static const char *
uncounted(struct arena *arena, const struct json *quota, const struct json *hard,
          const struct quota_amounts *taken)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    const struct json *used = json_get_path(quota, "status.used");

    for (uint32_t i = 0; i < json_count(hard); i++) {
        const char *name = hard->members[i].name;
        const struct quota_amount *t = find(taken, name);

        if (t != NULL && quantity_sign(&t->amount) >= 0 && json_get(used, name) == NULL)
            strbuf_printf(&names, "%s%s", names.length > 0 ? "," : "", name);
    }
    if (names.length == 0)
        return NULL;
    return arena_printf(arena, "status unknown for quota: %s, resources: %s",
                        check_text(json_get(quota, "metadata"), "name"), names.text);
}

static void
subtract_usage(struct quota_amounts *amounts, const struct kind *kind, const struct json *object,
               int64_t now_us)
{
    struct quota_amounts had;

    quota_amounts_init(&had, amounts->arena);
    quota_add_usage(&had, kind, object, now_us);
    for (unsigned i = 0; i < had.count; i++)
        quota_amounts_subtract(amounts, had.items[i].name, &had.items[i].amount);
}

const struct json *
quota_charge(struct arena *arena, const struct json *quota, const struct kind *kind,
             const struct json *object, const struct json *old, int64_t now_us,
             const char **ret_why)
{
    const bool covers = quota_covers(quota, kind, object);
    const struct json *hard = json_get_path(quota, "status.hard");
    const struct json *before = json_get_path(quota, "status.used");
    struct json *used = before != NULL ? json_dup(arena, before) : json_object(arena);
    struct quota_amounts taken;
    const char *words;

    if (old != NULL && !quota_covers(quota, kind, old))
        old = NULL;
    if (!covers && old == NULL)
        return before;
    quota_amounts_init(&taken, arena);
    if (covers)
        quota_add_usage(&taken, kind, object, now_us);
    if (old != NULL)
        subtract_usage(&taken, kind, old, now_us);
    words = kind == &pod_kind && covers ? missing(arena, hard, json_get(object, "spec")) : NULL;
    if (words != NULL)
        words = arena_printf(arena, "failed quota: %s: %s",
                             check_text(json_get(quota, "metadata"), "name"), words);
    if (words == NULL)
        words = uncounted(arena, quota, hard, &taken);
    if (words == NULL)
        words = charge(arena, quota, &taken, used);
    if (words == NULL)
        return used;
    *ret_why = words;
    return NULL;
}

const char *
quota_find_uncounted(struct arena *arena, const struct json *quota, const struct kind *kind,
                     const struct json *object, int64_t now_us)
{
    struct quota_amounts taken;

    if (!quota_covers(quota, kind, object))
        return NULL;
    quota_amounts_init(&taken, arena);
    quota_add_usage(&taken, kind, object, now_us);
    return uncounted(arena, quota, json_get_path(quota, "spec.hard"), &taken);
}

struct json *
quota_used(struct arena *arena, const struct json *hard, const struct quota_amounts *amounts)
{
    struct json *used = json_object(arena);

    for (uint32_t i = 0; i < json_count(hard); i++) {
        const char *name = hard->members[i].name;
        const struct quota_amount *a = find(amounts, name);
        char text[QUANTITY_TEXT_SIZE] = "0";

        if (a != NULL)
            quantity_format(&a->amount, text);
        json_set_string(arena, used, name, text);
    }
    return used;
}
