/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/history_rights.h"

#include <stdbool.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/server.h"
#include "controller/history/history_question.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"

#define ACCOUNTS_MOST 1000 /* examined for one question */

struct accounts {
    const struct apiserver *server;
    const struct principal *principal;
    const char **names;
    size_t count;
};

static bool
add_account(const struct object *namespace, void *context)
{
    struct accounts *a = context;

    if (membership_has(a->server->membership, namespace->meta->name, a->principal))
        a->names[a->count++] = namespace->meta->name;
    return a->count < ACCOUNTS_MOST;
}

static void
find_accounts(struct accounts *a, const char *account)
{
    const struct object *one;

    if (account == NULL) {
        (void)store_list(a->server->store, &namespace_kind, NULL, NULL, 0, add_account, a);
        return;
    }
    one = store_find(a->server->store, STORE_PUBLISHED, &namespace_kind, NULL, account);
    if (one != NULL)
        (void)add_account(one, a);
}

/* Copies the names: the store's are valid for this turn of the loop, and
 * history answers later.
 */
void
history_rights_find(const struct apiserver *server, const struct principal *principal,
                    const char *account, struct arena *arena, struct history_rights *ret_rights)
{
    struct accounts a = {.server = server, .principal = principal};

    *ret_rights = (struct history_rights){
        .is_all =
            principal->type == PRINCIPAL_ADMINISTRATOR || principal->type == PRINCIPAL_LIFECYCLE,
        .uid = principal->uid,
        .user = principal->name,
    };
    if (ret_rights->is_all || (account != NULL && account[0] == '\0'))
        return;
    a.names = arena_new_array(arena, const char *, ACCOUNTS_MOST);
    find_accounts(&a, account);
    for (size_t i = 0; i < a.count; i++)
        a.names[i] = arena_strdup(arena, a.names[i]);
    ret_rights->accounts = a.names;
    ret_rights->n_accounts = a.count;
}
