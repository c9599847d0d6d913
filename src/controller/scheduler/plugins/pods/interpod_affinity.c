/* SPDX-License-Identifier: Apache-2.0 */
/* InterPodAffinity - places a pod near some pods and away from others
 *
 * Extension points:  prefilter (with add and remove), filter, prescore, score
 * Arguments:         hardPodAffinityWeight (1),
 *                    ignorePreferredTermsOfExistingPods, repels (Kiln's own):
 *                    the pods that terms of existing pods apply to, "all" as
 *                    upstream or only those of their "owner"
 * Cycle state:       how many pods match each term, by topology value
 * Woken by:          a pod coming, going or being relabelled; a pod going that
 *                    kept others away; a node joining or being relabelled
 *
 * Source: kube-scheduler, plugins/interpodaffinity.
 */
#include "controller/scheduler/plugins/pods/interpod_affinity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/plugins/node/selector_sign.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MAX_DOMAIN_COUNTS 128 /* size of the cache */

static const struct field interpod_args_fields[] = {
    OPAQUE(INT, "hardPodAffinityWeight", KEPT),
    OPAQUE(BOOL, "ignorePreferredTermsOfExistingPods", KEPT),
    OPAQUE(STRING, "repels", KEPT),
};
static OPAQUE_RECORD(interpod_args, "InterPodAffinityArgs");

static int
interpod_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    int64_t hard_weight = json_get_int(args, "hardPodAffinityWeight", 1);
    const char *repels = json_get_text(args, "repels");
    struct interpod *self;

    if (hard_weight < 0 || hard_weight > 100)
        return error_set(err, -EINVAL, "hardPodAffinityWeight: %lld is not between 0 and 100",
                         (long long)hard_weight);
    if (repels != NULL && strcmp(repels, REPELS_ALL) != 0 && strcmp(repels, REPELS_OWNER) != 0)
        return error_set(err, -EINVAL,
                         "repels: '%s' is neither '" REPELS_ALL "' nor '" REPELS_OWNER "'", repels);
    self = xnew(struct interpod);
    self->handle = handle;
    self->hard_weight = hard_weight;
    self->domain_counts = domain_counts_cache_new(MAX_DOMAIN_COUNTS);
    self->ignores_existing = json_is_true(json_get(args, "ignorePreferredTermsOfExistingPods"));
    self->repels_owner = repels != NULL && strcmp(repels, REPELS_OWNER) == 0;
    self->no_affinity = handle_reason(handle, "node(s) didn't match pod affinity rules");
    self->anti_affinity = handle_reason(handle, "node(s) didn't match pod anti-affinity rules");
    self->existing_anti_affinity =
        handle_reason(handle, "node(s) didn't satisfy existing pods anti-affinity rules");
    *ret_self = self;
    return 0;
}

static void
interpod_drop(void *arg)
{
    struct interpod *self = arg;

    domain_counts_cache_free(self->domain_counts);
    free(self);
}

bool
interpod_concerns(const struct interpod *me, const struct pod_view *there,
                  const struct pod_view *pod)
{
    return !me->repels_owner || there->repels_all || there->owner == pod->owner;
}

/* The key has everything in the pod that the counts depend on: namespace,
 * owner, labels and terms.
 */
struct domain_counts *
interpod_domain_counts(const struct interpod *me, const struct pod_view *pod, char what)
{
    CLEANUP_STRBUF struct strbuf key = STRBUF_INIT;
    struct affinity_term term;

    strbuf_printf(&key, "%c%s\n", what, pod->namespace);
    if (me->repels_owner)
        strbuf_printf(&key, "%" PRId64 "\n", pod->owner);
    labels_sign(&pod->pod->meta.labels, &key);
    for (unsigned kind = 0; pod->has_affinity && kind < AFFINITY_KINDS; kind++) {
        strbuf_add_char(&key, '\n');
        for (unsigned i = 0; affinity_term_at(pod, kind, i, &term); i++)
            affinity_term_sign(&term, &key);
    }
    return domain_counts_cache_get(me->domain_counts, key.text);
}

const struct plugin interpod_affinity_plugin = {
    .name = "InterPodAffinity",
    .args = &interpod_args_record,
    .default_args = "{\"hardPodAffinityWeight\":1,"
                    "\"ignorePreferredTermsOfExistingPods\":false,"
                    "\"repels\":\"" REPELS_OWNER "\"}",
    .make = interpod_make,
    .drop = interpod_drop,
    .sign_hints = interpod_sign_hints,
    .depends_on_others = true,
    .prefilter = interpod_prefilter,
    .add_pod = interpod_add_pod,
    .remove_pod = interpod_remove_pod,
    .filter = interpod_filter,
    .prescore = interpod_prescore,
    .score = interpod_score,
    .normalization = NORMALIZE_CUSTOM,
    .normalize = interpod_normalize,
    .wakes = interpod_wakes,
    .n_wakes = INTERPOD_WAKES,
};
