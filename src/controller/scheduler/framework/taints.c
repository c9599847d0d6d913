/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/taints.h"

#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

bool
taint_is_tolerated(const struct taint *taint, const struct pod_spec *pod)
{
    for (unsigned i = 0; i < pod->tolerations.count; i++)
        if (toleration_tolerates(&pod->tolerations.items[i], taint))
            return true;
    return false;
}

const struct taint *
taints_find_untolerated(const struct node_spec *node, const struct pod_spec *pod)
{
    for (unsigned i = 0; i < node->taints.count; i++) {
        const struct taint *taint = &node->taints.items[i];
        const char *effect = text_or_empty(taint->effect);

        if (strcmp(effect, "NoSchedule") != 0 && strcmp(effect, "NoExecute") != 0)
            continue;
        if (!taint_is_tolerated(taint, pod))
            return taint;
    }
    return NULL;
}

bool
taints_equal(const struct node_spec *a, const struct node_spec *b)
{
    if (a->taints.count != b->taints.count)
        return false;
    for (unsigned i = 0; i < a->taints.count; i++) {
        const struct taint *ta = &a->taints.items[i];
        const struct taint *tb = &b->taints.items[i];

        if (!text_equals_loosely(ta->key, tb->key) || !text_equals_loosely(ta->value, tb->value)
            || !text_equals_loosely(ta->effect, tb->effect) || ta->added_at_us != tb->added_at_us)
            return false;
    }
    return true;
}

void
tolerations_sign(const struct pod_spec *pod, struct strbuf *out)
{
    for (unsigned i = 0; i < pod->tolerations.count; i++) {
        const struct toleration *t = &pod->tolerations.items[i];

        strbuf_add_text(out, text_or_empty(t->key));
        strbuf_add_char(out, '|');
        strbuf_add_text(out, text_or_empty(t->operator_));
        strbuf_add_char(out, '|');
        strbuf_add_text(out, text_or_empty(t->value));
        strbuf_add_char(out, '|');
        strbuf_add_text(out, text_or_empty(t->effect));
        strbuf_add_char(out, ';');
    }
}
