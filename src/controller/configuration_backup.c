/* SPDX-License-Identifier: Apache-2.0 */
/* The keys are part of a backup because a cluster without them has to enrol every node again.
 * A restore runs as root on files that the service user may have written, so names and places
 * come from the present settings and never from the copy: otherwise a copy could put a file
 * anywhere.
 */
#include "controller/configuration_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/setting_rows.h"
#include "controller/settings.h"
#include "controller/store/directory/statedir.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define LARGEST (1u << 20) /* bytes of a file */

enum file_class {
    CONFIGURATION, /* files of the administrator */
    KEYS,          /* files of the service user */
};

struct saved_file {
    const char *name; /* in FILE.config */
    char *path;       /* its place; NULL: the present settings have none */
    enum file_class class;
    mode_t mode;
};

struct saved_files {
    struct saved_file items[8];
    size_t count;
};

static void
saved_files_fini(struct saved_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
}

static void
add(struct saved_files *files, const char *name, char *path, enum file_class class, mode_t mode)
{
    files->items[files->count++] = (struct saved_file){name, path, class, mode};
}

static char *
dup_path(const char *path)
{
    return path != NULL ? xstrdup(path) : NULL;
}

static void
list_files(const struct controller_settings *s, struct saved_files *files)
{
    CLEANUP_FREE char *copy =
        xstrdup(s->config_file != NULL ? s->config_file : CONTROLLER_CONFIGURATION);
    const char *directory = dirname(copy);

    *files = (struct saved_files){0};
    add(files, "token.key", xasprintf("%s/token.key", s->state_dir), KEYS, 0600);
    add(files, "tls.crt", xasprintf("%s/tls.crt", s->state_dir), KEYS, 0644);
    add(files, "tls.key", xasprintf("%s/tls.key", s->state_dir), KEYS, 0600);
    add(files, "site-tls.crt", dup_path(s->tls_certificate), KEYS, 0644);
    add(files, "site-tls.key", dup_path(s->tls_key), KEYS, 0600);
    add(files, "controller.yaml",
        xstrdup(s->config_file != NULL ? s->config_file : CONTROLLER_CONFIGURATION), CONFIGURATION,
        0644);
    add(files, "scheduler.yaml", dup_path(s->scheduler_config), CONFIGURATION, 0644);
    add(files, "client.yaml", xasprintf("%s/client.yaml", directory), CONFIGURATION, 0644);
}

static char *
directory_of(const char *file)
{
    return xasprintf("%s.config", file);
}

/* ---- Backup ---- */

int
configuration_backup_check(const char *file, struct error *err)
{
    CLEANUP_FREE char *directory = directory_of(file);

    if (access(directory, F_OK) < 0)
        return 0;
    return error_set(err, -EEXIST, "'%s' already exists", directory);
}

static int
save(const struct saved_file *f, const char *directory, struct error *err)
{
    CLEANUP_STRBUF struct strbuf content = STRBUF_INIT;
    CLEANUP_FREE char *to = xasprintf("%s/%s", directory, f->name);
    int r;

    /* A killed backup may have left one that the site no longer has. */
    if (unlink(to) < 0 && errno != ENOENT)
        return error_set(err, -errno, "cannot remove '%s': %s", to, strerror(errno));
    if (f->path == NULL || (access(f->path, F_OK) < 0 && errno == ENOENT))
        return 0;
    r = file_read(f->path, LARGEST, &content, err);
    return r < 0 ? r : file_write_atomic(to, 0600, content.text, content.length, err);
}

int
configuration_backup(const struct controller_settings *settings, const char *file,
                     struct error *err)
{
    CLEANUP_FREE char *directory = directory_of(file);
    CLEANUP_FREE char *unfinished = xasprintf("%s.new", directory);
    CLEANUP(saved_files_fini) struct saved_files files;
    int r = 0;

    list_files(settings, &files);
    if (mkdir(unfinished, 0700) < 0 && errno != EEXIST)
        r = error_set(err, -errno, "cannot create '%s': %s", unfinished, strerror(errno));
    for (size_t i = 0; i < files.count && r == 0; i++)
        r = save(&files.items[i], unfinished, err);
    if (r == 0 && rename(unfinished, directory) < 0)
        r = error_set(err, -errno, "cannot name '%s': %s", directory, strerror(errno));
    return r < 0 ? error_wrap(err, r,
                              "store and history are copied, but keys and configuration are not")
                 : 0;
}

/* ---- Restore ---- */

/* Keeps a file that exists, and says so if its content is another. */
static int
keep(const struct saved_file *f, const char *from, const struct strbuf *saved, struct error *err)
{
    CLEANUP_STRBUF struct strbuf present = STRBUF_INIT;
    int r = file_read(f->path, LARGEST, &present, err);

    if (r < 0)
        return r;
    if (present.length != saved->length
        || (saved->length > 0 && memcmp(present.text, saved->text, saved->length) != 0))
        printf("'%s' exists and differs from '%s'; it was kept\n", f->path, from);
    return 0;
}

static int
restore(const struct controller_settings *s, const struct saved_file *f, const char *directory,
        bool *ret_is_new, struct error *err)
{
    CLEANUP_STRBUF struct strbuf saved = STRBUF_INIT;
    CLEANUP_FREE char *from = xasprintf("%s/%s", directory, f->name);
    int r;

    *ret_is_new = false;
    if (access(from, F_OK) < 0)
        return 0;
    if (f->path == NULL) {
        printf("'%s' was not restored: the configuration names no such file\n", from);
        return 0;
    }
    r = file_read(from, LARGEST, &saved, err);
    if (r < 0)
        return r;
    if (access(f->path, F_OK) == 0)
        return keep(f, from, &saved, err);
    r = file_write_atomic(f->path, f->mode, saved.text, saved.length, err);
    if (r == 0 && f->class == KEYS)
        r = statedir_give_away(s->state_dir, f->path, err);
    if (r == 0)
        printf("'%s' restored\n", f->path);
    *ret_is_new = r == 0;
    return r;
}

static int
restore_class(const struct controller_settings *s, const char *file, enum file_class class,
              bool *ret_has_settings, struct error *err)
{
    CLEANUP_FREE char *directory = directory_of(file);
    CLEANUP(saved_files_fini) struct saved_files files;
    int r = 0;

    list_files(s, &files);
    for (size_t i = 0; i < files.count && r == 0; i++) {
        bool is_new;

        if (files.items[i].class != class)
            continue;
        r = restore(s, &files.items[i], directory, &is_new, err);
        if (is_new && strcmp(files.items[i].name, "controller.yaml") == 0)
            *ret_has_settings = true;
    }
    fflush(stdout);
    return r;
}

int
configuration_restore(const struct controller_settings *settings, const char *file,
                      bool *ret_has_settings, struct error *err)
{
    *ret_has_settings = false;
    return restore_class(settings, file, CONFIGURATION, ret_has_settings, err);
}

int
keys_restore(const struct controller_settings *settings, const char *file, struct error *err)
{
    bool has_settings = false;
    int r = restore_class(settings, file, KEYS, &has_settings, err);

    return r < 0 ? error_wrap(err, r, "the store is restored, but its keys are not") : 0;
}
