/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/taints.h"

#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"

static const char *
text_of(const char *text)
{
    return text != NULL ? text : "";
}

bool
toleration_covers(const struct toleration *toleration, const struct taint *taint)
{
    const char *effect = text_of(toleration->effect);
    const char *key = text_of(toleration->key);
    const char *operator_ = text_of(toleration->operator_);

    if (*effect != '\0' && strcmp(effect, text_of(taint->effect)) != 0)
        return false;
    if (*key != '\0' && strcmp(key, text_of(taint->key)) != 0)
        return false;
    if (strcmp(operator_, "Exists") == 0)
        return true;
    if (*operator_ != '\0' && strcmp(operator_, "Equal") != 0)
        return false;
    return strcmp(text_of(toleration->value), text_of(taint->value)) == 0;
}

bool
taint_is_tolerated(const struct taint *taint, const struct pod_spec *pod)
{
    for (unsigned i = 0; i < pod->tolerations.count; i++)
        if (toleration_covers(&pod->tolerations.items[i], taint))
            return true;
    return false;
}

const struct taint *
taints_find_untolerated(const struct node_spec *node, const struct pod_spec *pod)
{
    for (unsigned i = 0; i < node->taints.count; i++) {
        const struct taint *taint = &node->taints.items[i];
        const char *effect = text_of(taint->effect);

        if (strcmp(effect, "NoSchedule") != 0 && strcmp(effect, "NoExecute") != 0)
            continue;
        if (!taint_is_tolerated(taint, pod))
            return taint;
    }
    return NULL;
}

static bool
same_text(const char *a, const char *b)
{
    return strcmp(text_of(a), text_of(b)) == 0;
}

bool
taints_equal(const struct node_spec *a, const struct node_spec *b)
{
    if (a->taints.count != b->taints.count)
        return false;
    for (unsigned i = 0; i < a->taints.count; i++) {
        const struct taint *ta = &a->taints.items[i];
        const struct taint *tb = &b->taints.items[i];

        if (!same_text(ta->key, tb->key) || !same_text(ta->value, tb->value)
            || !same_text(ta->effect, tb->effect) || ta->added_at_us != tb->added_at_us)
            return false;
    }
    return true;
}

void
tolerations_sign(const struct pod_spec *pod, struct strbuf *out)
{
    for (unsigned i = 0; i < pod->tolerations.count; i++) {
        const struct toleration *t = &pod->tolerations.items[i];

        strbuf_add_text(out, text_of(t->key));
        strbuf_add_char(out, '|');
        strbuf_add_text(out, text_of(t->operator_));
        strbuf_add_char(out, '|');
        strbuf_add_text(out, text_of(t->value));
        strbuf_add_char(out, '|');
        strbuf_add_text(out, text_of(t->effect));
        strbuf_add_char(out, ';');
    }
}
