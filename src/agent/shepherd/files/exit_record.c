/* SPDX-License-Identifier: Apache-2.0 */
/* Without this record a finished job would run again, so it is synced before the shepherd
 * ends, and a disk that refuses it does not stop it: it then goes to /run, which survives
 * everything but a reboot. It is written in place with a length and an end, since a torn
 * record can be recognized and a rename would cost another sync.
 */
#include "agent/shepherd/files/exit_record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/shepherd/files/key_values.h"
#include "agent/shepherd/files/reused_file.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define EXIT_RECORD_LIMIT_BYTES 65536u

static const char title[] = "kiln-exit 1";

enum exit_record_field_kind { TEXT, NUMBER, SWITCH };

struct exit_record_field {
    const char *name;
    enum exit_record_field_kind kind;
    size_t offset;
};

#define FIELD(k, member)                                                           \
    {                                                                              \
        .name = #member, .kind = k, .offset = offsetof(struct exit_record, member) \
    }

static const struct exit_record_field fields[] = {
    FIELD(TEXT, pod_uid),
    FIELD(TEXT, boot_id),
    FIELD(TEXT, failed_step),
    FIELD(TEXT, message),
    FIELD(NUMBER, error_number),
    FIELD(NUMBER, exit_code),
    FIELD(NUMBER, signal),
    FIELD(SWITCH, has_core),
    FIELD(SWITCH, was_oom),
    FIELD(SWITCH, was_fenced),
    FIELD(SWITCH, was_late),
    FIELD(SWITCH, was_shut_down),
    FIELD(SWITCH, was_ended),
    FIELD(SWITCH, had_own_end),
    FIELD(NUMBER, started_at_us),
    FIELD(NUMBER, ended_at_us),
    FIELD(NUMBER, elapsed_us),
    FIELD(NUMBER, frozen_us),
    FIELD(SWITCH, is_memory_enforced),
    FIELD(NUMBER, peak_memory_bytes),
    FIELD(SWITCH, has_rss),
    FIELD(NUMBER, rss_bytes),
    FIELD(NUMBER, cache_bytes),
    FIELD(NUMBER, cpu_user_us),
    FIELD(NUMBER, cpu_system_us),
    FIELD(NUMBER, oom_kills),
    FIELD(SWITCH, has_io),
    FIELD(NUMBER, read_bytes),
    FIELD(NUMBER, written_bytes),
    FIELD(TEXT, cpus_allowed),
    FIELD(TEXT, memory_allowed),
    FIELD(SWITCH, has_left_behind),
    FIELD(TEXT, epilog_failure),
    FIELD(SWITCH, has_checkpoint),
    FIELD(SWITCH, was_checkpoint_cut),
    FIELD(NUMBER, checkpoint_code),
    FIELD(NUMBER, checkpoint_us),
    FIELD(TEXT, checkpoint_failure),
};

void
exit_record_free(struct exit_record *e)
{
    if (e == NULL)
        return;
    free(e->pod_uid);
    free(e->boot_id);
    free(e->failed_step);
    free(e->message);
    free(e->cpus_allowed);
    free(e->memory_allowed);
    free(e->epilog_failure);
    free(e->checkpoint_failure);
    free(e);
}

void
exit_record_format(const struct exit_record *e, struct strbuf *out)
{
    key_values_begin(out, title);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const void *value = (const char *)e + fields[i].offset;

        if (fields[i].kind == TEXT)
            key_values_put_text(out, fields[i].name, *(char *const *)value);
        else if (fields[i].kind == NUMBER)
            key_values_put_number(out, fields[i].name, *(const int64_t *)value);
        else
            key_values_put_number(out, fields[i].name, *(const bool *)value);
    }
    key_values_end(out);
}

void
exit_record_note_oom(struct exit_record *e, int64_t kills)
{
    e->oom_kills = kills;
    e->was_oom = kills > 0;
    if (e->was_oom && e->exit_code == 0)
        e->exit_code = 128 + SIGKILL;
}

static int
sync_directory(const char *directory)
{
    CLEANUP_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Readers recognize a torn record, so no rename is needed. */
static int
write_once(const char *directory, const struct strbuf *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/exit", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return -errno;
    r = fd_write_all(fd, text->text, text->length);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    close(fd);
    if (r == 0)
        r = sync_directory(directory);
    if (r < 0)
        unlink(path);
    return r;
}

int
exit_record_write(const struct exit_record *e, const char *state_dir, const char *run_dir,
                  struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r;

    exit_record_format(e, &text);
    r = reused_file_write(state_dir, EXIT_RECORD_FILE, &text);
    if (r == 0)
        return 0;
    r = write_once(state_dir, &text);
    if (r < 0 && r != -EEXIST && write_once(run_dir, &text) == 0)
        return 0;
    if (r < 0)
        return error_set(err, r, "writing '%s/exit': %s", state_dir, strerror(-r));
    return 0;
}

static int
take(struct exit_record *e, const char *name, const char *value)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        char *member = (char *)e + fields[i].offset;
        int64_t number;
        int r;

        if (strcmp(name, fields[i].name) != 0)
            continue;
        if (fields[i].kind == TEXT) {
            char **text = (char **)(void *)member;

            free(*text);
            *text = xstrdup(value);
            return 0;
        }
        r = key_values_parse_number(value, &number);
        if (r == 0 && fields[i].kind == NUMBER)
            *(int64_t *)(void *)member = number;
        else if (r == 0)
            *(bool *)(void *)member = number != 0;
        return r;
    }
    return 0; /* an entry of a newer shepherd */
}

static int
decode(struct strbuf *text, struct exit_record **ret_record, struct error *err)
{
    CLEANUP(exit_record_freep) struct exit_record *e = xnew(struct exit_record);
    struct key_values key_values;
    const char *name;
    char *value;
    int r = key_values_open(&key_values, text->text, text->length, title, err);

    while (r == 0 && key_values_next(&key_values, &name, &value))
        r = take(e, name, value);
    if (r == 0 && e->pod_uid == NULL)
        r = -EBADMSG;
    if (r < 0)
        return r;
    exit_record_note_oom(e, e->oom_kills); /* the shepherd may be older */
    *ret_record = e;
    e = NULL;
    return 0;
}

static int
read_at(const char *directory, struct exit_record **ret_record, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/exit", directory);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = file_read(path, EXIT_RECORD_LIMIT_BYTES, &text, err);

    if (r < 0)
        return r;
    r = decode(&text, ret_record, err);
    return r < 0 ? error_wrap(err, r, "reading '%s'", path) : 0;
}

/* After a crash of the machine the record may belong to a pod that had the
 * directory before.
 */
static int
read_reused(const char *directory, const char *pod_uid, struct exit_record **ret_record)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(exit_record_freep) struct exit_record *e = NULL;

    if (reused_file_read(directory, EXIT_RECORD_FILE, &text) < 0 || decode(&text, &e, NULL) < 0
        || strcmp(e->pod_uid, pod_uid) != 0)
        return -ENOENT;
    *ret_record = e;
    e = NULL;
    return 0;
}

int
exit_record_read(const char *state_dir, const char *run_dir, const char *pod_uid,
                 struct exit_record **ret_record, struct error *err)
{
    int r;

    if (read_reused(state_dir, pod_uid, ret_record) == 0)
        return 0;
    r = read_at(state_dir, ret_record, err);
    return r == -ENOENT ? read_at(run_dir, ret_record, err) : r;
}

int
exit_record_blank(const char *state_dir)
{
    return reused_file_blank(state_dir, EXIT_RECORD_FILE);
}

bool
exit_record_is_nodes_fault(const struct exit_record *e)
{
    static const char *const steps[] = {
        "shepherd",      "shepherd cgroup", "signals", "spool",     "live state",
        "fork",          "cgroup",          "session", "oom score", "cpu affinity",
        "memory policy", "keyring",         "groups",  "gid",       "uid",
        "identity",
    };

    if (e->failed_step == NULL)
        return false;
    /* The user does not exist: another node may not know the user either. */
    if (strcmp(e->failed_step, "user") == 0)
        return e->error_number != ENOENT && e->error_number != EPERM;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        if (strcmp(e->failed_step, steps[i]) == 0)
            return true;
    return false;
}
