/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/quota_refusal.h"

#include <string.h>

#include "lib/base/macro.h"

#define REQUESTED ", requested: "
#define USED      ", used: "
#define LIMITED   ", limited: "

static void
find_lists(struct quota_refusal *r)
{
    const char *requested = strstr(r->quota, REQUESTED);
    const char *used = strstr(r->quota, USED);
    const char *limited = strstr(r->quota, LIMITED);

    if (requested == NULL || used == NULL || limited == NULL || requested > used || used > limited)
        return;
    r->requested = requested + strlen(REQUESTED);
    r->used = used + strlen(USED);
    r->limited = limited + strlen(LIMITED);
}

bool
quota_refusal_parse(const char *words, struct quota_refusal *ret_refusal)
{
    static const struct {
        const char *head;
        enum quota_refusal_kind kind;
    } forms[] = {
        {"exceeded quota: ", QUOTA_REFUSAL_EXCEEDED},
        {"status unknown for quota: ", QUOTA_REFUSAL_UNCOUNTED},
        {"failed quota: ", QUOTA_REFUSAL_UNSPECIFIED},
    };
    struct quota_refusal r = {0};

    for (size_t i = 0; i < ARRAY_SIZE(forms) && r.quota == NULL; i++) {
        const char *at = strstr(words, forms[i].head);

        if (at == NULL)
            continue;
        r.kind = forms[i].kind;
        r.quota = at + strlen(forms[i].head);
    }
    if (r.quota == NULL)
        return false;
    r.n_quota = strcspn(r.quota, ",: \n");
    if (r.n_quota == 0)
        return false;
    if (r.kind == QUOTA_REFUSAL_EXCEEDED)
        find_lists(&r);
    *ret_refusal = r;
    return true;
}

/* Finds the value after "NAME=" in a list, up to the comma or the end. */
static bool
find_value(const char *list, const char *end, const char *name, size_t n, const char **ret,
           size_t *ret_length)
{
    for (const char *p = list; p != NULL && p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma != NULL ? comma : end;

        if ((size_t)(stop - p) > n && strncmp(p, name, n) == 0 && p[n] == '=') {
            *ret = p + n + 1;
            *ret_length = (size_t)(stop - *ret);
            return true;
        }
        p = comma != NULL ? comma + 1 : end;
    }
    return false;
}

bool
quota_refusal_next(const struct quota_refusal *r, const char **at, struct quota_pair *ret_pair)
{
    const char *p = *at != NULL ? *at : r->requested;
    struct quota_pair pair = {.name = p};
    const char *end, *equals;
    size_t n;

    if (p == NULL || p >= r->used - strlen(USED))
        return false;
    n = strcspn(p, ",");
    end = r->limited + strcspn(r->limited, "\n");
    equals = memchr(p, '=', n);
    if (equals == NULL)
        return false;
    pair.n_name = (size_t)(equals - p);
    pair.asks = equals + 1;
    pair.n_asks = n - pair.n_name - 1;
    if (!find_value(r->used, r->limited - strlen(LIMITED), p, pair.n_name, &pair.has, &pair.n_has)
        || !find_value(r->limited, end, p, pair.n_name, &pair.most, &pair.n_most))
        return false;
    *at = p + n + 1;
    *ret_pair = pair;
    return true;
}
