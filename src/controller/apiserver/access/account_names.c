/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes needs a DNS label where sites have used names such as "six@v100" for years.
 * Renaming accounts would break scripts and accounting, so the site's spelling is a second
 * name of the namespace. It is found by an index, for every request and every row of a listing
 * may ask.
 */
#include "controller/apiserver/access/account_names.h"

#include <ctype.h>
#include <string.h>

#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/cluster/namespace.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"

/* Quotes within a text of JSON have a backslash, so this is never a part of one. */
#define FIELD "\"account\":\""

static bool
keep_name(const struct object *object, void *context)
{
    *(const char **)context = object->meta->name;
    return false;
}

static const char *
name_if_there(const struct store *store, const char *name)
{
    const struct object *object = store_find(store, STORE_PENDING, &namespace_kind, NULL, name);

    return object != NULL ? object->meta->name : NULL;
}

const char *
account_names_find(const struct store *store, const char *account)
{
    char folded[NAMESPACE_ACCOUNT_MAX + 1];
    const char *found = name_if_there(store, account);

    if (found != NULL || !namespace_fold_account(account, folded))
        return found;
    store_visit_index(store, &namespace_kind, NAMESPACE_BY_ACCOUNT, STORE_PENDING, folded,
                      keep_name, &found);
    return found != NULL ? found : name_if_there(store, folded);
}

const char *
account_names_resolve(const struct request *q, const char *account)
{
    const char *found = account != NULL ? account_names_find(q->server->store, account) : NULL;

    return found != NULL ? found : account;
}

bool
account_names_are_same(const struct request *q, const char *a, const char *b)
{
    return strcmp(a, b) == 0
           || strcmp(kind_hooks_resolve_name(q, &namespace_kind, a),
                     kind_hooks_resolve_name(q, &namespace_kind, b))
                  == 0;
}

const char *
account_names_spelling(const struct store *store, const char *namespace)
{
    const struct object *object =
        namespace != NULL ? store_find(store, STORE_PENDING, &namespace_kind, NULL, namespace)
                          : NULL;

    return object != NULL ? string_map_find(&object->meta->annotations, ANNOTATION_ACCOUNT) : NULL;
}

const char *
account_names_in_text(const struct store *store, const char *text, size_t *length,
                      struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *end = text + *length, *at = text;
    const char *last = NULL, *spelling = NULL; /* rows that follow one another often have one */

    for (const char *p = text; (p = memmem(p, (size_t)(end - p), FIELD, strlen(FIELD))) != NULL;) {
        const char *quote, *name;

        p += strlen(FIELD);
        quote = memchr(p, '"', (size_t)(end - p));
        if (quote == NULL)
            break;
        if (last == NULL || strlen(last) != (size_t)(quote - p)
            || memcmp(last, p, (size_t)(quote - p)) != 0) {
            name = arena_strndup(arena, p, (size_t)(quote - p));
            spelling = account_names_spelling(store, name);
            last = name;
        }
        if (spelling == NULL)
            continue;
        strbuf_add(&out, at, (size_t)(p - at));
        strbuf_add_text(&out, spelling);
        at = quote;
    }
    if (out.length == 0)
        return arena_memdup(arena, text, *length);
    strbuf_add(&out, at, (size_t)(end - at));
    *length = out.length;
    return arena_memdup(arena, out.text, out.length);
}
