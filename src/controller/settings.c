/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/apiserver.h"
#include "controller/history/history_backup.h"
#include "controller/scheduler/config/kube_configuration.h"
#include "controller/serving_keys.h"
#include "controller/store/directory/backup.h"
#include "controller/store/directory/initialize.h"
#include "controller/store/inspection.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/program/configuration.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

#define AT(member) .offset = offsetof(struct controller_settings, member)
#define STATE_DIR  LOCALSTATEDIR "/lib/kiln"
#define SOCKET     RUNSTATEDIR "/kiln/socket"
#define SECOND_US  1000000LL

/* Somebody whom the system knows. */
static int
check_people(const char *name, struct error *err)
{
    CLEANUP(policy_people_fini) struct policy_people people = {0};

    return policy_people_add(&people, name, err) < 0 ? -EINVAL : 0;
}

static int
check_feature(const char *pair, struct error *err)
{
    struct feature_gates gates;

    feature_gates_init(&gates);
    return feature_gates_set(&gates, pair, err) < 0 ? -EINVAL : 0;
}

static int
check_readable(const char *path, struct error *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    return error_set(err, -EINVAL, "reading '%s': %s", path, strerror(errno));
}

static const struct setting settings[] = {
    {"stateDir",
     SETTING_TEXT,
     AT(state_dir),
     .initial = STATE_DIR,
     .option = "state-dir",
     .argument = "DIR",
     .help = "Where everything that must outlive a restart is kept; on a "
             "local disk."},
    {"reserve",
     SETTING_BYTES,
     AT(reserve_bytes),
     .initial = "32Mi",
     .max = 1LL << 40,
     .help =
         "Space kept free for the day when the disk of stateDir is full, so "
         "that deletes go on; an eighth of a small file system."},
    {"listen",
     SETTING_TEXTS,
     AT(listen),
     .check = apiserver_check_address,
     .option = "listen",
     .argument = "ADDR:PORT",
     .help = "Where nodes and users on other machines reach the API: "
             "\"0.0.0.0:6820\", \"[::]:6820\". Several may be given."},
    {"socket",
     SETTING_TEXT,
     AT(socket),
     .option = "socket",
     .argument = "PATH",
     .help = "The socket for users of this machine: " SOCKET
             ", or \"socket\" in a state directory of your own."},
    {"tls.listen",
     SETTING_TEXTS,
     AT(tls_listen),
     .option = "listen-tls",
     .argument = "ADDR:PORT",
     .help = "Where tools that can speak no MUNGE reach the API, by TLS and "
             "short-lived tokens: \"0.0.0.0:6821\". Several may be given."},
    {"tls.certificate",
     SETTING_TEXT,
     AT(tls_certificate),
     .help = "The certificate to serve TLS by, with those it is signed by, in "
             "PEM; without one, the controller makes its own at the first "
             "start (tls.crt in the state directory)."},
    {"tls.key",
     SETTING_TEXT,
     AT(tls_key),
     .help = "The key of that certificate, in PEM."},
    {"tls.names",
     SETTING_TEXTS,
     AT(tls_names),
     .help = "Names and addresses that clients know this machine by, for the "
             "certificate that it makes; the host's name, localhost and the "
             "addresses of tls.listen are in it anyway."},
    {"tls.tokenLifetime",
     SETTING_TIMESPAN,
     AT(token_lifetime_us),
     .initial = "15m",
     .min = 60 * SECOND_US,
     .max = 86400 * SECOND_US,
     .help = "How long a token of kctl credential is good."},
    {"cluster",
     SETTING_TEXT,
     AT(cluster),
     .initial = "kiln",
     .option = "cluster",
     .argument = "NAME",
     .help = "The cluster's name, which credentials carry."},
    {"mungeSocket",
     SETTING_TEXT,
     AT(munge_socket),
     .option = "munge-socket",
     .argument = "PATH",
     .help = "munged's socket, where it is not the usual one."},
    {"administrators",
     SETTING_TEXTS,
     AT(administrators),
     .reloads = true,
     .check = check_people,
     .option = "administrators",
     .argument = "LIST",
     .help = "Users, and groups as \"@group\", who may do everything; root "
             "of this machine always may, by the socket."},
    {"operators",
     SETTING_TEXTS,
     AT(operators),
     .reloads = true,
     .check = check_people,
     .option = "operators",
     .argument = "LIST",
     .help = "Users and groups who may cordon, drain, taint and label nodes, "
             "and hold, release, cancel and reprioritize any job."},
    {"allowRootJobs",
     SETTING_BOOL,
     AT(allow_root_jobs),
     .reloads = true,
     .option = "allow-root-jobs",
     .help = "Take jobs of root; agents must allow them, too."},
    {"minUid",
     SETTING_INT,
     AT(min_uid),
     .reloads = true,
     .initial = "1000",
     .max = UINT32_MAX,
     .option = "min-uid",
     .argument = "UID",
     .help = "Take no jobs of users below it."},
    {"allowRootlessAgents",
     SETTING_BOOL,
     AT(allow_rootless_agents),
     .reloads = true,
     .option = "allow-rootless-agents",
     .help = "Let ordinary users enrol agents, which run their own jobs "
             "alone."},
    {"approveNodes",
     SETTING_BOOL,
     AT(approve_nodes),
     .reloads = true,
     .option = "approve-nodes",
     .help = "New nodes take no jobs before an administrator approves them "
             "(kctl approve node NAME)."},
    {"limits.perUser.objects",
     SETTING_INT,
     AT(limits.per_user.objects),
     .reloads = true,
     .initial = "200000",
     .max = 1000000000,
     .help =
         "How many unfinished jobs, pods and claims a user may have, without the pods that Kiln makes for jobs; 0: any number, here and below."},
    {"limits.perUser.pods",
     SETTING_INT,
     AT(limits.per_user.pods),
     .reloads = true,
     .initial = "1000000",
     .max = 1000000000,
     .help =
         "How many pods the unfinished jobs of a user may ask for at once, by their parallelism."},
    {"limits.perUser.bytes",
     SETTING_BYTES,
     AT(limits.per_user.bytes),
     .reloads = true,
     .initial = "2Gi",
     .max = 1LL << 50,
     .help =
         "How many bytes of objects, scripts and environments a user may have stored, finished jobs too."},
    {"limits.perUser.connections",
     SETTING_INT,
     AT(limits.per_user.connections),
     .reloads = true,
     .initial = "2048",
     .max = 1000000,
     .help = "How many connections a user may have."},
    {"limits.perUser.watches",
     SETTING_INT,
     AT(limits.per_user.watches),
     .reloads = true,
     .initial = "1024",
     .max = 1000000,
     .help = "How many watches a user may have."},
    {"limits.perUser.logReaders",
     SETTING_INT,
     AT(limits.per_user.log_readers),
     .reloads = true,
     .initial = "32",
     .max = 1000000,
     .help = "How many outputs of jobs a user may read at a time."},
    {"limits.perUser.requestsPerSecond",
     SETTING_INT,
     AT(limits.per_user.requests_per_second),
     .reloads = true,
     .initial = "1000",
     .max = 1000000,
     .help =
         "How many requests a user may make a second; twice that after a rest."},
    {"limits.perUser.questionsPerSecond",
     SETTING_INT,
     AT(limits.per_user.questions_per_second),
     .reloads = true,
     .initial = "20",
     .max = 1000000,
     .help =
         "How often a second a user may ask the scheduler why a job waits (kctl why); twice that after a rest."},
    {"limits.maximumTime",
     SETTING_TIMESPAN,
     AT(limits.maximum_time_us),
     .reloads = true,
     .initial = "0",
     .max = 3650 * 86400 * SECOND_US,
     .help =
         "The longest time limit of a job, and that of a job that asks for none; 0: none."},
    {"limits.maximumGrace",
     SETTING_TIMESPAN,
     AT(limits.maximum_grace_us),
     .reloads = true,
     .initial = "1h",
     .max = 365 * 86400 * SECOND_US,
     .help =
         "The longest that a job may take to end after it was told to; 0: any."},
    {"limits.maximumArraySize",
     SETTING_INT,
     AT(limits.maximum_array_size),
     .reloads = true,
     .initial = "1000001",
     .max = 100000001,
     .help =
         "One more than the largest number that an element of a job array may have; 0: any."},
    {"limits.maximumRequeues",
     SETTING_INT,
     AT(limits.maximum_requeues),
     .initial = "0",
     .max = 1000000,
     .help =
         "How often a job that is interrupted, as by preemption, starts anew before it is held; 0: any number."},
    {"limits.pidsPerPod",
     SETTING_INT,
     AT(limits.pids_per_pod),
     .reloads = true,
     .initial = "0",
     .max = 4194304,
     .help =
         "The most processes of a pod, and what one gets that asks for no number; 0: what its agent says."},
    {"limits.defaultMemory",
     SETTING_BYTES,
     AT(limits.default_memory),
     .reloads = true,
     .initial = "0",
     .max = 1LL << 50,
     .help =
         "The memory, and its limit, of a job that asks for none; 0: nothing reserved, and no limit."},
    {"nodeGrace",
     SETTING_TIMESPAN,
     AT(node_grace_us),
     .initial = "40s",
     .min = SECOND_US,
     .max = 86400 * SECOND_US,
     .option = "node-grace",
     .argument = "TIME",
     .help = "How long a node may be silent before it counts as not ready; "
             "four times the agents' heartbeat at the least."},
    {"finished.maxAge",
     SETTING_TIMESPAN,
     AT(finished_max_age_us),
     .initial = "7d",
     .min = 60 * SECOND_US,
     .max = 3650 * 86400 * SECOND_US,
     .option = "finished-max-age",
     .argument = "TIME",
     .help = "How long finished jobs are kept."},
    {"finished.maxCount",
     SETTING_INT,
     AT(finished_max_count),
     .initial = "100000",
     .min = 1,
     .max = 10000000,
     .option = "finished-max-count",
     .argument = "N",
     .help = "How many finished jobs are kept."},
    {"holdNeverSatisfied",
     SETTING_BOOL,
     AT(hold_never_satisfied),
     .option = "hold-never-satisfied",
     .help = "Let jobs wait on whose dependencies can never be met any more, "
             "instead of ending them."},
    {"history.maxAge",
     SETTING_TIMESPAN,
     AT(history_max_age_us),
     .initial = "0",
     .max = 36500LL * 86400 * SECOND_US,
     .help =
         "How long the history of jobs (kctl history) is kept; 0: for ever. Export it before: kctl history --all -o csv."},
    {"history.maxBytes",
     SETTING_BYTES,
     AT(history_max_bytes),
     .initial = "0",
     .max = 1LL << 50,
     .help =
         "How large its file may become before the oldest rows go; 0: any size. A row takes some 300 bytes."},
    {"watchLog.bytes",
     SETTING_BYTES,
     AT(watch_log_bytes),
     .initial = "64Mi",
     .min = 1 << 20,
     .max = 1LL << 40,
     .help = "How much memory the history that watches follow may take."},
    {"watchLog.age",
     SETTING_TIMESPAN,
     AT(watch_log_age_us),
     .initial = "5m",
     .min = SECOND_US,
     .max = 86400 * SECOND_US,
     .help = "How far that history reaches back."},
    {"scheduler.config",
     SETTING_TEXT,
     AT(scheduler_config),
     .check = check_readable,
     .option = "scheduler-config",
     .argument = "FILE",
     .help = "The scheduler's profiles and plugins: a "
             "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)."},
    {"scheduler.featureGates",
     SETTING_PAIRS,
     AT(feature_pairs),
     .check = check_feature,
     .option = "feature-gates",
     .argument = "LIST",
     .help = "What of the scheduler is switched on or off: NAME=true, "
             "NAME=false."},
    {"scheduler.leaderElect",
     SETTING_BOOL,
     AT(leader_elect),
     .initial = "true",
     .option = "leader-elect",
     .argument = "BOOL",
     .help = "Schedule and look after the cluster only while this controller "
             "holds the lease that its scheduler's configuration names; false "
             "for one controller."},
    {"scheduler.assumeExpiry",
     SETTING_TIMESPAN,
     AT(assume_expiry_us),
     .initial = "0",
     .max = 86400 * SECOND_US,
     .help = "How long after its binding a pod that the API never confirmed "
             "holds its node; 0: for ever, as upstream."},
    {"audit.file",
     SETTING_TEXT,
     AT(audit_file),
     .option = "audit-file",
     .argument = "PATH",
     .help = "Where each request that changes something, and each refusal, has "
             "its line of JSON: a path, \"journal\" or \"none\"; audit.log in "
             "the state directory unless it is given."},
    {"audit.maxBytes",
     SETTING_BYTES,
     AT(audit_max_bytes),
     .initial = "64Mi",
     .min = 1 << 16,
     .max = 1LL << 40,
     .help = "How large that file becomes before the next is begun."},
    {"audit.keep",
     SETTING_INT,
     AT(audit_keep),
     .initial = "4",
     .max = 1000,
     .help = "How many files of before are kept, as PATH.1 to PATH.N."},
    {"logLevel",
     SETTING_CHOICE,
     AT(log_level),
     .reloads = true,
     .initial = "info",
     .choices = setting_log_levels,
     .option = "log-level",
     .argument = "LEVEL",
     .help = "How much to tell: error, warning, info or debug."},
};

static const struct option_spec rows[] = {
    {"init",
     0,
     NULL,
     "Make the empty store of a new cluster in the state directory, and exit; "
     "a store that is there stays as it is.",
     OPTION_FLAG,
     AT(initialize)},
    {"backup",
     0,
     "FILE",
     "Write a copy of the store to FILE, and of history to FILE.history, and "
     "exit; also while the controller runs.",
     OPTION_TEXT,
     AT(backup)},
    {"restore",
     0,
     "FILE",
     "Put such a copy in the place of the store, and exit; history that is "
     "there stays.",
     OPTION_TEXT,
     AT(restore)},
    {"check-store",
     0,
     NULL,
     "List what of the store cannot be read and is kept aside, and exit; while "
     "no controller runs.",
     OPTION_FLAG,
     AT(check_store)},
    {"drop-damaged",
     0,
     "KEY",
     "Take what --check-store lists under KEY out of the store, write what "
     "stood there to standard output, and exit.",
     OPTION_TEXT,
     AT(drop_damaged)},
    {"conformance",
     0,
     NULL,
     "Serve the API alone, to one test identity, without Kiln's own rules: "
     "for replaying recorded exchanges; on loopback addresses alone.",
     OPTION_FLAG,
     AT(is_conformance)},
    {"rotate-tokens",
     0,
     NULL,
     "Replace the key of tokens, which ends all of them, and exit; also while "
     "the controller runs.",
     OPTION_FLAG,
     AT(rotate_tokens)},
    {"write-config-to",
     0,
     "FILE",
     "Write the scheduler's configuration as it is in effect to FILE, and "
     "exit.",
     OPTION_TEXT,
     AT(write_config_to)},
};

static const struct option_table options = {
    .name = "kiln-controller",
    .usage = "[OPTION]...",
    .summary = "Serves the API of a Kiln cluster, keeps its state, schedules "
               "its jobs and looks after its nodes.",
    OPTION_ROWS(rows),
    .has_version = true,
};

static const struct setting_table table = {settings, ARRAY_SIZE(settings)};

static int
check_features(struct controller_settings *s, struct strbuf *mistakes)
{
    struct error err = {0};

    feature_gates_init(&s->features);
    for (size_t i = 0; i < s->feature_pairs.count; i++)
        if (feature_gates_set(&s->features, s->feature_pairs.items[i], &err)
            < 0) {
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
    strbuf_add_text(mistakes,
                    "tls.certificate and tls.key go together: give both, or "
                    "none\n");
    return -EINVAL;
}

static int
check_loopback(const struct setting_texts *addresses,
               const char *setting,
               struct strbuf *mistakes)
{
    for (size_t i = 0; i < addresses->count; i++) {
        if (apiserver_is_loopback(addresses->items[i]))
            continue;
        strbuf_printf(mistakes,
                      "%s: '%s' can be reached from other machines, and with "
                      "--conformance everybody is an administrator: use "
                      "127.0.0.1, [::1] or a socket\n",
                      setting,
                      addresses->items[i]);
        return -EINVAL;
    }
    return 0;
}

/* Everybody who says a word that stands in the source is an administrator. */
static int
check_conformance(const struct controller_settings *s, struct strbuf *mistakes)
{
    int r = 0;

    if (s->is_conformance)
        r = check_loopback(&s->listen, "listen", mistakes);
    if (s->is_conformance && r == 0)
        r = check_loopback(&s->tls_listen, "tls.listen", mistakes);
    return r;
}

/* Checks further files, and settings against each other. */
static int
check_settings(void *target, struct strbuf *mistakes)
{
    struct controller_settings *s = target;
    int r = check_features(s, mistakes);

    if (r == 0)
        r = check_tls(s, mistakes);
    if (r == 0)
        r = check_conformance(s, mistakes);
    if (r == 0)
        r = kube_configuration_read(s->scheduler_config,
                                    &s->scheduling,
                                    mistakes);
    return r;
}

static void NORETURN
write_config(const struct controller_settings *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    int r;

    kube_configuration_print(s->scheduling, &text);
    r = file_write_atomic(s->write_config_to,
                          0644,
                          text.text,
                          text.length,
                          &err);
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
initialize(const struct controller_settings *s)
{
    struct error err = {0};
    bool was_there = false;
    int r = store_initialize(s->state_dir, &was_there, &err);

    if (r == 0)
        printf(was_there ? "'%s' holds a cluster already; nothing was changed\n"
                         : "'%s' holds a new cluster now\n",
               s->state_dir);
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
copy_store(const struct controller_settings *s)
{
    struct error err = {0};
    int r = 0;

    if (s->backup != NULL) {
        r = history_backup_check(s->backup, &err);
        if (r == 0)
            r = store_backup(s->state_dir, s->backup, &err);
        if (r == 0)
            r = history_backup(s->state_dir, s->backup, &err);
    } else {
        r = store_restore(s->state_dir, s->restore, &err);
        if (r == 0)
            r = history_restore(s->state_dir, s->restore, &err);
    }
    exit((int)program_end(options.name, r, &err));
}

static void NORETURN
check_store(const struct controller_settings *s)
{
    struct error err = {0};
    int r =
        store_inspect(s->state_dir, s->reserve_bytes, s->drop_damaged, &err);

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
    .settings = &table,
    .file = SYSCONFDIR "/kiln/controller.yaml",
    .check = check_settings,
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
        s->socket = strcmp(s->state_dir, STATE_DIR) == 0
                        ? SOCKET
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
        program_refuse(&options, "'%s' is no option", argv[operands]);
    if (s->write_config_to != NULL)
        write_config(s);
    if (s->rotate_tokens)
        rotate_tokens(s);
    if (s->initialize)
        initialize(s);
    if (s->backup != NULL || s->restore != NULL)
        copy_store(s);
    if (s->check_store || s->drop_damaged != NULL)
        check_store(s);
    set_socket(s);
    set_audit_file(s);
}

int
controller_settings_read_again(const struct controller_settings *before,
                               struct controller_settings *s,
                               struct strbuf *mistakes)
{
    int r;

    *s = (struct controller_settings){
        .arena = arena_new(0),
        .argc = before->argc,
        .argv = before->argv,
    };
    r = configuration_read(&configuration,
                           s->argc,
                           s->argv,
                           s->arena,
                           s,
                           mistakes);
    if (r == 0)
        set_socket(s);
    return r;
}

size_t
controller_settings_say_unloaded(const struct controller_settings *before,
                                 const struct controller_settings *now)
{
    size_t n = 0;

    for (size_t i = 0; i < table.n_settings; i++) {
        const struct setting *setting = &table.settings[i];

        if (setting->reloads || setting_is_same(setting, before, now))
            continue;
        log_warning("reloading: %s has changed, which takes effect when the "
                    "controller is started again",
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
