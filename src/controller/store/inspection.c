/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/inspection.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/store.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"

/* Files that are created in the directory must belong to the controller's user.
 */
static int
become_owner(const char *directory, struct error *err)
{
    struct stat st;

    if (stat(directory, &st) < 0)
        return error_set(err, -errno, "state directory '%s': %s", directory, strerror(errno));
    if (geteuid() != 0 || st.st_uid == 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setgid(st.st_gid) < 0 || setuid(st.st_uid) < 0)
        return error_set(err, -errno, "cannot become the owner of '%s': %s", directory,
                         strerror(errno));
    return 0;
}

static int
list(const struct store *store, struct error *err)
{
    size_t n = store_count_damaged(store);

    for (size_t i = 0; i < n; i++) {
        const struct store_damaged *d = store_damaged(store, i);

        printf("%lld\t%s\t%s\n", (long long)d->row, d->key, d->why);
    }
    return n == 0 ? 0
                  : error_set(err, -EUCLEAN,
                              "%zu rows cannot be read: restore a backup, or "
                              "drop them with --drop-damaged",
                              n);
}

static bool
is_meant(const struct store_damaged *d, const char *which)
{
    CLEANUP_FREE char *number = xasprintf("%lld", (long long)d->row);

    return strcmp(which, d->key) == 0 || strcmp(which, number) == 0;
}

static const struct store_damaged *
find(const struct store *store, const char *which, struct error *err)
{
    const struct store_damaged *found = NULL;

    for (size_t i = 0; i < store_count_damaged(store); i++) {
        const struct store_damaged *d = store_damaged(store, i);

        if (!is_meant(d, which))
            continue;
        if (found != NULL) {
            error_set(err, -EINVAL, "'%s' matches rows %lld and %lld: say which", which,
                      (long long)found->row, (long long)d->row);
            return NULL;
        }
        found = d;
    }
    if (found == NULL)
        error_set(err, -ENOENT,
                  "no damaged row matches '%s': --check-store lists the "
                  "damaged rows",
                  which);
    return found;
}

static int
drop_found(struct store **store, const struct store_location *location, const char *which,
           struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct store_damaged *found = find(*store, which, err);
    struct store_damaged damaged;
    int r;

    if (found == NULL)
        return err->code;
    damaged = *found;
    damaged.key = damaged.why = NULL;
    store_close(*store);
    *store = NULL;
    r = store_drop_damaged(location, &damaged, &text, err);
    if (r == 0)
        fwrite(text.text, 1, text.length, stdout);
    return r;
}

int
store_inspect(const struct store_location *location, int64_t reserve_bytes, const char *drop,
              struct error *err)
{
    struct loop *loop = loop_new();
    struct store *store = NULL;
    int r = become_owner(location->directory, err);

    if (r == 0)
        r = store_open(
            &(struct store_settings){
                .loop = loop,
                .clock = &clock_system,
                .location = *location,
                .must_exist = true,
                .reserve_bytes = reserve_bytes,
            },
            &store, err);
    if (r == 0)
        r = drop != NULL ? drop_found(&store, location, drop, err) : list(store, err);
    store_close(store);
    loop_drain(loop);
    loop_free(loop);
    return r;
}
