/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/user_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/shepherd/files/key_values.h"
#include "agent/shepherd/user_account.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define ENTRY_LIMIT_BYTES (2u << 20)

static const char title[] = "kiln-person 1";

static char *
path_of(const char *directory, uid_t uid, gid_t gid)
{
    return xasprintf("%s/%u-%u", directory, uid, gid);
}

/* Not time(), whose coarse clock may be a tick behind the file's time. */
static bool
is_fresh(int fd)
{
    struct stat st;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_mtime <= now.tv_sec
           && now.tv_sec - st.st_mtime < USER_CACHE_SECONDS;
}

static int
parse_gid(const char *value, gid_t *ret_gid)
{
    int64_t gid;
    int r = key_values_parse_number(value, &gid);

    if (r < 0 || gid < 0 || gid >= UINT32_MAX)
        return -EINVAL;
    *ret_gid = (gid_t)gid;
    return 0;
}

static int
take_group(struct user_account *p, const char *value)
{
    p->groups = xrealloc_array(p->groups, (size_t)p->n_groups + 1, sizeof(*p->groups));
    return parse_gid(value, &p->groups[p->n_groups++]);
}

static int
take(struct user_account *p, const char *name, const char *value)
{
    char **text = NULL;

    if (strcmp(name, "group") == 0)
        return take_group(p, value);
    if (strcmp(name, "gid") == 0)
        return parse_gid(value, &p->gid);
    if (strcmp(name, "name") == 0)
        text = &p->name;
    else if (strcmp(name, "home") == 0)
        text = &p->home;
    else if (strcmp(name, "shell") == 0)
        text = &p->shell;
    if (text == NULL || *text != NULL)
        return -EINVAL;
    *text = xstrdup(value);
    return 0;
}

static int
decode(struct strbuf *text, struct user_account *p)
{
    struct key_values key_values;
    const char *name;
    char *value;
    int r = key_values_open(&key_values, text->text, text->length, title, NULL);

    while (r == 0 && key_values_next(&key_values, &name, &value))
        r = take(p, name, value);
    if (r == 0
        && (p->name == NULL || p->home == NULL || p->shell == NULL || p->gid == (gid_t)-1
            || p->n_groups == 0))
        r = -EINVAL;
    return r;
}

int
user_cache_find(const char *directory, uid_t uid, gid_t gid, struct user_account **ret_user)
{
    CLEANUP_FREE char *path = path_of(directory, uid, gid);
    CLEANUP_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(user_account_freep)
    struct user_account *p = xnew(struct user_account);

    p->uid = uid;
    p->gid = (gid_t)-1;
    if (fd < 0 || !is_fresh(fd) || fd_read_all(fd, ENTRY_LIMIT_BYTES, &text) < 0
        || decode(&text, p) < 0)
        return -ENOENT;
    *ret_user = p;
    p = NULL;
    return 0;
}

/* Each writer has its own temporary file, and the last rename wins. */
void
user_cache_put(const char *directory, gid_t asked, const struct user_account *p)
{
    CLEANUP_FREE char *path = path_of(directory, p->uid, asked);
    CLEANUP_FREE char *temporary = xasprintf("%s.%ld", path, (long)getpid());
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FD int fd = -1;

    key_values_begin(&text, title);
    key_values_put_text(&text, "name", p->name);
    key_values_put_text(&text, "home", p->home);
    key_values_put_text(&text, "shell", p->shell);
    key_values_put_number(&text, "gid", p->gid);
    for (int i = 0; i < p->n_groups; i++)
        key_values_put_number(&text, "group", p->groups[i]);
    key_values_end(&text);
    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return;
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (fd_write_all(fd, text.text, text.length) < 0 || rename(temporary, path) < 0)
        unlink(temporary);
}
