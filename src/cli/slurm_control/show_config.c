/* SPDX-License-Identifier: Apache-2.0 */
/* show_config.c - scontrol show config: all keys of Slurm 22.05, in its order
 *
 * A key that Kiln has no setting for, or another one, is as Slurm prints one that is not set.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_time.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

struct config_row {
    const char *key, *value; /* NULL: of this cluster */
};

/* clang-format off */
static const struct config_row rows[] = {
    {"AccountingStorageBackupHost", "(null)"},
    {"AccountingStorageEnforce", "none"},
    {"AccountingStorageHost", "(null)"},
    {"AccountingStorageExternalHost", "(null)"},
    {"AccountingStorageParameters", "(null)"},
    {"AccountingStoragePort", "0"},
    {"AccountingStorageTRES", "cpu,mem,node,billing,fs/disk,gres/gpu"},
    {"AccountingStorageType", "accounting_storage/kiln"},
    {"AccountingStorageUser", "N/A"},
    {"AccountingStoreFlags", "job_comment,job_script"},
    {"AcctGatherEnergyType", "acct_gather_energy/none"},
    {"AcctGatherFilesystemType", "acct_gather_filesystem/none"},
    {"AcctGatherInterconnectType", "acct_gather_interconnect/none"},
    {"AcctGatherNodeFreq", "0 sec"},
    {"AcctGatherProfileType", "acct_gather_profile/none"},
    {"AllowSpecResourcesUsage", "No"},
    {"AuthAltTypes", "(null)"},
    {"AuthAltParameters", "(null)"},
    {"AuthInfo", "(null)"},
    {"AuthType", "auth/munge"},
    {"BatchStartTimeout", "0 sec"},
    {"BcastExclude", "(null)"},
    {"BcastParameters", "(null)"},
    {"BOOT_TIME", NULL},
    {"BurstBufferType", "(null)"},
    {"CliFilterPlugins", "(null)"},
    {"ClusterName", NULL},
    {"CommunicationParameters", "(null)"},
    {"CompleteWait", "0 sec"},
    {"CoreSpecPlugin", "core_spec/none"},
    {"CpuFreqDef", "Unknown"},
    {"CpuFreqGovernors", "(null)"},
    {"CredType", "cred/kiln"},
    {"DebugFlags", "(null)"},
    {"DefMemPerNode", "UNLIMITED"},
    {"DependencyParameters", "(null)"},
    {"DisableRootJobs", "No"},
    {"EioTimeout", "0"},
    {"EnforcePartLimits", "ALL"},
    {"Epilog", "(null)"},
    {"EpilogMsgTime", "0 usec"},
    {"EpilogSlurmctld", "(null)"},
    {"ExtSensorsType", "ext_sensors/none"},
    {"ExtSensorsFreq", "0 sec"},
    {"FederationParameters", "(null)"},
    {"FirstJobId", "1"},
    {"GetEnvTimeout", "0 sec"},
    {"GresTypes", "gpu"},
    {"GpuFreqDef", "(null)"},
    {"GroupUpdateForce", "0"},
    {"GroupUpdateTime", "0 sec"},
    {"HASH_VAL", "Match"},
    {"HealthCheckInterval", "0 sec"},
    {"HealthCheckNodeState", "ANY"},
    {"HealthCheckProgram", "(null)"},
    {"InactiveLimit", "0 sec"},
    {"InteractiveStepOptions", "(null)"},
    {"JobAcctGatherFrequency", "10"},
    {"JobAcctGatherType", "jobacct_gather/kiln"},
    {"JobAcctGatherParams", "(null)"},
    {"JobCompHost", "(null)"},
    {"JobCompLoc", "(null)"},
    {"JobCompPort", "0"},
    {"JobCompType", "jobcomp/none"},
    {"JobCompUser", "(null)"},
    {"JobContainerType", "job_container/none"},
    {"JobCredentialPrivateKey", "(null)"},
    {"JobCredentialPublicCertificate", "(null)"},
    {"JobDefaults", "(null)"},
    {"JobFileAppend", "0"},
    {"JobRequeue", "0"},
    {"JobSubmitPlugins", "(null)"},
    {"KillOnBadExit", "0"},
    {"KillWait", "30 sec"},
    {"LaunchParameters", "(null)"},
    {"LaunchType", "launch/kiln"},
    {"Licenses", "(null)"},
    {"LogTimeFormat", "(null)"},
    {"MailDomain", "(null)"},
    {"MailProg", "(null)"},
    {"MaxArraySize", NULL},
    {"MaxDBDMsgs", "0"},
    {"MaxJobCount", "UNLIMITED"},
    {"MaxJobId", "UNLIMITED"},
    {"MaxMemPerNode", "UNLIMITED"},
    {"MaxNodeCount", NULL},
    {"MaxStepCount", "UNLIMITED"},
    {"MaxTasksPerNode", "UNLIMITED"},
    {"MCSPlugin", "mcs/none"},
    {"MCSParameters", "(null)"},
    {"MessageTimeout", "10 sec"},
    {"MinJobAge", NULL},
    {"MpiDefault", "none"},
    {"MpiParams", "(null)"},
    {"MULTIPLE_SLURMD", "No"},
    {"NEXT_JOB_ID", NULL},
    {"NodeFeaturesPlugins", "(null)"},
    {"OverTimeLimit", "0 min"},
    {"PluginDir", "(null)"},
    {"PlugStackConfig", "(null)"},
    {"PowerParameters", "(null)"},
    {"PowerPlugin", ""},
    {"PreemptMode", "REQUEUE"},
    {"PreemptType", "preempt/partition_prio"},
    {"PreemptExemptTime", "00:00:00"},
    {"PrEpParameters", "(null)"},
    {"PrEpPlugins", "prep/kiln"},
    {"PriorityParameters", "(null)"},
    {"PrioritySiteFactorParameters", "(null)"},
    {"PrioritySiteFactorPlugin", "(null)"},
    {"PriorityType", "priority/basic"},
    {"PrivateData", "none"},
    {"ProctrackType", "proctrack/cgroup"},
    {"Prolog", "(null)"},
    {"PrologEpilogTimeout", "0"},
    {"PrologSlurmctld", "(null)"},
    {"PrologFlags", "Alloc,Contain"},
    {"PropagatePrioProcess", "0"},
    {"PropagateResourceLimits", "ALL"},
    {"PropagateResourceLimitsExcept", "(null)"},
    {"RebootProgram", "(null)"},
    {"ReconfigFlags", "(null)"},
    {"RequeueExit", "(null)"},
    {"RequeueExitHold", "(null)"},
    {"ResumeFailProgram", "(null)"},
    {"ResumeProgram", "(null)"},
    {"ResumeRate", "0 nodes/min"},
    {"ResumeTimeout", "0 sec"},
    {"ResvEpilog", "(null)"},
    {"ResvOverRun", "0 min"},
    {"ResvProlog", "(null)"},
    {"ReturnToService", "1"},
    {"RoutePlugin", "route/default"},
    {"SchedulerParameters", "(null)"},
    {"SchedulerTimeSlice", "0 sec"},
    {"SchedulerType", "sched/kiln"},
    {"ScronParameters", "(null)"},
    {"SelectType", "select/kiln"},
    {"SelectTypeParameters", "CR_CORE_MEMORY"},
    {"SlurmUser", "root(0)"},
    {"SlurmctldAddr", "(null)"},
    {"SlurmctldDebug", "(null)"},
    {"SlurmctldHost[0]", NULL},
    {"SlurmctldLogFile", "(null)"},
    {"SlurmctldPort", "0"},
    {"SlurmctldSyslogDebug", "(null)"},
    {"SlurmctldPrimaryOffProg", "(null)"},
    {"SlurmctldPrimaryOnProg", "(null)"},
    {"SlurmctldTimeout", "0 sec"},
    {"SlurmctldParameters", "(null)"},
    {"SlurmdDebug", "(null)"},
    {"SlurmdLogFile", "(null)"},
    {"SlurmdParameters", "(null)"},
    {"SlurmdPidFile", "(null)"},
    {"SlurmdPort", "0"},
    {"SlurmdSpoolDir", "(null)"},
    {"SlurmdSyslogDebug", "(null)"},
    {"SlurmdTimeout", "0 sec"},
    {"SlurmdUser", "root(0)"},
    {"SlurmSchedLogFile", "(null)"},
    {"SlurmSchedLogLevel", "0"},
    {"SlurmctldPidFile", "(null)"},
    {"SlurmctldPlugstack", "(null)"},
    {"SLURM_CONF", "(null)"},
    {"SLURM_VERSION", NULL},
    {"SrunEpilog", "(null)"},
    {"SrunPortRange", "0-0"},
    {"SrunProlog", "(null)"},
    {"StateSaveLocation", "(null)"},
    {"SuspendExcNodes", "(null)"},
    {"SuspendExcParts", "(null)"},
    {"SuspendProgram", "(null)"},
    {"SuspendRate", "0 nodes/min"},
    {"SuspendTime", "INFINITE"},
    {"SuspendTimeout", "0 sec"},
    {"SwitchParameters", "(null)"},
    {"SwitchType", "switch/none"},
    {"TaskEpilog", "(null)"},
    {"TaskPlugin", "task/kiln"},
    {"TaskPluginParam", "(null type)"},
    {"TaskProlog", "(null)"},
    {"TCPTimeout", "0 sec"},
    {"TmpFS", "/tmp"},
    {"TopologyParam", "(null)"},
    {"TopologyPlugin", NULL},
    {"TrackWCKey", "No"},
    {"TreeWidth", "0"},
    {"UsePam", "No"},
    {"UnkillableStepProgram", "(null)"},
    {"UnkillableStepTimeout", "0 sec"},
    {"VSizeFactor", "0 percent"},
    {"WaitTime", "0 sec"},
    {"X11Parameters", "(null)"},
};

static const struct config_row mpi_rows[] = {
    {"PMIxCliTmpDirBase", "(null)"},
    {"PMIxCollFence", "(null)"},
    {"PMIxDebug", "0"},
    {"PMIxDirectConn", "yes"},
    {"PMIxDirectConnEarly", "no"},
    {"PMIxDirectConnUCX", "no"},
    {"PMIxDirectSameArch", "no"},
    {"PMIxEnv", "(null)"},
    {"PMIxFenceBarrier", "no"},
    {"PMIxNetDevicesUCX", "(null)"},
    {"PMIxTimeout", "300"},
    {"PMIxTlsUCX", "(null)"},
};
/* clang-format on */

struct config {
    struct scontrol *control;
    const struct json *status; /* /kiln/v1/status */
    int64_t nodes;
};

static const char *
number(const struct config *c, int64_t n)
{
    return arena_printf(c->control->client->arena, "%" PRId64, n);
}

static const char *
boot_time(const struct config *c)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const int64_t uptime_s = json_get_int(json_get(c->status, "scheduling"), "uptimeSeconds", 0);

    slurm_time_add(clock_real_us(&clock_system) - uptime_s * SECOND_US, &text);
    return arena_strdup(c->control->client->arena, text.text);
}

static const char *
topology(const struct config *c)
{
    return json_count(json_get(json_get(c->status, "topology"), "levels")) > 0 ? "topology/tree"
                                                                               : "topology/none";
}

static const char *
value_of(const struct config *c, const char *key)
{
    if (strcmp(key, "BOOT_TIME") == 0)
        return boot_time(c);
    if (strcmp(key, "ClusterName") == 0)
        return slurm_cluster_name();
    if (strcmp(key, "MaxArraySize") == 0)
        return number(c, json_get_int(json_get(c->status, "limits"), "maximumArraySize", 0));
    if (strcmp(key, "MaxNodeCount") == 0)
        return number(c, c->nodes);
    if (strcmp(key, "MinJobAge") == 0)
        return arena_printf(c->control->client->arena, "%d sec", QUEUE_JOB_AGE_S);
    if (strcmp(key, "NEXT_JOB_ID") == 0)
        return number(c, json_get_int(c->status, "lastJobId", 0) + 1);
    if (strcmp(key, "SlurmctldHost[0]") == 0)
        return connection_server(c->control->client->kctl.connection);
    if (strcmp(key, "SLURM_VERSION") == 0)
        return SLURM_CLIENT_RELEASE;
    return topology(c);
}

static void
print_rows(const struct config *c, const struct config_row *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%-23s = %s\n", all[i].key,
               all[i].value != NULL ? all[i].value : value_of(c, all[i].key));
}

static int
count_nodes(struct config *c, struct error *err)
{
    struct json *answer = NULL;
    int r = kctl_ask(&c->control->client->kctl, "/api/v1/nodes?limit=1", c->control->client->arena,
                     &answer, err);

    c->nodes = json_count(json_get(answer, "items"))
               + json_get_int(json_get(answer, "metadata"), "remainingItemCount", 0);
    return r;
}

int
control_show_config(struct scontrol *control, UNUSED int n_words, UNUSED char **words)
{
    CLEANUP_STRBUF struct strbuf now = STRBUF_INIT;
    struct config c = {.control = control};
    struct json *answer = NULL;
    struct error err = {0};
    int r =
        kctl_ask(&control->client->kctl, "/kiln/v1/status", control->client->arena, &answer, &err);

    c.status = answer;
    if (r == 0)
        r = count_nodes(&c, &err);
    if (r < 0) {
        connection_advise(r, &err);
        fprintf(stderr, "slurm_load_ctl_conf error: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    slurm_time_add(clock_real_us(&clock_system), &now);
    printf("Configuration data as of %s\n", now.text);
    print_rows(&c, rows, ARRAY_SIZE(rows));
    puts("\nMPI Plugins Configuration:");
    print_rows(&c, mpi_rows, ARRAY_SIZE(mpi_rows));
    printf("\nKILN_VERSION            = %s\n"
           "\nSlurmctld(primary) at %s is UP\n",
           version_text(), connection_server(control->client->kctl.connection));
    return 0;
}
