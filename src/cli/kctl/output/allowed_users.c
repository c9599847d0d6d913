/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/allowed_users.h"

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static void
add_names(const struct json *list, const char *mark, struct strbuf *out)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        strbuf_printf(out, "%s%s%s", out->length > 0 ? "," : "", mark, json_text(json_at(list, i)));
}

void
allowed_users_add(const struct allowed_users *allowed, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf users = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf accounts = STRBUF_INIT;

    add_names(allowed->users, "", &users);
    add_names(allowed->groups, "@", &users);
    add_names(allowed->accounts, "", &accounts);
    strbuf_add_text(out, users.length > 0 ? users.text : "everybody");
    if (accounts.length > 0)
        strbuf_printf(out, " in %s", accounts.text);
}
