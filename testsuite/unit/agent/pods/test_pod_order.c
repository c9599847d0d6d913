/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_order.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/shepherd/files/order.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define WHOLE_POD                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"                   \
    "\"name\":\"job-7-0\",\"namespace\":\"physics\",\"uid\":\"u1\","           \
    "\"annotations\":{\"kiln.hpc/job-id\":\"7\",\"kiln.hpc/user\":\"ann\","    \
    "\"batch.kubernetes.io/job-completion-index\":\"4\","                      \
    "\"kiln.hpc/script\":\"sha256:s\"},"                                       \
    "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","      \
    "\"name\":\"job-7\",\"uid\":\"j\",\"controller\":true}]},"                 \
    "\"spec\":{\"nodeName\":\"n1\",\"securityContext\":"                       \
    "{\"runAsUser\":1001,\"runAsGroup\":100},\"containers\":[{"                \
    "\"name\":\"main\",\"args\":[\"a b\",\"c\"],\"workingDir\":\"/home/ann\"," \
    "\"env\":[{\"name\":\"MODE\",\"value\":\"fast\"}],"                        \
    "\"resources\":{\"requests\":{\"memory\":\"2Gi\"}}}],"                     \
    "\"execution\":{\"stdoutPath\":\"out-%j\",\"umask\":\"0077\","             \
    "\"openMode\":\"append\","                                                 \
    "\"limits\":[{\"name\":\"nofile\",\"soft\":\"512\",\"hard\":\"1024\"}]}}," \
    "\"status\":{\"allocation\":{\"cpus\":\"2-3\",\"memoryNodes\":\"1\"}}}"

static struct topology_numa nodes[] = {{.os_index = 0}, {.os_index = 1}};
static struct topology here = {
    .pus = {{0xff}},
    .numa = nodes,
    .n_numa = 2,
};

static const struct agent_context agent = {
    .node = "n1",
    .topology = &here,
    .state_dir = "/s",
    .run_dir = "/r",
    .tmp_dir = "/t",
    .min_uid = 1000,
};

static const struct object *
parse(const char *text)
{
    const struct object *pod = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(&pod_kind, text, strlen(text), &pod, &err) == 0, "%s", err.text);
    return pod;
}

static const char *
variable(const struct order *o, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < o->environment.count; i++)
        if (strncmp(o->environment.items[i], name, n) == 0 && o->environment.items[i][n] == '=')
            return o->environment.items[i] + n + 1;
    return NULL;
}

START_TEST(an_order_says_all_that_the_pod_says)
{
    static const char environment[] = "HOME=/home/ann\0MODE=slow\0=odd";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *pod = parse(WHOLE_POD);
    struct pod_order_input in = {
        .agent = &agent,
        .topology = &here,
        .pod = pod,
        .script = "#!/bin/sh\n",
        .script_length = 10,
        .environment = environment,
        .environment_length = sizeof(environment),
    };
    struct order o;
    struct error err = {0};

    ck_assert_msg(pod_order_compose(&in, arena, &o, &err) == 0, "%s", err.text);

    ck_assert_int_eq(o.uid, 1001);
    ck_assert_int_eq(o.gid, 100);
    ck_assert_int_eq(o.umask, 077);
    ck_assert_int_eq(o.script_bytes, 10);
    ck_assert_str_eq(o.stdout_path, "/home/ann/out-7");
    ck_assert(o.append);
    ck_assert_str_eq(o.cpus, "2-3");
    ck_assert_str_eq(o.memory_nodes, "1");
    ck_assert_uint_eq(o.arguments.count, 2);
    ck_assert_str_eq(o.arguments.items[0], "a b");
    ck_assert_uint_eq(o.n_limits, 1);
    ck_assert_str_eq(variable(&o, "HOME"), "/home/ann");
    ck_assert_str_eq(variable(&o, "MODE"), "fast");
    ck_assert_str_eq(variable(&o, "KILN_JOB_ID"), "7");
    ck_assert_str_eq(variable(&o, "JOB_COMPLETION_INDEX"), "4");
    ck_assert_str_eq(variable(&o, "KILN_CPUS"), "2-3");
    ck_assert_str_eq(variable(&o, "KILN_MEM_MB"), "2048");
    ck_assert_ptr_null(variable(&o, "OMP_NUM_THREADS"));
    object_unref(pod);
}
END_TEST

/* Two NVIDIA GPUs, two of AMD, two of Intel and one of another vendor, in mixed
 * order. The last one of NVIDIA has no device file that could be hidden.
 */
static char names[][5] = {"gpu0", "gpu1", "nic0", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6"};
static char gpu[] = "gpu", nic[] = "nic", a100[] = "NVIDIA A100";
static char nvidia0[] = "/dev/nvidia0", dri[] = "/dev/dri/renderD128";
static struct topology_device gpus[] = {
    {.name = names[0], .type = gpu, .path = nvidia0},
    {.name = names[1], .type = gpu, .path = dri},
    {.name = names[2], .type = nic},
    {.name = names[3], .type = gpu, .model = a100},
    {.name = names[4], .type = gpu, .path = dri, .pci_vendor = 0x1002},
    {.name = names[5], .type = gpu, .path = dri, .pci_vendor = 0x8086},
    {.name = names[6], .type = gpu, .path = dri, .pci_vendor = 0x1af4},
    {.name = names[7], .type = gpu, .path = dri, .pci_vendor = 0x8086},
};
static struct topology gpu_topology = {
    .devices = gpus,
    .n_devices = ARRAY_SIZE(gpus),
};

#define PLACED_POD(devices, distribution, execution)                        \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"u\"},"     \
    "\"spec\":{\"securityContext\":{\"runAsUser\":1001},\"placement\":{"    \
    "\"distribution\":\"" distribution "\"},\"execution\":{" execution "}," \
    "\"containers\":[{\"name\":"                                            \
    "\"main\",\"command\":[\"true\"]}]},\"status\":{\"allocation\":{"       \
    "\"cpus\":\"2-3,8\",\"devices\":[" devices "]}}}"

/* A runtime counts what it can open, so numbers are those of the node only
 * where the other GPUs are not hidden.
 */
/* Only the first attempt truncates the output, unless the user asked otherwise. */
START_TEST(a_pod_that_pauses_runs_the_program_beside_the_shepherd)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *pod =
        parse("{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},\"spec\":{"
              "\"securityContext\":{\"runAsUser\":1001},\"containers\":[{\"name\":\"c\","
              "\"command\":[\"kiln-pause\"]}]}}");
    struct agent_context here_ = agent;
    struct pod_order_input in = {.agent = &here_, .topology = &here, .pod = pod};
    struct order o;

    here_.shepherd = "/usr/libexec/kiln/kiln-shepherd";
    ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
    ck_assert_uint_eq(o.arguments.count, 1);
    ck_assert_str_eq(o.arguments.items[0], "/usr/libexec/kiln/kiln-pause");
    object_unref(pod);
}
END_TEST

START_TEST(a_later_attempt_appends)
{
    static const struct {
        const char *mode, *attempt;
        bool appends;
    } cases[] = {
        {"", "0", false},
        {"", "1", true},
        {"\"openMode\":\"truncate\",", "1", false},
        {"\"openMode\":\"append\",", "0", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_FREE char *text = xasprintf(
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"job-7-0\","
            "\"namespace\":\"physics\",\"uid\":\"u1\",\"annotations\":{\"" ANNOTATION_ATTEMPT
            "\":\"%s\"}},\"spec\":{\"nodeName\":\"n1\",\"securityContext\":{\"runAsUser\":1001},"
            "\"containers\":[{\"name\":\"main\",\"command\":[\"/bin/true\"]}],\"execution\":{%s"
            "\"stdoutPath\":\"/out\"}},\"status\":{}}",
            cases[i].attempt, cases[i].mode);
        const struct object *pod = parse(text);
        struct pod_order_input in = {.agent = &agent, .topology = &here, .pod = pod};
        struct error err = {0};
        struct order o;

        ck_assert_msg(pod_order_compose(&in, arena, &o, &err) == 0, "%s", err.text);
        ck_assert(o.append == cases[i].appends);
        object_unref(pod);
    }
}
END_TEST

START_TEST(a_pod_sees_its_own_gpus_as_the_runtime_counts_them)
{
    static const struct {
        const char *pod;
        bool hides;
        const char *cuda, *rocr, *mask, *all;
    } rows[] = {
        {PLACED_POD("\"gpu2\"", "pack", ""), false, "1", "", "65535", "gpu2"},
        {PLACED_POD("\"gpu2\"", "pack", ""), true, "0", "", NULL, "gpu2"},
        {PLACED_POD("\"gpu0\",\"gpu1\",\"gpu2\"", "pack", ""), false, "0,1", "0", "65535",
         "gpu0,gpu1,gpu2"},
        {PLACED_POD("\"gpu0\"", "pack", ""), true, "0", "", NULL, "gpu0"},
        {PLACED_POD("\"gpu3\"", "pack", ""), false, "", "1", "65535", "gpu3"},
        {PLACED_POD("\"gpu3\"", "pack", ""), true, "", "0", NULL, "gpu3"},
        {PLACED_POD("\"gpu6\"", "pack", ""), false, "", "", "1", "gpu6"},
        {PLACED_POD("\"gpu6\"", "pack", ""), true, "", "", NULL, "gpu6"},
        {PLACED_POD("\"gpu4\",\"gpu6\"", "pack", ""), false, "", "", NULL, "gpu4,gpu6"},
        {PLACED_POD("\"nic0\"", "pack", ""), false, "", "", "65535", "nic0"},
        {PLACED_POD("", "pack", ""), false, "", "", "65535", NULL},
    };
    static const char environment[] = "CUDA_VISIBLE_DEVICES=0,1,2,3";

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(rows[i].pod);
        struct pod_order_input in = {
            .agent = &agent,
            .topology = &gpu_topology,
            .pod = pod,
            .environment = environment,
            .environment_length = sizeof(environment),
            .hides_devices = rows[i].hides,
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        ck_assert_str_eq(variable(&o, "CUDA_VISIBLE_DEVICES"), rows[i].cuda);
        ck_assert_str_eq(variable(&o, "ROCR_VISIBLE_DEVICES"), rows[i].rocr);
        ck_assert_pstr_eq(variable(&o, "ZE_AFFINITY_MASK"), rows[i].mask);
        ck_assert_pstr_eq(variable(&o, "ZE_FLAT_DEVICE_HIERARCHY"),
                          rows[i].mask != NULL ? "COMPOSITE" : NULL);
        ck_assert_str_eq(variable(&o, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
        ck_assert_pstr_eq(variable(&o, "KILN_DEVICES"), rows[i].all);
        object_unref(pod);
    }
}
END_TEST

#define SHARING_POD(cpu)                                                                 \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"u\"},\"spec\":{"        \
    "\"securityContext\":{\"runAsUser\":1001},\"placement\":{\"cpuPolicy\":\"shared\"}," \
    "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"],\"resources\":{"          \
    "\"requests\":{\"cpu\":\"" cpu "\"}}}]},\"status\":{}}"
#define BOUND "\"bindThreads\":true"

START_TEST(threads_are_counted_and_bound_only_on_request)
{
    static const struct {
        const char *pod, *environment, *threads, *places, *bind, *affinity;
    } rows[] = {
        {PLACED_POD("", "pack", ""), "A=1", NULL, NULL, NULL, NULL},
        {PLACED_POD("", "pack", ""), "KILN_NTASKS=3", NULL, NULL, NULL, NULL},
        {PLACED_POD("", "pack", ""), "KILN_CPUS_PER_TASK=3", "3", NULL, NULL, NULL},
        {PLACED_POD("", "pack", ""), "OMP_NUM_THREADS=9", "9", NULL, NULL, NULL},
        {SHARING_POD("500m"), "A=1", "1", NULL, NULL, NULL},
        {SHARING_POD("2500m"), "A=1", "3", NULL, NULL, NULL},
        {PLACED_POD("", "pack", BOUND), "A=1", NULL, "cores", "close", "2-3,8"},
        {PLACED_POD("", "scatter", BOUND), "A=1", NULL, "cores", "spread", "2-3,8"},
        {PLACED_POD("", "pack", BOUND), "KILN_NTASKS=1", NULL, "cores", "close", "2-3,8"},
        {PLACED_POD("", "pack", BOUND), "KILN_NTASKS=3", NULL, NULL, NULL, NULL},
        {PLACED_POD("", "pack", BOUND), "OMP_PLACES=threads", NULL, "threads", NULL, NULL},
        {PLACED_POD("", "pack", BOUND), "OMP_PROC_BIND=false", NULL, NULL, "false", NULL},
        {PLACED_POD("", "pack", BOUND), "GOMP_CPU_AFFINITY=3", NULL, NULL, NULL, "3"},
        {PLACED_POD("", "pack", BOUND), "KMP_AFFINITY=compact", NULL, NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(rows[i].pod);
        struct pod_order_input in = {
            .agent = &agent,
            .topology = &here,
            .pod = pod,
            .environment = rows[i].environment,
            .environment_length = strlen(rows[i].environment),
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        ck_assert_pstr_eq(variable(&o, "OMP_NUM_THREADS"), rows[i].threads);
        ck_assert_pstr_eq(variable(&o, "OMP_PLACES"), rows[i].places);
        ck_assert_pstr_eq(variable(&o, "OMP_PROC_BIND"), rows[i].bind);
        ck_assert_pstr_eq(variable(&o, "GOMP_CPU_AFFINITY"), rows[i].affinity);
        object_unref(pod);
    }
}
END_TEST

#define POD_OF(placement, selector)                                                      \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"u\",\"annotations\":{"  \
    "\"kiln.hpc/variables\":\"slurm\"}},\"spec\":{\"securityContext\":{"                 \
    "\"runAsUser\":1001},\"placement\":{" placement "},\"nodeSelector\":{" selector "}," \
    "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"]}]},\"status\":{}}"

START_TEST(the_partition_is_the_one_that_the_pod_runs_in)
{
    static const struct {
        const char *pod, *of_node, *partition;
    } rows[] = {
        {POD_OF("\"partition\":\"b\"", ""), "a", "b"},
        {POD_OF("\"partition\":\"b\"", ""), NULL, "b"},
        {POD_OF("\"partition\":\"a,b\"", ""), "b", "b"},
        {POD_OF("", "\"kiln.hpc/partition\":\"b\""), "b", "b"},
        {POD_OF("", ""), "b", "b"},
        {POD_OF("", ""), NULL, NULL},
    };
    static const char environment[] = "KILN_JOB_PARTITION=a,b";

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(rows[i].pod);
        bool is_known = rows[i].partition != NULL;
        struct pod_order_input in = {
            .agent = &agent,
            .topology = &here,
            .pod = pod,
            .environment = is_known ? environment : NULL,
            .environment_length = is_known ? sizeof(environment) : 0,
            .partition = rows[i].of_node,
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        ck_assert_pstr_eq(variable(&o, "KILN_JOB_PARTITION"), rows[i].partition);
        ck_assert_pstr_eq(variable(&o, "SLURM_JOB_PARTITION"), rows[i].partition);
        object_unref(pod);
    }
}
END_TEST

/* A pod that reserved no memory has none of its own on the node. */
START_TEST(memory_is_bound_where_it_was_reserved)
{
    static const struct {
        const char *placement, *memory, *policy;
    } rows[] = {
        {"", "[{\"node\":1,\"bytes\":\"1Gi\"}]", "bind"},
        {"", "[]", "preferred"},
        {"", "[{\"node\":1,\"bytes\":\"1Gi\",\"pageSize\":\"2Mi\"}]", "bind"},
        {"\"memoryPolicy\":\"bind\"", "[]", "bind"},
        {"\"memoryPolicy\":\"interleave\"", "[]", "interleave"},
        {"\"memoryPolicy\":\"preferred\"", "[{\"node\":1,\"bytes\":\"1Gi\"}]", "preferred"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod =
            parse(arena_printf(arena,
                               "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{"
                               "\"placement\":{%s},\"securityContext\":{"
                               "\"runAsUser\":1001},\"containers\":[{\"name\":"
                               "\"main\",\"command\":[\"true\"]}]},\"status\":{"
                               "\"allocation\":{\"cpus\":\"2\",\"memoryNodes\":\"1\","
                               "\"memory\":%s}}}",
                               rows[i].placement, rows[i].memory));
        struct pod_order_input in = {
            .agent = &agent,
            .topology = &here,
            .pod = pod,
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        ck_assert_str_eq(o.memory_nodes, "1");
        ck_assert_str_eq(o.memory_policy, rows[i].policy);
        ck_assert_int_eq(pod_is_memory_bound(pod_of(pod)),
                         strcmp(rows[i].policy, "preferred") != 0);
        object_unref(pod);
    }
}
END_TEST

START_TEST(a_virtual_node_binds_nothing)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *pod = parse(WHOLE_POD);
    struct agent_context given = agent;
    struct pod_order_input in = {
        .agent = &given,
        .topology = &here,
        .pod = pod,
        .script = "#!/bin/sh\n",
        .script_length = 10,
    };
    struct order o;

    given.is_virtual = true;
    ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);

    ck_assert_ptr_null(o.cpus);
    ck_assert_ptr_null(o.memory_nodes);
    ck_assert_ptr_null(variable(&o, "GOMP_CPU_AFFINITY"));
    object_unref(pod);
}
END_TEST

START_TEST(a_pod_that_needs_absent_resources_is_refused)
{
    const struct object *pod = parse(WHOLE_POD);
    struct topology shrunk = here;
    struct agent_context given = agent;
    struct error err = {0};

    given.topology = &shrunk;
    ck_assert_int_eq(pod_order_check(&given, pod, &err), 0);

    bitset_remove(&shrunk.pus, 3);
    ck_assert_int_eq(pod_order_check(&given, pod, &err), -ENODEV);
    ck_assert_str_eq(err.text, "it was given CPUs 3, which node 'n1' does not have");
    object_unref(pod);
}
END_TEST

START_TEST(a_script_without_an_interpreter_is_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct object *pod = parse(WHOLE_POD);
    struct pod_order_input in = {
        .agent = &agent,
        .topology = &here,
        .pod = pod,
        .script = "echo",
        .script_length = 4,
    };
    struct order o;
    struct error err = {0};

    ck_assert_int_lt(pod_order_compose(&in, arena, &o, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "#!"));
    object_unref(pod);
}
END_TEST

START_TEST(a_pod_that_must_not_run_here_is_refused)
{
    static const struct {
        const char *spec;
        const char *words;
    } cases[] = {
        {"\"containers\":[{\"name\":\"a\"}]", "name its user"},
        {"\"securityContext\":{\"runAsUser\":0},"
         "\"containers\":[{\"name\":\"a\"}]",
         "root"},
        {"\"securityContext\":{\"runAsUser\":33},"
         "\"containers\":[{\"name\":\"a\"}]",
         "below 1000"},
        {"\"securityContext\":{\"runAsUser\":1001},"
         "\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]",
         "one container"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const struct object *pod;
        struct error err = {0};

        strbuf_printf(&text,
                      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                      "{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},"
                      "\"spec\":{%s},\"status\":{}}",
                      cases[i].spec);
        pod = parse(text.text);
        ck_assert_int_lt(pod_order_check(&agent, pod, &err), 0);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s", err.text);
        object_unref(pod);
    }
}
END_TEST

/* Whoever runs the controller can write its store. */
START_TEST(the_user_that_runs_the_controller_has_no_jobs_here)
{
    const struct object *pod = parse(WHOLE_POD);
    struct agent_context careful = agent;
    struct error err = {0};

    careful.service_uid = 1002;
    ck_assert_int_eq(pod_order_check(&careful, pod, NULL), 0);
    careful.service_uid = 1001;
    ck_assert_int_eq(pod_order_check(&careful, pod, &err), -EPERM);
    ck_assert_msg(strstr(err.text, "runs the controller") != NULL, "%s", err.text);
    object_unref(pod);
}
END_TEST

START_TEST(a_rootless_agent_runs_its_own_users_pods_alone)
{
    const struct object *pod = parse(WHOLE_POD);
    struct agent_context rootless = agent;

    rootless.rootless = true;
    rootless.uid = 1001;
    ck_assert_int_eq(pod_order_check(&rootless, pod, NULL), 0);
    rootless.uid = 1002;
    ck_assert_int_lt(pod_order_check(&rootless, pod, NULL), 0);
    object_unref(pod);
}
END_TEST

static const char *
submitted(const char *environment, size_t length, const char *name)
{
    const size_t n = strlen(name);

    for (size_t at = 0; at < length; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, name, n) == 0 && environment[at + n] == '=')
            return environment + at + n + 1;
    return NULL;
}

/* Only with the annotation, because MPI libraries take the variables for the
 * presence of Slurm.
 */
/* The environment of a job that another job submitted has the folder. */
START_TEST(the_path_of_a_script_of_slurms_has_their_commands_once)
{
    static const struct {
        const char *submitted, *expected;
    } cases[] = {
        {"A=1", "/k/slurm:/usr/local/bin:/usr/bin:/bin"},
        {"PATH=/bin", "/k/slurm:/bin"},
        {"PATH=/k/slurm:/bin", "/k/slurm:/bin"},
        {"PATH=/k/slurms:/bin", "/k/slurm:/k/slurms:/bin"},
        {"PATH=", "/k/slurm:"},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *const whole = WHOLE_POD;
    const char *at = strstr(whole, "\"annotations\":{");
    struct agent_context named = agent;

    named.slurm_commands = "/k/slurm";
    strbuf_add(&text, whole, (size_t)(at - whole));
    strbuf_printf(&text, "\"annotations\":{\"kiln.hpc/variables\":\"slurm\",%s",
                  at + strlen("\"annotations\":{"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(text.text);
        struct pod_order_input in = {
            .agent = &named,
            .topology = &here,
            .pod = pod,
            .script = "#!/bin/sh\n",
            .script_length = 10,
            .environment = cases[i].submitted,
            .environment_length = strlen(cases[i].submitted) + 1,
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        ck_assert_pstr_eq(variable(&o, "PATH"), cases[i].expected);
        object_unref(pod);
    }
}
END_TEST

START_TEST(a_script_of_slurms_finds_its_variables)
{
    static const char environment[] =
        "KILN_NTASKS=2\0SLURM_NTASKS=2\0SLURM_NTASKS_PER_NODE=2\0"
        "KILN_CPUS_PER_TASK=1\0KILN_SUBMIT_DIR=/w\0"
        "KILN_SUBMIT_HOST=login\0KILN_JOB_PARTITION=a,b\0SLURM_JOB_ID=99\0"
        "PATH=/bin:/home/ann/bin";
    static const char annotation[] = "\"annotations\":{\"kiln.hpc/variables\":\"slurm\",";
    static const struct {
        const char *name, *value;
    } expected[] = {
        {"SLURM_JOB_ID", "7"},
        {"SLURM_JOBID", "7"},
        {"SLURM_JOB_NAME", "job-7"},
        {"SLURM_JOB_USER", "ann"},
        {"SLURM_JOB_UID", "1001"},
        {"SLURM_JOB_GID", "100"},
        {"SLURM_JOB_ACCOUNT", "physics"},
        {"SLURM_JOB_PARTITION", "b"},
        {"SLURM_CLUSTER_NAME", "c"},
        {"SLURM_SUBMIT_DIR", "/w"},
        {"SLURM_SUBMIT_HOST", "login"},
        {"SLURM_NTASKS", "2"},
        {"SLURM_NPROCS", "2"},
        {"SLURM_NTASKS_PER_NODE", "2"},
        {"SLURM_JOB_QOS", "normal"},
        {"SLURM_TASKS_PER_NODE", "2"},
        {"SLURM_CPUS_PER_TASK", "1"},
        {"SLURM_CPUS_ON_NODE", "2"},
        {"SLURM_JOB_CPUS_PER_NODE", "2"},
        {"SLURM_MEM_PER_NODE", "2048"},
        {"SLURM_JOB_NODELIST", "n1"},
        {"SLURM_NODELIST", "n1"},
        {"SLURMD_NODENAME", "n1"},
        {"SLURM_TOPOLOGY_ADDR", "n1"},
        {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
        {"SLURM_NNODES", "1"},
        {"SLURM_JOB_NUM_NODES", "1"},
        {"SLURM_NODEID", "0"},
        {"SLURM_PROCID", "0"},
        {"SLURM_LOCALID", "0"},
        {"OMPI_MCA_plm", "rsh"},
        {"PATH", "/usr/lib/kiln/slurm:/bin:/home/ann/bin"},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *const whole = WHOLE_POD;
    const char *at = strstr(whole, "\"annotations\":{");
    struct agent_context named = agent;

    named.cluster = "c";
    named.slurm_commands = "/usr/lib/kiln/slurm";
    strbuf_add(&text, whole, (size_t)(at - whole));
    strbuf_printf(&text, "%s%s", annotation, at + strlen("\"annotations\":{"));
    for (int with = 0; with < 2; with++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(with ? text.text : WHOLE_POD);
        struct pod_order_input in = {
            .agent = &named,
            .topology = &here,
            .pod = pod,
            .script = "#!/bin/sh\n",
            .script_length = 10,
            .environment = environment,
            .environment_length = sizeof(environment),
            .partition = "b",
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
            ck_assert_pstr_eq(variable(&o, expected[i].name),
                              with ? expected[i].value
                                   : submitted(environment, sizeof(environment), expected[i].name));
        object_unref(pod);
    }
}
END_TEST

/* The pod's index is 4. */
START_TEST(a_pod_of_several_nodes_knows_its_number_and_how_many_there_are)
{
    static const char environment[] =
        "KILN_NTASKS=2\0SLURM_NTASKS=2\0SLURM_NTASKS_PER_NODE=2\0KILN_JOB_NUM_NODES=6";
    static const char one[] = "KILN_NTASKS=2\0SLURM_NTASKS=2\0KILN_JOB_NUM_NODES=1";
    static const char annotations[] = "\"annotations\":{\"kiln.hpc/variables\":\"slurm\",";
    static const struct {
        const char *name, *of_six, *of_one;
    } expected[] = {
        {"KILN_JOB_NUM_NODES", "6", "1"},
        {"KILN_NODEID", "4", "0"},
        {"KILN_NTASKS", "12", "2"},
        {"KILN_NTASKS_PER_NODE", "2", NULL},
        {"SLURM_NNODES", "6", "1"},
        {"SLURM_JOB_NUM_NODES", "6", "1"},
        {"SLURM_NODEID", "4", "0"},
        {"SLURM_PROCID", "8", "0"},
        {"SLURM_LOCALID", "0", "0"},
        {"SLURM_NTASKS", "12", "2"},
        {"SLURM_NPROCS", "12", "2"},
        {"SLURM_NTASKS_PER_NODE", "2", NULL},
        {"SLURM_TASKS_PER_NODE", "2(x6)", "2"},
        {"SLURM_CPUS_ON_NODE", "2", "2"},
        {"SLURM_JOB_CPUS_PER_NODE", "2(x6)", "2"},
        {"SLURM_JOB_NODELIST", NULL, "n1"},
        {"SLURMD_NODENAME", "n1", "n1"},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *const whole = WHOLE_POD;
    const char *at = strstr(whole, "\"annotations\":{");

    strbuf_add(&text, whole, (size_t)(at - whole));
    strbuf_printf(&text, "%s%s", annotations, at + strlen("\"annotations\":{"));
    for (int is_one = 0; is_one < 2; is_one++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(text.text);
        struct pod_order_input in = {
            .agent = &agent,
            .topology = &here,
            .pod = pod,
            .script = "#!/bin/sh\n",
            .script_length = 10,
            .environment = is_one ? one : environment,
            .environment_length = is_one ? sizeof(one) : sizeof(environment),
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
            ck_assert_pstr_eq(variable(&o, expected[i].name),
                              is_one ? expected[i].of_one : expected[i].of_six);
        object_unref(pod);
    }
}
END_TEST

/* Of seven tasks, the first node of three has one more. */
START_TEST(a_pod_of_a_group_knows_the_nodes_of_the_others)
{
    static const char annotations[] =
        "\"annotations\":{\"kiln.hpc/variables\":\"slurm\",\"kiln.hpc/tasks\":\"3\","
        "\"kiln.hpc/total-tasks\":\"7\",\"kiln.hpc/topology\":\"b.1/r7\",";
    static const char submitted_text[] = "KILN_NTASKS=3\0KILN_JOB_NUM_NODES=3\0OMPI_MCA_plm=slurm";
    static const struct {
        const char *name, *value;
    } expected[] = {
        {"KILN_JOB_NODELIST", "a,n[1-2]"},
        {"KILN_NNODES", "3"},
        {"KILN_JOB_NUM_NODES", "3"},
        {"KILN_NODEID", "1"},
        {"KILN_NTASKS", "7"},
        {"KILN_NTASKS_PER_NODE", "2"},
        {"KILN_TASKS_PER_NODE", "3,2(x2)"},
        {"KILN_HOSTFILE", "/state/hosts"},
        {"SLURM_JOB_NODELIST", "a,n[1-2]"},
        {"SLURM_NODELIST", "a,n[1-2]"},
        {"SLURM_NNODES", "3"},
        {"SLURM_TOPOLOGY_ADDR", "b.1.r7.n1"},
        {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node"},
        {"SLURM_NODEID", "1"},
        {"SLURM_NTASKS", "7"},
        {"SLURM_TASKS_PER_NODE", "3,2(x2)"},
        {"SLURM_PROCID", "3"},
        {"OMPI_MCA_plm", "slurm"}, /* the user's own */
        {"OMPI_MCA_plm_rsh_agent", "/k/krsh"},
        {"OMPI_MCA_orte_default_hostfile", "/state/hosts"},
        {"OMPI_MCA_hwloc_base_binding_policy", NULL},
        {"HYDRA_LAUNCHER_EXEC", "/k/krsh"},
        {"HYDRA_HOST_FILE", "/state/hosts.mpich"},
        {"HYDRA_ENV", "none"},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct agent_context installed = agent;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *const whole = WHOLE_POD;
    const char *at = strstr(whole, "\"annotations\":{");
    const struct object *pod;
    struct order o;

    installed.krsh = "/k/krsh";
    strbuf_add(&text, whole, (size_t)(at - whole));
    strbuf_printf(&text, "%s%s", annotations, at + strlen("\"annotations\":{"));
    pod = parse(text.text);
    ck_assert_int_eq(
        pod_order_compose(&(struct pod_order_input){.agent = &installed,
                                                    .topology = &here,
                                                    .pod = pod,
                                                    .script = "#!/bin/sh\n",
                                                    .script_length = 10,
                                                    .nodes = "a,n[1-2]",
                                                    .hostfile = "/state/hosts",
                                                    .environment = submitted_text,
                                                    .environment_length = sizeof(submitted_text)},
                          arena, &o, NULL),
        0);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        ck_assert_pstr_eq(variable(&o, expected[i].name), expected[i].value);
    object_unref(pod);
}
END_TEST

/* Memory by CPU excludes memory by node; a program takes SLURM_NTASKS for srun. */
START_TEST(an_option_that_was_not_given_has_no_variable)
{
    static const struct {
        const char *pod;
        char environment[64];
        const char *tasks, *cpus, *memory;
    } rows[] = {
        {POD_OF("", ""), "KILN_NTASKS=1", NULL, NULL, NULL},
        {POD_OF("", ""), "KILN_NTASKS=1\0SLURM_NTASKS=1", "1", NULL, NULL},
        {POD_OF("", ""), "KILN_NTASKS=1\0KILN_CPUS_PER_TASK=2\0", NULL, "2", NULL},
        {POD_OF("", ""), "KILN_MEM_MB=2\0KILN_NTASKS=1\0", NULL, NULL, "2"},
        {POD_OF("", ""), "KILN_MEM_MB=2\0KILN_MEM_PER_CPU_MB=1", NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct object *pod = parse(rows[i].pod);
        struct pod_order_input in = {
            .agent = &agent,
            .topology = &here,
            .pod = pod,
            .environment = rows[i].environment,
            .environment_length = sizeof(rows[i].environment),
        };
        struct order o;

        ck_assert_int_eq(pod_order_compose(&in, arena, &o, NULL), 0);
        ck_assert_pstr_eq(variable(&o, "SLURM_NTASKS"), rows[i].tasks);
        ck_assert_pstr_eq(variable(&o, "SLURM_NPROCS"), rows[i].tasks);
        ck_assert_pstr_eq(variable(&o, "SLURM_CPUS_PER_TASK"), rows[i].cpus);
        ck_assert_pstr_eq(variable(&o, "SLURM_MEM_PER_NODE"), rows[i].memory);
        ck_assert_ptr_null(variable(&o, "SLURM_GPUS"));
        ck_assert_ptr_null(variable(&o, "SLURM_NTASKS_PER_NODE"));
        object_unref(pod);
    }
}
END_TEST

START_TEST(the_blobs_of_the_owning_job_are_asked_for)
{
    const struct object *pod = parse(WHOLE_POD);
    struct pod_order_needs needs;

    pod_order_find_needs(pod, &needs);

    ck_assert_str_eq(needs.job, "job-7");
    ck_assert_str_eq(needs.script, "sha256:s");
    ck_assert_ptr_null(needs.environment);
    object_unref(pod);
}
END_TEST

SUITE("pod_order", an_order_says_all_that_the_pod_says, a_later_attempt_appends,
      a_pod_that_pauses_runs_the_program_beside_the_shepherd,
      a_pod_sees_its_own_gpus_as_the_runtime_counts_them,
      threads_are_counted_and_bound_only_on_request, the_partition_is_the_one_that_the_pod_runs_in,
      an_option_that_was_not_given_has_no_variable, memory_is_bound_where_it_was_reserved,
      a_virtual_node_binds_nothing, a_script_without_an_interpreter_is_refused,
      a_pod_that_needs_absent_resources_is_refused, a_pod_that_must_not_run_here_is_refused,
      the_user_that_runs_the_controller_has_no_jobs_here,
      a_rootless_agent_runs_its_own_users_pods_alone, a_script_of_slurms_finds_its_variables,
      the_path_of_a_script_of_slurms_has_their_commands_once,
      a_pod_of_a_group_knows_the_nodes_of_the_others,
      a_pod_of_several_nodes_knows_its_number_and_how_many_there_are,
      the_blobs_of_the_owning_job_are_asked_for)
