/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/node/selector_sign.h"

#include "lib/api/pod/pod.h"
#include "lib/api/value/selector.h"
#include "lib/base/strbuf.h"

void
labels_sign(const struct string_map *labels, struct strbuf *out)
{
    for (unsigned i = 0; i < labels->count; i++)
        strbuf_printf(out, "%s=%s;", labels->items[i].key, labels->items[i].value);
}

static void
requirement_sign(const struct selector_requirement *r, struct strbuf *out)
{
    strbuf_printf(out, "%s %s(", r->key, r->operator_);
    for (unsigned i = 0; i < r->values.count; i++)
        strbuf_printf(out, "%s,", r->values.items[i]);
    strbuf_add_char(out, ')');
}

void
node_term_sign(const struct node_selector_term *t, struct strbuf *out)
{
    for (unsigned i = 0; i < t->match_expressions.count; i++)
        requirement_sign(&t->match_expressions.items[i], out);
    strbuf_add_char(out, '/');
    for (unsigned i = 0; i < t->match_fields.count; i++)
        requirement_sign(&t->match_fields.items[i], out);
    strbuf_add_char(out, '|');
}

void
label_selector_sign(const struct label_selector *s, struct strbuf *out)
{
    if (s == NULL) {
        strbuf_add_char(out, '-');
        return;
    }
    labels_sign(&s->match_labels, out);
    strbuf_add_char(out, '/');
    for (unsigned i = 0; i < s->match_expressions.count; i++)
        requirement_sign(&s->match_expressions.items[i], out);
    strbuf_add_char(out, '|');
}

void
required_nodes_sign(const struct pod_spec *spec, struct strbuf *out)
{
    const struct node_affinity *a = spec->affinity != NULL ? spec->affinity->node_affinity : NULL;

    labels_sign(&spec->node_selector, out);
    strbuf_add_char(out, '&');
    if (a != NULL && a->required != NULL)
        for (unsigned i = 0; i < a->required->terms.count; i++)
            node_term_sign(&a->required->terms.items[i], out);
}
