/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/hardware/device_files.h"
#include "agent/hardware/hardware.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/name.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_address.h"
#include "lib/http/http_listener.h"
#include "lib/program/configuration.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

#define SECOND_US  1000000LL
#define AT(member) .offset = offsetof(struct agent_settings, member)

static const char *const cpu_partitions[] = {
    [CPU_PARTITION_NONE] = "none",
    [CPU_PARTITION_ROOT] = "root",
    [CPU_PARTITION_ISOLATED] = "isolated",
    NULL,
};

static const char *const isolated_cpus[] = {
    [ISOLATED_CPUS_LEAVE] = "leave",
    [ISOLATED_CPUS_OFFER] = "offer",
    NULL,
};

/* Errors in a value name its line in the file. */

static int
check_url(const char *url, struct error *err)
{
    struct http_address address = {0};

    if (http_address_parse(url, false, &address, err) < 0)
        return -EINVAL;
    http_address_fini(&address);
    return 0;
}

static int
check_listen(const char *address, struct error *err)
{
    return strcmp(address, SETTINGS_NO_PORT) == 0 ? 0 : http_listener_check(address, err);
}

static int
check_user(const char *user, struct error *err)
{
    if (getpwnam(user) != NULL || user[strspn(user, "0123456789")] == '\0')
        return 0;
    return error_set(err, -EINVAL, "no user '%s' on this machine", user);
}

static int
check_name(const char *name, struct error *err)
{
    const char *why = name_refuse(NAME_DNS_SUBDOMAIN, name);

    return why == NULL ? 0 : error_set(err, -EINVAL, "'%s': %s", name, why);
}

static int
check_label(const char *pair, struct error *err)
{
    const char *equals = strchr(pair, '=');
    CLEANUP_FREE char *key = xstrndup(pair, (size_t)(equals - pair));
    const char *why = name_refuse(NAME_QUALIFIED, key);

    if (why == NULL)
        why = name_refuse(NAME_LABEL_VALUE, equals + 1);
    return why == NULL ? 0 : error_set(err, -EINVAL, "'%s': %s", pair, why);
}

static int
check_path(const char *path, struct error *err)
{
    return path[0] == '/' ? 0 : error_set(err, -EINVAL, "'%s' does not begin with '/'", path);
}

static int
check_program(const char *path, struct error *err)
{
    if (access(path, X_OK) == 0)
        return 0;
    return error_set(err, -EINVAL, "'%s': %s", path, strerror(errno));
}

static int
check_topology(const char *given, struct error *err)
{
    const struct hardware_request request = {.given = given};
    struct topology *topology = NULL;

    if (hardware_discover(&request, &topology, err) < 0)
        return -EINVAL;
    topology_free(topology);
    return 0;
}

static int
check_cpus(const char *list, struct error *err)
{
    struct bitset cpus;

    return cpuset_parse(list, &cpus, err) < 0 ? -EINVAL : 0;
}

static int
check_memory(const char *text, struct error *err)
{
    struct quantity memory;

    if (quantity_parse(text, &memory) == 0 && quantity_value(&memory) >= 0)
        return 0;
    return error_set(err, -EINVAL, "'%s' is not a size such as 4Gi", text);
}

static const struct setting settings[] = {
    {"controller", SETTING_TEXT, AT(controller), .check = check_url, .option = "controller",
     .argument = "URL",
     .help = "Address of the API: http://HOST:PORT, or http+unix:///PATH on "
             "the controller's own host."},
    {"cluster", SETTING_TEXT, AT(cluster), .initial = "kiln", .option = "cluster",
     .argument = "NAME", .help = "The cluster's name, as in the controller's configuration."},
    {"serviceUser", SETTING_TEXT, AT(service_user), .check = check_user, .initial = "kiln",
     .option = "service-user", .argument = "USER",
     .help = "The user that the controller runs as; no other user is "
             "trusted as the controller."},
    {"mungeSocket", SETTING_TEXT, AT(munge_socket), .option = "munge-socket", .argument = "PATH",
     .help = "The socket of munged, if it is not the usual one."},
    {"nodeName", SETTING_TEXT, AT(node_name), .check = check_name, .option = "node-name",
     .argument = "NAME",
     .help = "The node's name in the API; the default is the host's name, in "
             "lower case."},
    {"address", SETTING_TEXT, AT(address), .option = "address", .argument = "ADDRESS",
     .help = "The node's address, published for others."},
    {"listen", SETTING_TEXT, AT(listen), .check = check_listen, .initial = "*:6822",
     .option = "listen", .argument = "HOST:PORT",
     .help = "Where krun on the other nodes of a job, and on login machines, asks for its "
             "tasks here; the port must be the same on all nodes. none: nowhere, so that "
             "steps and mpirun do not reach this node from others."},
    {"labels", SETTING_PAIRS, AT(labels), .check = check_label, .option = "label",
     .argument = "KEY=VALUE", .help = "Labels of the node; the option may be given again."},
    {"stateDir", SETTING_TEXT, AT(state_dir), .option = "state-dir", .argument = "DIR",
     .help = "Directory for files that must survive a restart of the "
             "machine: /var/lib/kiln-agent, or ~/.local/state/kiln-agent for "
             "an ordinary user."},
    {"runDir", SETTING_TEXT, AT(run_dir), .option = "run-dir", .argument = "DIR",
     .help = "Directory for files that are needed until the machine is "
             "restarted: /run/kiln-agent, or run below the state directory "
             "for an ordinary user."},
    {"tmpDir", SETTING_TEXT, AT(tmp_dir), .check = check_path, .initial = "/tmp",
     .option = "tmp-dir", .argument = "DIR",
     .help = "Directory in which each job gets its own TMPDIR."},
    {"scratchDir", SETTING_TEXT, AT(scratch_dir), .check = check_path, .option = "scratch-dir",
     .argument = "DIR",
     .help = "Directory of volumes for claims of the storage class "
             "node-local and for ksub --tmp; without it, the node offers "
             "none."},
    {"scratchCapacity", SETTING_TEXT, AT(scratch_capacity), .check = check_memory,
     .option = "scratch-capacity", .argument = "QUANTITY",
     .help = "Maximum size of all volumes together, such as 400Gi; the "
             "default is all of scratchDir if that is a separate file system."},
    {"topology", SETTING_TEXT, AT(topology), .check = check_topology, .option = "topology",
     .argument = "TOPOLOGY",
     .help = "Makes a virtual node: an hwloc synthetic string or XML file in "
             "place of this machine's hardware. Processes are not bound."},
    {"devices", SETTING_BOOL, AT(devices), .option = "devices",
     .help = "Offer GPUs, network cards and NVMe disks."},
    {"deviceFiles", SETTING_PAIRS, AT(device_files), .check = device_files_check,
     .option = "device-files", .argument = "TYPE=GLOB",
     .help = "More devices, by their files: fpga=/dev/xdma* offers them as "
             "kiln.hpc/fpga; the option may be given again."},
    {"reserved.cpus", SETTING_TEXT, AT(reserved_cpus), .check = check_cpus,
     .option = "reserved-cpus", .argument = "LIST",
     .help = "CPUs reserved for the system, such as \"0,64\"."},
    {"reserved.memory", SETTING_TEXT, AT(reserved_memory), .check = check_memory,
     .option = "reserved-memory", .argument = "QUANTITY",
     .help = "Memory reserved for the system, such as 4Gi."},
    {"isolatedCpus", SETTING_CHOICE, AT(isolated_cpus), .initial = "leave",
     .choices = isolated_cpus, .option = "isolated-cpus", .argument = "WHAT",
     .help = "CPUs that were isolated when the kernel was started "
             "(isolcpus): do not use them, or offer them to jobs. The kernel "
             "does not move threads between such CPUs."},
    {"maxPods", SETTING_INT, AT(max_pods), .initial = "4096", .min = 1, .max = 1000000,
     .option = "max-pods", .argument = "N", .help = "Maximum number of pods."},
    {"pidsPerPod", SETTING_INT, AT(pids_per_pod), .initial = "0", .max = 4194304,
     .option = "pids-per-pod", .argument = "N",
     .help = "Maximum number of processes and threads of a pod; its "
             "annotation kiln.hpc/pids-limit may set a lower one. 0: a "
             "quarter of the machine's maximum (kernel.pid_max), at most "
             "32768."},
    {"defaultMemory", SETTING_TEXT, AT(default_memory), .check = check_memory,
     .option = "default-memory", .argument = "QUANTITY",
     .help = "Memory limit of pods that request no memory, such as 4Gi; the "
             "default is none."},
    {"heartbeat", SETTING_TIMESPAN, AT(heartbeat_us), .initial = "10s", .min = SECOND_US / 10,
     .max = 3600 * SECOND_US, .option = "heartbeat", .argument = "TIME",
     .help = "Interval of the node's heartbeats; at most a quarter of the "
             "controller's nodeGrace."},
    {"observe", SETTING_TIMESPAN, AT(observe_us), .initial = "30s", .max = 3600 * SECOND_US,
     .option = "observe", .argument = "TIME",
     .help = "Interval at which the agent checks where running pods are, for "
             "status.observed; 0s: never."},
    {"usageInterval", SETTING_TIMESPAN, AT(usage_interval_us), .initial = "15s",
     .max = 3600 * SECOND_US, .option = "usage-interval", .argument = "TIME",
     .help = "Interval at which the node reports the current usage of itself "
             "and its pods, for kctl top and kubectl top; 0s: never."},
    {"gpuLibrary", SETTING_TEXT, AT(gpu_library), .initial = "libnvidia-ml.so.1",
     .option = "gpu-library", .argument = "FILE",
     .help = "NVIDIA's library (NVML) that tells how busy GPUs are, for kctl "
             "top. It is loaded if this node has such GPUs and the library "
             "exists."},
    {"metricsFile", SETTING_TEXT, AT(metrics_file), .option = "metrics-file", .argument = "PATH",
     .help = "File to which the agent writes metrics about its work and its "
             "own usage every 15 s, for the textfile collector of "
             "Prometheus' node exporter."},
    {"allowRootJobs", SETTING_BOOL, AT(allow_root_jobs), .option = "allow-root-jobs",
     .help = "Run jobs of root."},
    {"minUid", SETTING_INT, AT(min_uid), .initial = "1000", .max = UINT32_MAX, .option = "min-uid",
     .argument = "UID", .help = "Run no jobs of users with lower uids."},
    {"cgroupBase", SETTING_TEXT, AT(cgroup_base), .check = check_path, .initial = "/kiln-jobs",
     .option = "cgroup-base", .argument = "PATH", .help = "The cgroup of all jobs."},
    {"cpuPartition", SETTING_CHOICE, AT(cpu_partition), .initial = "none",
     .choices = cpu_partitions, .option = "cpu-partition", .argument = "KIND",
     .help = "Makes the CPUs of each pod a cpuset partition (cgroup v2): root "
             "(a scheduling domain of its own) or isolated (without "
             "balancing). Needs reserved CPUs for the rest of the system."},
    {"shepherd", SETTING_TEXT, AT(shepherd), .check = check_program,
     .initial = LIBEXECDIR "/kiln/kiln-shepherd", .option = "shepherd", .argument = "PATH",
     .help = "The program that runs one pod."},
    {"reuseShepherds", SETTING_BOOL, AT(reuse_shepherds), .initial = "true",
     .option = "reuse-shepherds", .argument = "BOOL",
     .help = "Whether a shepherd that has finished its pod supervises another "
             "one, which may be another user's. With false each pod gets a new "
             "shepherd; a short job then costs its node about half as much CPU "
             "again."},
    {"prolog", SETTING_TEXT, AT(prolog), .check = check_program, .option = "prolog",
     .argument = "PROGRAM",
     .help = "Program to run before each job, as root. If it fails, the job "
             "does not run, and the node gets no more jobs until it is "
             "repaired."},
    {"epilog", SETTING_TEXT, AT(epilog), .check = check_program, .option = "epilog",
     .argument = "PROGRAM",
     .help = "Program to run after each job, as root, before its cores are "
             "free. If it fails, the node gets no more jobs until it is "
             "repaired."},
    {"taskProlog", SETTING_TEXT, AT(task_prolog), .check = check_program, .argument = "PROGRAM",
     .help = "Program to run in each task of a step (krun), as the job's user, "
             "before the user's program. Lines of its output that begin with "
             "export, unset and print change the task's variables and print."},
    {"prologEpilogTimeout", SETTING_TIMESPAN, AT(hook_timeout_us), .initial = "60s",
     .min = SECOND_US, .max = 86400 * SECOND_US, .option = "prolog-epilog-timeout",
     .argument = "TIME",
     .help = "Time limit of prolog and epilog; one that takes longer is "
             "killed and counts as failed."},
    {"healthCheck.program", SETTING_TEXT, AT(health_program), .check = check_program,
     .argument = "PROGRAM",
     .help = "Program that says by its exit status whether this node may take "
             "jobs. While it fails, the node gets none, and the last line that "
             "it printed is the reason."},
    {"healthCheck.interval", SETTING_TIMESPAN, AT(health_interval_us), .initial = "5m",
     .min = SECOND_US, .max = 86400 * SECOND_US, .argument = "TIME",
     .help = "Time from the end of a health check to the next one."},
    {"healthCheck.timeout", SETTING_TIMESPAN, AT(health_timeout_us), .initial = "60s",
     .min = SECOND_US, .max = 86400 * SECOND_US, .argument = "TIME",
     .help = "Time limit of a health check; one that takes longer is killed "
             "with its process group, and has failed."},
    {"shutdownGracePeriod", SETTING_TIMESPAN, AT(shutdown_grace_us), .initial = "30s", .min = 0,
     .max = 86400 * SECOND_US, .option = "shutdown-grace-period", .argument = "TIME",
     .help = "Time that jobs have between SIGTERM and SIGKILL when the node is "
             "shut down; the grace period of a pod may be shorter."},
    {"logLevel", SETTING_CHOICE, AT(log_level), .initial = "info", .choices = setting_log_levels,
     .option = "log-level", .argument = "LEVEL",
     .help = "How much to log: error, warning, info or debug."},
};

static const struct option_table options = {
    .name = "kiln-agent",
    .usage = "--controller URL [OPTION]...",
    .summary = "Runs the pods that are bound to this node: discovers its "
               "hardware, enrols the node, starts each pod on its allocated "
               "cores and reports how it ended. Started by an ordinary user "
               "it is rootless: it runs only that user's jobs.",
    .has_version = true,
};

static const struct setting_table table = {settings, ARRAY_SIZE(settings)};

/* Default directories of an agent without root: below the user's home. */
static const char *
home_path(struct arena *arena, const char *below)
{
    const char *home = getenv("HOME");

    return arena_printf(arena, "%s/%s", home != NULL ? home : "/tmp", below);
}

static void
fill_in(struct agent_settings *s)
{
    bool is_root = geteuid() == 0;

    if (s->state_dir == NULL)
        s->state_dir = is_root ? LOCALSTATEDIR "/lib/kiln-agent"
                               : home_path(s->arena, ".local/state/kiln-agent");
    if (s->run_dir == NULL)
        s->run_dir =
            is_root ? RUNSTATEDIR "/kiln-agent" : arena_printf(s->arena, "%s/run", s->state_dir);
}

/* The start refuses it, too. */
static int
check_start(void *target, struct strbuf *mistakes)
{
    const struct agent_settings *s = target;

    if (s->controller != NULL)
        return 0;
    strbuf_add_text(mistakes, "controller: is required: give the address of the API, such as "
                              "http://head:6820\n");
    return -EINVAL;
}

void
agent_settings_read(struct agent_settings *s, int argc, char **argv)
{
    const struct configuration configuration = {
        .options = &options,
        .settings = &table,
        .file = geteuid() == 0 ? SYSCONFDIR "/kiln/agent.yaml" : NULL,
        .check_start = check_start,
    };
    int operands;

    *s = (struct agent_settings){.arena = arena_new(0)};
    operands = configuration_begin(&configuration, argc, argv, s->arena, s);
    if (operands < argc)
        program_refuse(&options, "'%s' is not an option", argv[operands]);
    if (s->controller == NULL)
        program_refuse(&options, "--controller is required: give the address of the API");
    fill_in(s);
}

void
agent_settings_fini(struct agent_settings *s)
{
    arena_free(s->arena);
}
