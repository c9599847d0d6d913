/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/local/local_query.h"

#include <pthread.h>
#include <stdatomic.h>

#include "controller/apiserver/request/options.h"
#include "lib/base/arena.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/http/target.h"

void
local_query_add(struct local_query *query, const char *name, const char *value)
{
    if (value == NULL)
        return;
    query->items[query->count].name = name;
    query->items[query->count++].value = arena_strdup(query->arena, value);
}

static void
add_query(struct local_query *query, const char *text)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;
    struct target target;

    strbuf_printf(&path, "/?%s", text);
    if (target_parse(path.text, &target) < 0)
        return;
    query->items = arena_new_array(query->arena, struct parameter, target.n_parameters + 8);
    for (size_t i = 0; i < target.n_parameters; i++)
        local_query_add(query, arena_strdup(query->arena, target.parameters[i].name),
                        target.parameters[i].value);
    target_fini(&target);
}

void
local_query_start(struct local_query *query, struct arena *arena, const char *text)
{
    query->arena = arena;
    query->count = 0;
    query->items = arena_new_array(arena, struct parameter, 8);
    if (text != NULL)
        add_query(query, text);
}
