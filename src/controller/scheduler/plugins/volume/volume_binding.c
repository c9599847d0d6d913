/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeBinding - a node must reach the pod's volumes, or be able to provide
 * them; binds the claims
 *
 * Extension points:  prefilter, filter, reserve, prebind
 * Arguments:         bindTimeoutSeconds, for all of a pod's claims
 * Cycle state:       a volume_search, read by filter; the volume_plan that
 *                    reserve makes and prebind carries out
 * Woken by:          claims, volumes, classes, nodes and their scratch
 *
 * Source: kube-scheduler, plugins/volumebinding.
 */
#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/volume/claims.h"
#include "controller/scheduler/plugins/volume/volume_binding.h"
#include "controller/scheduler/plugins/volume/volume_search.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct volume_binding {
    struct handle *handle;
    int64_t timeout_us;
    uint32_t lacks[LACKS]; /* reasons, by what a node lacks */
    uint32_t immediate, claim;
};

static const char search_key;

/* In the order of the bits of enum volume_lack. */
static const char *const lack_texts[] = {
    "node(s) had volume node affinity conflict",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
};

static const struct field volume_binding_args_fields[] = {
    OPAQUE(INT64, "bindTimeoutSeconds", KEPT),
};
static OPAQUE_RECORD(volume_binding_args, "VolumeBindingArgs");

static int
volume_binding_make(struct handle *handle, const struct json *args, void **ret_self,
                    struct error *err)
{
    int64_t timeout = json_get_int(args, "bindTimeoutSeconds", 600);
    struct volume_binding *me;

    if (timeout < 0 || timeout > 86400)
        return error_set(err, -EINVAL, "bindTimeoutSeconds: %lld is not between 0 and 86400",
                         (long long)timeout);
    me = xnew(struct volume_binding);
    me->handle = handle;
    me->timeout_us = timeout * 1000000;
    for (unsigned set = 0; set < LACKS; set++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        for (unsigned bit = 0; bit < ARRAY_SIZE(lack_texts); bit++)
            if ((set & 1u << bit) != 0)
                strbuf_printf(&text, "%s%s", text.length > 0 ? "\n" : "", lack_texts[bit]);
        me->lacks[set] = handle_reason(handle, text.text);
    }
    me->immediate = handle_reason(handle, "pod has unbound immediate PersistentVolumeClaims");
    me->claim = handle_reason(handle, "a persistentvolumeclaim of the pod");
    *ret_self = me;
    return 0;
}

/* A pod with claims shares no results: a claim mostly belongs to one pod, and
 * binding it changes the results of other pods.
 */
static bool
volume_binding_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self, (void)out;
    return !claims_has_any(pod);
}

/* --- the pod's claims ----------------------------------------------------- */

static bool
is_of_same_user(const struct object *claim, const struct pod *pod)
{
    const struct security_context *who = pod->spec.security_context;
    uid_t uid;

    return who == NULL || who->run_as_user == NULL || !object_owner(claim, &uid)
           || *who->run_as_user == (int64_t)uid;
}

/* A claim of that name may already exist, made by another user. The pod must
 * not use it, because its data would belong to that user.
 */
static bool
is_made_for(const struct object *claim, const struct pod_view *pod)
{
    const struct owner_reference *owner = meta_controller_of(claim->meta, &pod_kind);

    return owner != NULL && owner->uid != NULL && pod->uid != NULL
           && strcmp(owner->uid, pod->uid) == 0 && is_of_same_user(claim, pod->pod);
}

/* Whether the claim can be used at all. */
static enum verdict
check_claim(struct cycle *c, const struct pod_volume *volume, const char *name,
            const struct object *claim)
{
    const struct persistent_volume_claim *p;

    if (claim == NULL && volume->ephemeral != NULL) {
        cycle_set_message(c,
                          "waiting for ephemeral volume controller to create the "
                          "persistentvolumeclaim \"%s\"",
                          name);
        return VERDICT_PENDING;
    }
    if (claim == NULL) {
        cycle_set_message(c, "persistentvolumeclaim \"%s\" not found", name);
        return VERDICT_NEVER;
    }
    p = persistent_volume_claim_of(claim);
    if (p->status.phase != NULL && strcmp(p->status.phase, "Lost") == 0) {
        cycle_set_message(c,
                          "persistentvolumeclaim \"%s\" bound to non-existent "
                          "persistentvolume \"%s\"",
                          name, p->spec.volume_name != NULL ? p->spec.volume_name : "");
        return VERDICT_NEVER;
    }
    if (claim->meta->deleted_at_us != 0) {
        cycle_set_message(c, "persistentvolumeclaim \"%s\" is being deleted", name);
        return VERDICT_NEVER;
    }
    if (volume->ephemeral != NULL && !is_made_for(claim, c->pod)) {
        cycle_set_message(c, "PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                          c->pod->namespace, name, c->pod->namespace, c->pod->name);
        return VERDICT_NEVER;
    }
    return VERDICT_OK;
}

/* Whether the claim is bound by another controller, without waiting for the
 * scheduler.
 */
static bool
is_immediate(const struct volume_book *book, const struct object *claim)
{
    const struct persistent_volume_claim *c = persistent_volume_claim_of(claim);
    const struct object *class = volume_book_class(book, persistent_volume_claim_class(c));

    if (persistent_volume_claim_is_bound(c))
        return false;
    return (c->spec.volume_name != NULL && c->spec.volume_name[0] != '\0') || class == NULL
           || !storage_class_waits(storage_class_of(class));
}

static enum verdict
gather(const struct volume_binding *me, struct cycle *c, struct volume_search *search,
       uint32_t *ret_reason)
{
    const struct volume_book *book = me->handle->volumes;
    const struct pod_spec *spec = &c->pod->pod->spec;
    bool waits_for_others = false;
    char buffer[POD_CLAIM_NAME_SIZE];

    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const struct pod_volume *volume = &spec->volumes.items[i];
        const char *name = pod_volume_claim(c->pod->pod, volume, buffer);
        const struct object *claim;
        enum verdict verdict;

        if (name == NULL)
            continue;
        claim = volume_book_claim(book, c->pod->namespace, name);
        verdict = check_claim(c, volume, name, claim);
        if (verdict != VERDICT_OK) {
            *ret_reason = me->claim;
            return verdict;
        }
        waits_for_others |= is_immediate(book, claim);
        volume_search_add(search, claim);
    }
    if (!waits_for_others)
        return VERDICT_OK;
    *ret_reason = me->immediate;
    return VERDICT_NEVER;
}

static void
search_free(void *search)
{
    volume_search_free(search);
}

/* Restricts the nodes only if the volume's host name is also the name of a
 * node.
 */
static void
narrow(const struct cycle *c, const struct volume_search *search,
       struct prefilter_result *ret_result)
{
    unsigned count = 0;
    const char **names = volume_search_nodes(search, &count);

    if (names != NULL && snapshot_find(c->snapshot, names[0]) == NULL) {
        free((void *)names);
        return;
    }
    ret_result->has_names = names != NULL;
    ret_result->names = names;
    ret_result->count = count;
}

static enum verdict
volume_binding_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                         uint32_t *ret_reason)
{
    const struct volume_binding *me = self;
    struct volume_search *search;
    enum verdict verdict;

    if (!claims_has_any(c->pod))
        return VERDICT_SKIP;
    search = volume_search_new(me->handle->volumes);
    cycle_put(c, &search_key, search, search_free, NULL);
    verdict = gather(me, c, search, ret_reason);
    if (verdict == VERDICT_OK)
        narrow(c, search, ret_result);
    return verdict;
}

static enum verdict
volume_binding_filter_one(void *self, const struct cycle *c, const struct node_view *node,
                          uint32_t *ret_reason)
{
    const struct volume_binding *me = self;
    unsigned lacks = volume_search_try(cycle_get(c, &search_key), node, NULL);

    if (lacks == 0)
        return VERDICT_OK;
    *ret_reason = me->lacks[lacks];
    return VERDICT_NEVER;
}

/* --- reserving and binding ------------------------------------------------ */

static void
plan_free(void *plan)
{
    volume_plan_free(plan);
}

static enum verdict
volume_binding_reserve(void *self, struct cycle *c, const struct node_view *node,
                       uint32_t *ret_reason)
{
    const struct volume_binding *me = self;
    CLEANUP(volume_search_freep) struct volume_search *search = NULL;
    struct volume_plan *plan;
    enum verdict verdict;
    unsigned lacks;

    if (!claims_has_any(c->pod))
        return VERDICT_OK;
    /* Searches again, because volumes may have been taken while an extender was
     * asked.
     */
    search = volume_search_new(me->handle->volumes);
    verdict = gather(me, c, search, ret_reason);
    if (verdict != VERDICT_OK)
        return verdict;
    plan = volume_plan_new();
    plan->timeout_us = me->timeout_us;
    lacks = volume_search_try(search, node, plan);
    if (lacks != 0) {
        volume_plan_free(plan);
        *ret_reason = me->lacks[lacks];
        return VERDICT_NEVER;
    }
    for (unsigned i = 0; i < plan->count; i++)
        volume_book_assume(me->handle->volumes, plan->steps[i].claim, plan->steps[i].volume,
                           node->name);
    cycle_put(c, CYCLE_VOLUMES, plan, plan_free, NULL);
    return VERDICT_OK;
}

static void
volume_binding_unreserve(void *self, struct cycle *c, const struct node_view *node)
{
    const struct volume_binding *me = self;
    const struct volume_plan *plan = cycle_get(c, CYCLE_VOLUMES);

    (void)node;
    if (plan == NULL)
        return;
    for (unsigned i = 0; i < plan->count; i++)
        volume_book_forget(me->handle->volumes, plan->steps[i].claim);
    cycle_put(c, CYCLE_VOLUMES, NULL, NULL, NULL);
}

static enum verdict
volume_binding_prebind(void *self, struct assignment *a, uint32_t *ret_reason)
{
    const struct volume_binding *me = self;
    const struct volume_plan *plan = cycle_get(&a->cycle, CYCLE_VOLUMES);

    (void)ret_reason;
    if (plan == NULL || plan->count == 0)
        return VERDICT_OK;
    me->handle->bind_volumes(me->handle->owner, a, plan);
    return VERDICT_WAIT;
}

const struct plugin volume_binding_plugin = {
    .name = "VolumeBinding",
    .args = &volume_binding_args_record,
    .default_args = "{\"bindTimeoutSeconds\":600}",
    .make = volume_binding_make,
    .drop = free,
    .sign = volume_binding_sign,
    .prefilter = volume_binding_prefilter,
    .filter_one = volume_binding_filter_one,
    .reserve = volume_binding_reserve,
    .unreserve = volume_binding_unreserve,
    .prebind = volume_binding_prebind,
    .wakes = volume_wakes,
    .n_wakes = VOLUME_WAKES,
};
