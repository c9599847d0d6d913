/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/setting_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/apiserver.h"
#include "controller/history/history_backup.h"
#include "controller/settings.h"
#include "controller/store/directory/backup.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/program/configuration.h"
#include "lib/program/option.h"

#define AT(member) .offset = offsetof(struct controller_settings, member)
#define SECOND_US  1000000LL

/* Checks that the system knows the user or group. */
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
     .initial = CONTROLLER_STATE_DIR,
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
     .help = "The socket for users of this machine: " CONTROLLER_SOCKET
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
         "How large its file may become before the oldest rows go; 0: any size. A row takes some 400 bytes."},
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

const struct setting_table controller_setting_table = {
    settings,
    ARRAY_SIZE(settings),
};
