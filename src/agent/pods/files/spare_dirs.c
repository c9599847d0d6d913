/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/spare_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"

#define ROOM 64u

struct spare_dirs {
    char *directory;
    pthread_mutex_t lock; /* protects all members below */
    unsigned long numbers[ROOM];
    unsigned count;
    unsigned long next;
};

static char *
path_of(const struct spare_dirs *s, unsigned long number)
{
    return xasprintf("%s/%lu", s->directory, number);
}

static bool
push(struct spare_dirs *s, unsigned long number)
{
    bool has_room;

    pthread_mutex_lock(&s->lock);
    has_room = s->count < ROOM;
    if (has_room)
        s->numbers[s->count++] = number;
    pthread_mutex_unlock(&s->lock);
    return has_room;
}

static bool
pop(struct spare_dirs *s, unsigned long *ret_number)
{
    bool has_one;

    pthread_mutex_lock(&s->lock);
    has_one = s->count > 0;
    if (has_one)
        *ret_number = s->numbers[--s->count];
    pthread_mutex_unlock(&s->lock);
    return has_one;
}

static bool
is_full(struct spare_dirs *s)
{
    bool is_full;

    pthread_mutex_lock(&s->lock);
    is_full = s->count == ROOM;
    pthread_mutex_unlock(&s->lock);
    return is_full;
}

/* Counts the directories of an earlier agent; entries with other names are
 * ignored. Their mode is set again, because agents up to 0.1 could keep one that was
 * closed to users, in which no job started.
 */
static void
find_former(struct spare_dirs *s)
{
    DIR *dir = opendir(s->directory);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        CLEANUP_FREE char *path = NULL;
        char *end;
        unsigned long number = strtoul(e->d_name, &end, 10);

        if (e->d_name[0] < '0' || e->d_name[0] > '9' || *end != '\0')
            continue;
        if (number >= s->next)
            s->next = number + 1;
        path = path_of(s, number);
        if (chmod(path, 0711) == 0)
            push(s, number);
    }
    closedir(dir);
}

struct spare_dirs *
spare_dirs_new(const char *state_dir)
{
    struct spare_dirs *s = xnew(struct spare_dirs);

    s->directory = xasprintf("%s/spare", state_dir);
    pthread_mutex_init(&s->lock, NULL);
    /* if this fails, there are no spare directories */
    mkdir(s->directory, 0700);
    find_former(s);
    return s;
}

void
spare_dirs_free(struct spare_dirs *s)
{
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s->directory);
    free(s);
}

int
spare_dirs_take(struct spare_dirs *s, const char *path)
{
    CLEANUP_FREE char *spare = NULL;
    unsigned long number;
    int r = 0;

    if (!pop(s, &number))
        return -ENOENT;
    spare = path_of(s, number);
    if (rename(spare, path) < 0) {
        r = -errno;
        push(s, number);
    }
    return r;
}

static bool
has_nothing_but(const char *path, const char *kept)
{
    DIR *dir = opendir(path);
    bool empty = dir != NULL;

    if (dir == NULL)
        return false;
    for (struct dirent *e; empty && (e = readdir(dir)) != NULL;)
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0
                || strcmp(e->d_name, kept) == 0;
    closedir(dir);
    return empty;
}

/* Removes the file, and the directory if nothing else is in it. */
static void
remove_with(const char *path, const char *kept)
{
    CLEANUP_FREE char *file = xasprintf("%s/%s", path, kept);

    unlink(file);
    rmdir(path);
}

static unsigned long
new_number(struct spare_dirs *s)
{
    unsigned long number;

    pthread_mutex_lock(&s->lock);
    number = s->next++;
    pthread_mutex_unlock(&s->lock);
    return number;
}

void
spare_dirs_put(struct spare_dirs *s, const char *path, const char *kept)
{
    CLEANUP_FREE char *spare = NULL;
    unsigned long number;

    if (is_full(s) || !has_nothing_but(path, kept)) {
        remove_with(path, kept);
        return;
    }
    number = new_number(s);
    spare = path_of(s, number);
    if (rename(path, spare) < 0)
        remove_with(path, kept);
    else if (!push(s, number))
        remove_with(spare, kept);
}
