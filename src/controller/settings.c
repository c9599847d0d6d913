/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/apiserver.h"
#include "controller/configuration_backup.h"
#include "controller/history/history_backup.h"
#include "controller/scheduler/config/kube_configuration.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/serving_keys.h"
#include "controller/setting_rows.h"
#include "controller/store/directory/backup.h"
#include "controller/store/directory/initialize.h"
#include "controller/store/directory/location.h"
#include "controller/store/inspection.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/program/configuration.h"
#include "lib/program/option.h"
#include "lib/program/program.h"
#include "lib/tls/tls.h"

#define AT(member) .offset = offsetof(struct controller_settings, member)

static const struct option_spec rows[] = {
    {"init", 0, NULL,
     "Create the empty store of a new cluster in the state directory, and "
     "exit; an existing store is left as it is.",
     OPTION_FLAG, AT(initialize)},
    {"backup", 0, "FILE",
     "Write a copy of the store to FILE, and of history to FILE.history, and "
     "exit; also while the controller runs.",
     OPTION_TEXT, AT(backup)},
    {"backup-everything", 0, NULL,
     "With --backup: also write the keys and the configuration, to the "
     "directory FILE.config.",
     OPTION_FLAG, AT(backs_up_everything)},
    {"restore", 0, "FILE",
     "Replace the store with a copy made by --backup, and exit; existing "
     "history, keys and configuration are kept.",
     OPTION_TEXT, AT(restore)},
    {"migrate", 0, NULL,
     "Copy the cluster from the state directory into the database that store names, "
     "where no cluster has run yet, and exit.",
     OPTION_FLAG, AT(migrate)},
    {"paused", 0, NULL,
     "Start with scheduling paused, as after a restore: no job starts until 'kctl resume "
     "scheduling'.",
     OPTION_FLAG, AT(begins_paused)},
    {"check-store", 0, NULL,
     "List the rows of the store that cannot be read and are kept aside, and "
     "exit; only while no controller runs.",
     OPTION_FLAG, AT(check_store)},
    {"drop-damaged", 0, "KEY",
     "Remove the rows that --check-store lists under KEY from the store, "
     "write their content to standard output, and exit.",
     OPTION_TEXT, AT(drop_damaged)},
    {"conformance", 0, NULL,
     "Serve only the API, to one test identity, without Kiln's own rules, for "
     "replaying recorded exchanges; only on loopback addresses.",
     OPTION_FLAG, AT(is_conformance)},
    {"rotate-tokens", 0, NULL,
     "Replace the token key, which revokes all tokens, and exit; also while "
     "the controller runs.",
     OPTION_FLAG, AT(rotate_tokens)},
    {"write-config-to", 0, "FILE",
     "Write the effective configuration of the scheduler to FILE, and exit.", OPTION_TEXT,
     AT(write_config_to)},
};

static const struct option_table options = {
    .name = "kiln-controller",
    .usage = "[OPTION]...",
    .summary = "Serves the API of a Kiln cluster, stores its state, schedules "
               "its jobs and manages its nodes.",
    OPTION_ROWS(rows),
    .has_version = true,
};

static int
check_features(struct controller_settings *s, struct strbuf *mistakes)
{
    struct error err = {0};

    feature_gates_init(&s->features);
    for (size_t i = 0; i < s->feature_pairs.count; i++)
        if (feature_gates_set(&s->features, s->feature_pairs.items[i], &err) < 0) {
            strbuf_printf(mistakes, "scheduler.featureGates: %s\n", err.text);
            return -EINVAL;
        }
    return 0;
}

static int
check_tls(const struct controller_settings *s, struct strbuf *mistakes)
{
    if ((s->tls_certificate == NULL) == (s->tls_key == NULL))
        return 0;
    strbuf_add_text(mistakes, "tls.certificate and tls.key must be given together\n");
    return -EINVAL;
}

/* Only a program makes sure that a silent node is off. */
static int
check_fencing(const struct controller_settings *s, struct strbuf *mistakes)
{
    if ((s->fence_after_us > 0) != (s->fence_program != NULL))
        strbuf_add_text(mistakes, "fenceAfter and fenceProgram must be given together: a node is "
                                  "fenced only when a program has switched it off\n");
    else if (s->fence_after_us > 0 && s->fence_after_us < s->node_grace_us)
        strbuf_add_text(mistakes, "fenceAfter must not be shorter than nodeGrace\n");
    else
        return 0;
    return -EINVAL;
}

static int
check_loopback(const struct setting_texts *addresses, const char *setting, struct strbuf *mistakes)
{
    for (size_t i = 0; i < addresses->count; i++) {
        if (apiserver_is_loopback(addresses->items[i]))
            continue;
        strbuf_printf(mistakes,
                      "%s: '%s' can be reached from other machines, and with "
                      "--conformance everybody is an administrator: use "
                      "127.0.0.1, [::1] or a socket\n",
                      setting, addresses->items[i]);
        return -EINVAL;
    }
    return 0;
}

/* Only loopback addresses: everybody who sends a token from the source code is
 * an administrator in conformance mode. There are no agents to be awaited.
 */
static int
check_conformance(struct controller_settings *s, struct strbuf *mistakes)
{
    int r;

    if (!s->is_conformance)
        return 0;
    s->startup_wait_us = 0;
    if (s->begins_paused) {
        strbuf_add_text(mistakes, "--paused: with --conformance there is no scheduler to pause\n");
        return -EINVAL;
    }
    r = check_loopback(&s->listen, "listen", mistakes);
    if (r == 0)
        r = check_loopback(&s->tls_listen, "tls.listen", mistakes);
    return r;
}

static int
check_topology(const struct controller_settings *s, struct strbuf *mistakes)
{
    const struct setting_texts *levels = &s->topology_levels;

    if (levels->count > DOMAIN_LEVELS_MAX) {
        strbuf_printf(mistakes, "topology.levels: there are %zu levels, and at most %u can be\n",
                      levels->count, DOMAIN_LEVELS_MAX);
        return -EINVAL;
    }
    for (size_t i = 0; i < levels->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(levels->items[i], levels->items[j]) == 0) {
                strbuf_printf(mistakes, "topology.levels: '%s' is there twice\n", levels->items[i]);
                return -EINVAL;
            }
    return 0;
}

/* Checks other files, and settings against each other. */
static int
check_settings(void *target, struct strbuf *mistakes)
{
    struct controller_settings *s = target;
    int r = check_features(s, mistakes);

    if (r == 0)
        r = check_tls(s, mistakes);
    if (r == 0)
        r = check_fencing(s, mistakes);
    if (r == 0)
        r = check_topology(s, mistakes);
    if (r == 0)
        r = check_conformance(s, mistakes);
    if (r == 0)
        r = kube_configuration_read(s->scheduler_config, &s->scheduling, mistakes);
    return r;
}

/* A reload of a unit asks for this, and then sends SIGHUP. */
static int
check_start(void *target, struct strbuf *mistakes)
{
    const struct controller_settings *s = target;
    CLEANUP(tls_freep) struct tls *tls = NULL;
    struct error err = {0};

    if (s->tls_listen.count == 0 || s->tls_certificate == NULL
        || tls_open(s->tls_certificate, s->tls_key, &tls, &err) == 0)
        return 0;
    strbuf_printf(mistakes, "tls: %s\n", err.text);
    return -EINVAL;
}

static void NORETURN
write_config(const struct controller_settings *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    int r;

    kube_configuration_print(s->scheduling, &text);
    r = file_write_atomic(s->write_config_to, 0644, text.text, text.length, &err);
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
initialize(const struct controller_settings *s)
{
    struct error err = {0};
    bool was_there = false;
    const struct store_location location = {s->state_dir, s->database};
    int r = store_initialize(&location, &was_there, &err);

    if (r == 0 && s->database != NULL)
        puts(was_there ? "the database already contains a cluster; nothing was changed"
                       : "the database contains a new cluster now");
    else if (r == 0)
        printf(was_there ? "'%s' already contains a cluster; nothing was "
                           "changed\n"
                         : "'%s' contains a new cluster now\n",
               s->state_dir);
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
back_up(const struct controller_settings *s)
{
    const struct store_location location = {s->state_dir, s->database};
    struct error err = {0};
    int r = history_backup_check(s->backup, &err);

    if (r == 0 && s->backs_up_everything)
        r = configuration_backup_check(s->backup, &err);
    if (r == 0)
        r = store_backup(&location, s->backup, &err);
    if (r == 0)
        r = history_backup(s->state_dir, s->backup, &err);
    if (r == 0 && s->backs_up_everything)
        r = configuration_backup(s, s->backup, &err);
    exit((int)program_end(options.name, r, &err));
}

/* The restored configuration may have another state directory. */
static int
take_settings(struct controller_settings *s, struct error *err)
{
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct controller_settings again;

    if (controller_settings_read_again(s, &again, &mistakes) < 0)
        return error_set(err, -EINVAL, "the restored configuration has mistakes: %.*s",
                         (int)strcspn(mistakes.text, "\n"), mistakes.text);
    again.restore = s->restore;
    *s = again;
    return 0;
}

static void NORETURN
restore(struct controller_settings *s)
{
    struct error err = {0};
    bool has_settings;
    int r = configuration_restore(s, s->restore, &has_settings, &err);

    if (r == 0 && has_settings)
        r = take_settings(s, &err);
    if (r == 0) {
        const struct store_location location = {s->state_dir, s->database};

        r = store_restore(&location, s->restore, &err);
    }
    if (r == 0)
        r = history_restore(s->state_dir, s->restore, &err);
    if (r == 0)
        r = keys_restore(s, s->restore, &err);
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
migrate(const struct controller_settings *s)
{
    const struct store_location location = {s->state_dir, s->database};
    struct error err = {0};
    int r = s->database == NULL
                ? error_set(&err, -EINVAL,
                            "--migrate copies the store into the database that `store` names in "
                            "controller.yaml, and it names none")
                : store_migrate(&location, &err);

    if (r == 0)
        printf("the database has the cluster of '%s' now; its file is kiln.db.migrated\n",
               s->state_dir);
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
check_store(const struct controller_settings *s)
{
    const struct store_location location = {s->state_dir, s->database};
    struct error err = {0};
    int r = store_inspect(&location, s->reserve_bytes, s->drop_damaged, &err);

    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
rotate_tokens(const struct controller_settings *s)
{
    struct error err = {0};
    int r = serving_keys_rotate_tokens(s, &err);

    exit((int)program_end(options.name, r, &err));
}

static const struct configuration configuration = {
    .options = &options,
    .settings = &controller_setting_table,
    .file = CONTROLLER_CONFIGURATION,
    .file_offset = offsetof(struct controller_settings, config_file),
    .check = check_settings,
    .check_start = check_start,
};

static void
set_audit_file(struct controller_settings *s)
{
    if (s->audit_file == NULL)
        s->audit_file = arena_printf(s->arena, "%s/audit.log", s->state_dir);
}

static void
set_socket(struct controller_settings *s)
{
    if (s->socket == NULL)
        s->socket = strcmp(s->state_dir, CONTROLLER_STATE_DIR) == 0
                        ? CONTROLLER_SOCKET
                        : arena_printf(s->arena, "%s/socket", s->state_dir);
}

void
controller_settings_read(struct controller_settings *s, int argc, char **argv)
{
    int operands;

    *s = (struct controller_settings){
        .arena = arena_new(0),
        .argc = argc,
        .argv = argv,
    };
    operands = configuration_begin(&configuration, argc, argv, s->arena, s);
    if (operands < argc)
        program_refuse(&options, "'%s' is not an option", argv[operands]);
    if (s->write_config_to != NULL)
        write_config(s);
    if (s->rotate_tokens)
        rotate_tokens(s);
    if (s->initialize)
        initialize(s);
    if (s->backs_up_everything && s->backup == NULL)
        program_refuse(&options, "--backup-everything goes with --backup FILE");
    if (s->backup != NULL)
        back_up(s);
    if (s->restore != NULL)
        restore(s);
    if (s->migrate)
        migrate(s);
    if (s->check_store || s->drop_damaged != NULL)
        check_store(s);
    set_socket(s);
    set_audit_file(s);
}

int
controller_settings_read_again(const struct controller_settings *before,
                               struct controller_settings *s, struct strbuf *mistakes)
{
    int r;

    *s = (struct controller_settings){
        .arena = arena_new(0),
        .argc = before->argc,
        .argv = before->argv,
    };
    r = configuration_read(&configuration, s->argc, s->argv, s->arena, s, mistakes);
    if (r < 0)
        return r;
    set_socket(s);
    set_audit_file(s);
    return r;
}

size_t
controller_settings_log_unloaded(const struct controller_settings *before,
                                 const struct controller_settings *now)
{
    size_t n = 0;

    for (size_t i = 0; i < controller_setting_table.n_settings; i++) {
        const struct setting *setting = &controller_setting_table.settings[i];

        if (setting->reloads || setting_is_same(setting, before, now))
            continue;
        log_warning("reloading: %s has changed; the change takes effect when "
                    "the controller is restarted",
                    setting->key);
        n++;
    }
    return n;
}

void
controller_settings_fini(struct controller_settings *s)
{
    kube_configuration_free(s->scheduling);
    arena_free(s->arena);
}
