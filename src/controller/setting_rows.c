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
#include "lib/api/value/name.h"
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
check_label(const char *key, struct error *err)
{
    const char *fault = name_refuse(NAME_QUALIFIED, key);

    return fault != NULL ? error_set(err, -EINVAL, "'%s' is no key of a label: %s", key, fault) : 0;
}

static int
check_readable(const char *path, struct error *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    return error_set(err, -EINVAL, "reading '%s': %s", path, strerror(errno));
}

static int
check_program(const char *path, struct error *err)
{
    if (path[0] != '/')
        return error_set(err, -EINVAL, "'%s' does not begin with '/'", path);
    if (access(path, X_OK) == 0)
        return 0;
    return error_set(err, -EINVAL, "running '%s': %s", path, strerror(errno));
}

static bool
has_password(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *user = scheme_end != NULL ? scheme_end + 3 : url;
    const char *end = strrchr(user, '@');

    return (end != NULL && memchr(user, ':', (size_t)(end - user)) != NULL)
           || strstr(url, "password=") != NULL;
}

/* The text itself is not repeated: a mistake may be in a password. */
static int
check_database(const char *url, struct error *err)
{
    if (has_password(url))
        return error_set(err, -EINVAL,
                         "the URL contains a password, which would be seen in logs and lists of "
                         "processes: it belongs in ~/.pgpass of the service user");
    if (strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0)
        return 0;
    return error_set(err, -EINVAL, "it does not begin with \"postgresql://\"");
}

/* "KEY" or "DOMAIN" with "/" and a star, which only matches names in the domain. */
static int
check_label_pattern(const char *text, struct error *err)
{
    const char *star = strchr(text, '*');

    if (text[0] != '\0' && strchr(text, '=') == NULL
        && (star == NULL || (star > text && star[-1] == '/' && star[1] == '\0')))
        return 0;
    return error_set(err, -EINVAL, "'%s' is not a label's key, or a domain with \"/*\"", text);
}

static const struct setting settings[] = {
    {"stateDir", SETTING_TEXT, AT(state_dir), .initial = CONTROLLER_STATE_DIR,
     .option = "state-dir", .argument = "DIR",
     .help = "Directory for everything that must survive a restart; on a "
             "local disk."},
    {"store", SETTING_TEXT, AT(database), .check = check_database, .option = "store",
     .argument = "URL",
     .help = "A PostgreSQL database for everything that must survive the loss of this machine, "
             "\"postgresql://USER@HOST,HOST/DATABASE\"; the default is kiln.db in stateDir. "
             "See kiln-ha(7)."},
    {"reserve", SETTING_BYTES, AT(reserve_bytes), .initial = "32Mi", .max = 1LL << 40,
     .help = "Space reserved for the case that the disk of stateDir is full, so "
             "that deletes still work; at most an eighth of a small file system."},
    {"listen", SETTING_TEXTS, AT(listen), .check = apiserver_check_address, .option = "listen",
     .argument = "ADDR:PORT",
     .help = "Addresses where nodes and users on other machines reach the "
             "API: \"0.0.0.0:6820\", \"[::]:6820\". Several may be given."},
    {"advertiseHost", SETTING_TEXT, AT(advertise_host), .option = "advertise-host",
     .argument = "HOST",
     .help = "Name or address of this machine for controllers that wait to lead (kiln-ha(7)), "
             "which relay connections to the ports of listen and tls.listen; the default is "
             "the host of listen, or the name of the machine if that stands for all addresses."},
    {"socket", SETTING_TEXT, AT(socket), .option = "socket", .argument = "PATH",
     .help = "The socket for users of this machine: " CONTROLLER_SOCKET
             ", or \"socket\" in a state directory of your own."},
    {"tls.listen", SETTING_TEXTS, AT(tls_listen), .option = "listen-tls", .argument = "ADDR:PORT",
     .help = "Addresses where tools that do not support MUNGE reach the API, "
             "with TLS and short-lived tokens: \"0.0.0.0:6821\". Several may "
             "be given."},
    {"tls.certificate", SETTING_TEXT, AT(tls_certificate),
     .help = "The certificate for TLS, followed by the certificates that "
             "signed it, in PEM; without one, the controller creates its own "
             "at the first start (tls.crt in the state directory)."},
    {"tls.key", SETTING_TEXT, AT(tls_key), .help = "The key of that certificate, in PEM."},
    {"tls.names", SETTING_TEXTS, AT(tls_names),
     .help = "More names and addresses of this machine for the certificate "
             "that the controller creates; it always contains the host's "
             "name, localhost and the addresses of tls.listen."},
    {"tls.tokenLifetime", SETTING_TIMESPAN, AT(token_lifetime_us), .initial = "15m",
     .min = 60 * SECOND_US, .max = 86400 * SECOND_US,
     .help = "Lifetime of tokens from kctl credential."},
    {"cluster", SETTING_TEXT, AT(cluster), .initial = "kiln", .option = "cluster",
     .argument = "NAME", .help = "The cluster's name, which is part of every credential."},
    {"mungeSocket", SETTING_TEXT, AT(munge_socket), .option = "munge-socket", .argument = "PATH",
     .help = "The socket of munged, if it is not the usual one."},
    {"administrators", SETTING_TEXTS, AT(administrators), .reloads = true, .check = check_people,
     .option = "administrators", .argument = "LIST",
     .help = "Users, and groups as \"@group\", who may do everything; root "
             "of this machine always may, through the socket."},
    {"operators", SETTING_TEXTS, AT(operators), .reloads = true, .check = check_people,
     .option = "operators", .argument = "LIST",
     .help = "Users and groups who may cordon, drain, taint and label nodes, "
             "and hold, release, cancel and reprioritize any job."},
    {"allowRootJobs", SETTING_BOOL, AT(allow_root_jobs), .reloads = true,
     .option = "allow-root-jobs", .help = "Accept jobs of root; agents must allow them, too."},
    {"minUid", SETTING_INT, AT(min_uid), .reloads = true, .initial = "1000", .max = UINT32_MAX,
     .option = "min-uid", .argument = "UID", .help = "Accept no jobs of users with lower uids."},
    {"allowRootlessAgents", SETTING_BOOL, AT(allow_rootless_agents), .reloads = true,
     .option = "allow-rootless-agents",
     .help = "Let ordinary users enrol agents, which run only their own jobs."},
    {"approveNodes", SETTING_BOOL, AT(approve_nodes), .reloads = true, .option = "approve-nodes",
     .help = "New nodes take no jobs until an administrator approves them "
             "(kctl approve node NAME)."},
    {"agentLabels", SETTING_TEXTS, AT(agent_labels), .reloads = true,
     .initial = "feature.kiln.hpc/*", .check = check_label_pattern, .option = "agent-labels",
     .argument = "LIST",
     .help = "Labels that a new node may give itself (labels in agent.yaml), as \"KEY\" or "
             "\"DOMAIN/*\"; none others, because partitions choose nodes by labels. "
             "With approveNodes, a new node may have all: look at them before you approve it."},
    {"impossible", SETTING_CHOICE, AT(impossible), .reloads = true, .initial = "warn",
     .choices = policy_impossible_words,
     .help = "What happens to a job that no node could run, even an empty one, or that "
             "exceeds a quota by itself: warn accepts it and says so, refuse refuses "
             "it, accept says nothing."},
    {"limits.perUser.objects", SETTING_INT, AT(limits.per_user.objects), .reloads = true,
     .initial = "200000", .max = 1000000000,
     .help = "Maximum number of unfinished jobs, pods and claims of a user, "
             "without the pods that Kiln creates for jobs; 0: no limit, here and "
             "below."},
    {"limits.perUser.pods", SETTING_INT, AT(limits.per_user.pods), .reloads = true,
     .initial = "1000000", .max = 1000000000,
     .help = "Maximum number of pods that the unfinished jobs of a user may ask "
             "for at once, by their parallelism."},
    {"limits.perUser.nodes", SETTING_INT, AT(limits.per_user.nodes), .reloads = true,
     .initial = "16", .max = 1000000,
     .help = "Maximum number of nodes that a user may have by agents of his own "
             "(allowRootlessAgents)."},
    {"limits.perUser.bytes", SETTING_BYTES, AT(limits.per_user.bytes), .reloads = true,
     .initial = "2Gi", .max = 1LL << 50,
     .help = "Maximum size of the objects, scripts and environments that a user "
             "may have stored, including finished jobs."},
    {"limits.perUser.connections", SETTING_INT, AT(limits.per_user.connections), .reloads = true,
     .initial = "2048", .max = 1000000, .help = "Maximum number of connections of a user."},
    {"limits.perUser.watches", SETTING_INT, AT(limits.per_user.watches), .reloads = true,
     .initial = "1024", .max = 1000000, .help = "Maximum number of watches of a user."},
    {"limits.perUser.logReaders", SETTING_INT, AT(limits.per_user.log_readers), .reloads = true,
     .initial = "32", .max = 1000000,
     .help = "Maximum number of job outputs that a user may read at a time."},
    {"limits.perUser.requestsPerSecond", SETTING_INT, AT(limits.per_user.requests_per_second),
     .reloads = true, .initial = "1000", .max = 1000000,
     .help = "Maximum number of requests of a user per second; twice that after "
             "a pause."},
    {"limits.perUser.questionsPerSecond", SETTING_INT, AT(limits.per_user.questions_per_second),
     .reloads = true, .initial = "20", .max = 1000000,
     .help = "How often per second a user may ask the scheduler why a job waits "
             "(kctl why); twice that after a pause."},
    {"limits.maximumTime", SETTING_TIMESPAN, AT(limits.maximum_time_us), .reloads = true,
     .initial = "0", .max = 3650 * 86400 * SECOND_US,
     .help = "Maximum time limit of a job, and the time limit of a job that asks "
             "for none; 0: no limit."},
    {"limits.maximumGrace", SETTING_TIMESPAN, AT(limits.maximum_grace_us), .reloads = true,
     .initial = "1h", .max = 365 * 86400 * SECOND_US,
     .help = "Maximum grace period of a job; 0: no limit."},
    {"limits.maximumArraySize", SETTING_INT, AT(limits.maximum_array_size), .reloads = true,
     .initial = "1000001", .max = 100000001,
     .help = "Maximum task id of a job array, plus one; 0: no limit."},
    {"limits.maximumRequeues", SETTING_INT, AT(limits.maximum_requeues), .initial = "0",
     .max = 1000000,
     .help = "How often an interrupted job, for example a preempted one, is "
             "started again before it is held; 0: no limit."},
    {"limits.pidsPerPod", SETTING_INT, AT(limits.pids_per_pod), .reloads = true, .initial = "0",
     .max = 4194304,
     .help = "Maximum number of processes of a pod, and the limit of a pod that "
             "asks for none; 0: as set by its agent."},
    {"limits.defaultMemory", SETTING_BYTES, AT(limits.default_memory), .reloads = true,
     .initial = "0", .max = 1LL << 50,
     .help = "Memory request and limit of a job that asks for no memory; 0: "
             "nothing is reserved, and there is no limit."},
    {"nodeGrace", SETTING_TIMESPAN, AT(node_grace_us), .initial = "40s", .min = SECOND_US,
     .max = 86400 * SECOND_US, .option = "node-grace", .argument = "TIME",
     .help = "How long a node may be silent before it counts as not ready; "
             "at least four times the agents' heartbeat interval."},
    {"fenceAfter", SETTING_TIMESPAN, AT(fence_after_us), .max = 30 * INT64_C(86400) * SECOND_US,
     .argument = "TIME",
     .help = "How long a node with jobs may be silent before fenceProgram "
             "switches it off; the default is never."},
    {"fenceProgram", SETTING_TEXT, AT(fence_program), .check = check_program, .argument = "PROGRAM",
     .help = "Program that switches off the node whose name it is given, and "
             "exits with 0 only when the node is off. Then the node is fenced, "
             "and its jobs start elsewhere."},
    {"fenceTimeout", SETTING_TIMESPAN, AT(fence_timeout_us), .initial = "2m", .min = SECOND_US,
     .max = 3600 * SECOND_US, .argument = "TIME",
     .help = "Time limit of fenceProgram; one that takes longer is killed, and "
             "has failed."},
    {"mailProgram", SETTING_TEXT, AT(mail_program), .check = check_program, .argument = "PROGRAM",
     .help = "Program that sends mail about jobs (--mail-type), called as sendmail: with the "
             "address as its argument and the message on its standard input, for example "
             "/usr/sbin/sendmail; the default is that no mail is sent."},
    {"mailsPerHour", SETTING_INT, AT(mails_an_hour), .initial = "100", .min = 1, .max = 100000,
     .help = "How many mails about their jobs a user gets in an hour; more are left out."},
    {"gangPrepareTimeout", SETTING_TIMESPAN, AT(gang_prepare_us), .initial = "10m",
     .max = 86400 * SECOND_US, .argument = "TIME",
     .help = "How long the prepared pods of a job of several nodes wait for the others, before "
             "the job starts again elsewhere; 0: for ever."},
    {"startupWait", SETTING_TIMESPAN, AT(startup_wait_us), .initial = "1m", .max = 3600 * SECOND_US,
     .option = "startup-wait", .argument = "TIME",
     .help = "How long at most new jobs wait after a start until the nodes that were ready "
             "have reported which ids and pods they know; 0: they do not wait."},
    {"stopTimeout", SETTING_TIMESPAN, AT(stop_timeout_us), .initial = "30s", .min = SECOND_US,
     .max = 3600 * SECOND_US, .option = "stop-timeout", .argument = "TIME",
     .help = "How long at most a controller that is told to stop writes what has come, before it "
             "ends as one that is killed, which loses nothing that was acknowledged."},
    {"finished.maxAge", SETTING_TIMESPAN, AT(finished_max_age_us), .initial = "7d",
     .min = 60 * SECOND_US, .max = 3650 * 86400 * SECOND_US, .option = "finished-max-age",
     .argument = "TIME", .help = "How long finished jobs are kept."},
    {"finished.maxCount", SETTING_INT, AT(finished_max_count), .initial = "100000", .min = 1,
     .max = 10000000, .option = "finished-max-count", .argument = "N",
     .help = "How many finished jobs are kept."},
    {"holdNeverSatisfied", SETTING_BOOL, AT(hold_never_satisfied), .option = "hold-never-satisfied",
     .help = "Keep jobs waiting whose dependencies can never be met, instead "
             "of ending them."},
    {"history.maxAge", SETTING_TIMESPAN, AT(history_max_age_us), .initial = "0",
     .max = 36500LL * 86400 * SECOND_US,
     .help = "How long the history of jobs (kctl history) is kept; 0: for ever. "
             "To export it first: kctl history --all -o csv."},
    {"history.maxBytes", SETTING_BYTES, AT(history_max_bytes), .initial = "0", .max = 1LL << 50,
     .help = "Maximum size of the history file; beyond it the oldest rows "
             "are removed; 0: no limit. A row takes about 400 bytes."},
    {"watchLog.bytes", SETTING_BYTES, AT(watch_log_bytes), .initial = "64Mi", .min = 1 << 20,
     .max = 1LL << 40, .help = "Maximum memory of the change log that watches follow."},
    {"watchLog.age", SETTING_TIMESPAN, AT(watch_log_age_us), .initial = "5m", .min = SECOND_US,
     .max = 86400 * SECOND_US, .help = "How far back the change log reaches."},
    {"events.maxAge", SETTING_TIMESPAN, AT(event_max_age_us), .initial = "1h", .min = SECOND_US,
     .max = 30 * INT64_C(86400) * SECOND_US, .help = "How long events are kept."},
    {"events.maxCount", SETTING_INT, AT(event_max_count), .initial = "50000", .min = 100,
     .max = 10000000,
     .help = "How many events are kept; beyond it whoever has the most loses the oldest ones."},
    {"scheduler.config", SETTING_TEXT, AT(scheduler_config), .check = check_readable,
     .option = "scheduler-config", .argument = "FILE",
     .help = "The scheduler's profiles and plugins: a "
             "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)."},
    {"topology.levels", SETTING_TEXTS, AT(topology_levels), .reloads = true, .check = check_label,
     .help = "Labels of nodes that say in which part of the cluster a node is, the widest part "
             "first: [topology.kubernetes.io/zone, example.com/rack]. The nodes of a job of "
             "several nodes are near to each other: in one part of the last level if it can be, "
             "else in one of the level before it, in few parts of the last. At most 8."},
    {"topology.maximumSwitchWait", SETTING_TIMESPAN, AT(switch_wait_us), .reloads = true,
     .initial = "5m", .max = 30 * INT64_C(86400) * SECOND_US,
     .help = "How long a job may wait for nodes of few switches (ksub --switches), before "
             "it starts on any; also how long one waits that names no time."},
    {"scheduler.featureGates", SETTING_PAIRS, AT(feature_pairs), .check = check_feature,
     .option = "feature-gates", .argument = "LIST",
     .help = "Feature gates of the scheduler: NAME=true, NAME=false."},
    {"scheduler.leaderElect", SETTING_BOOL, AT(leader_elect), .initial = "true",
     .option = "leader-elect", .argument = "BOOL",
     .help = "Schedule and manage the cluster only while this controller "
             "holds the lease that its scheduler's configuration names; set "
             "it to false if there is only one controller."},
    {"scheduler.assumeExpiry", SETTING_TIMESPAN, AT(assume_expiry_us), .initial = "0",
     .max = 86400 * SECOND_US,
     .help = "How long a pod whose binding the API never confirmed keeps its "
             "resources on the node; 0: for ever, as upstream."},
    {"audit.file", SETTING_TEXT, AT(audit_file), .option = "audit-file", .argument = "PATH",
     .help = "Where each request that changes something, and each refused "
             "request, is logged as a line of JSON: a path, \"journal\" or "
             "\"none\"; the default is audit.log in the state directory."},
    {"audit.maxBytes", SETTING_BYTES, AT(audit_max_bytes), .initial = "64Mi", .min = 1 << 16,
     .max = 1LL << 40, .help = "Size at which a new audit log file is started."},
    {"audit.keep", SETTING_INT, AT(audit_keep), .initial = "4", .max = 1000,
     .help = "How many earlier audit log files are kept, as PATH.1 to PATH.N."},
    {"logLevel", SETTING_CHOICE, AT(log_level), .reloads = true, .initial = "info",
     .choices = setting_log_levels, .option = "log-level", .argument = "LEVEL",
     .help = "How much to log: error, warning, info or debug."},
};

const struct setting_table controller_setting_table = {
    settings,
    ARRAY_SIZE(settings),
};
