/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: which pods are equal to all plugins, or to the hints of some. */
#include "controller/scheduler/framework/plugin.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/string_ids.h"
#include "lib/base/strbuf.h"

uint32_t
profile_sign(const struct profile *p, struct pod_view *pod, struct string_ids *signatures)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    bool is_signed = true;

    if (pod->has_signature)
        return pod->signature;
    strbuf_add_text(&text, p->scheduler_name);
    for (unsigned i = 0; i < p->n_entries && is_signed; i++) {
        const struct profile_entry *e = &p->entries[i];

        strbuf_add_char(&text, '\n');
        if (e->plugin->sign != NULL && !e->plugin->depends_on_time)
            is_signed = e->plugin->sign(e->self, pod, &text);
    }
    pod->has_signature = true;
    pod->signature = is_signed ? string_ids_add(signatures, text.text) : SIGNATURE_NONE;
    return pod->signature;
}

uint32_t
profile_sign_timed(const struct profile *p, const struct pod_view *pod, uint32_t signature,
                   uint32_t rank, struct string_ids *signatures, uint32_t *ret_admission)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, admission = STRBUF_INIT;

    *ret_admission = SIGNATURE_NONE;

    if (((p->timed | p->prefilter_signers) == 0 && rank == 0) || signature == SIGNATURE_NONE)
        return signature;
    strbuf_add_text(&text, "timed ");
    strbuf_add_int(&text, signature);
    strbuf_add_char(&text, ' ');
    strbuf_add_int(&text, rank);
    for (unsigned i = 0; i < p->n_entries; i++) {
        const struct profile_entry *e = &p->entries[i];

        if (((p->timed | p->prefilter_signers) & PLUGIN_BIT(i)) == 0)
            continue;
        strbuf_add_char(&text, '\n');
        strbuf_add_char(&admission, '\n');
        if ((p->timed & PLUGIN_BIT(i)) != 0 && e->plugin->sign != NULL
            && !e->plugin->sign(e->self, pod, &text))
            return SIGNATURE_NONE;
        if (e->plugin->sign_prefilter != NULL
            && !e->plugin->sign_prefilter(e->self, pod, &admission))
            return SIGNATURE_NONE;
    }
    if (p->prefilter_signers != 0) {
        strbuf_add_text(&text, admission.text);
        *ret_admission = string_ids_add(signatures, admission.text);
    }
    return string_ids_add(signatures, text.text);
}

static bool
sign_hints(const struct profile_entry *e, const struct pod_view *pod, struct strbuf *out)
{
    const struct plugin *plugin = e->plugin;

    if (plugin->sign_hints != NULL)
        return plugin->sign_hints(e->self, pod, out);
    if (plugin->sign != NULL)
        return plugin->sign(e->self, pod, out);
    return !plugin->depends_on_others;
}

uint32_t
profile_sign_hints(const struct profile *p, const struct pod_view *pod, plugin_set rejectors,
                   struct string_ids *signatures)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (rejectors == 0 || rejectors >= PLUGIN_BIT(p->n_entries))
        return SIGNATURE_NONE;
    strbuf_printf(&text, "hints %s %llx", p->scheduler_name, (unsigned long long)rejectors);
    for (unsigned i = 0; i < p->n_entries; i++) {
        if ((rejectors & PLUGIN_BIT(i)) == 0)
            continue;
        strbuf_add_char(&text, '\n');
        if (!sign_hints(&p->entries[i], pod, &text))
            return SIGNATURE_NONE;
    }
    return string_ids_add(signatures, text.text);
}
