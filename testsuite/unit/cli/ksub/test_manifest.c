/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/manifest.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"
#include "testsuite/lib/suite.h"

/* Removes the values that depend on this process and this machine. */
static void
forget_this_process(struct json *job)
{
    struct json *execution = json_get_path(job, "spec.template.spec.execution");

    ck_assert(json_remove(execution, "limits"));
    ck_assert(json_remove(execution, "umask"));
    ck_assert(json_remove(json_get(job, "spec"), "environment"));
}

static void
assert_manifest(const struct submission *s, const char *yaml)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    struct json *job;

    strbuf_add_text(&script, "#!/bin/sh\ntrue\n");
    job = manifest_make(s, &script, arena, &err);
    ck_assert_msg(job != NULL, "%s", err.text);
    forget_this_process(job);
    yaml_print(job, &text);
    ck_assert_str_eq(text.text, yaml);
}

START_TEST(a_submission_without_options_is_one_cpu_and_no_limit)
{
    assert_manifest(&(struct submission){.script_path = "/home/u/run.sh", .directory = "/home/u"},
                    "apiVersion: batch/v1\n"
                    "kind: Job\n"
                    "metadata:\n"
                    "  annotations:\n"
                    "    kiln.hpc/job-name: run.sh\n"
                    "  generateName: job-\n"
                    "  namespace: default\n"
                    "spec:\n"
                    "  backoffLimit: 0\n"
                    "  podReplacementPolicy: Failed\n"
                    "  script:\n"
                    "    text: |\n"
                    "      #!/bin/sh\n"
                    "      true\n"
                    "  template:\n"
                    "    metadata:\n"
                    "      annotations:\n"
                    "        kiln.hpc/job-name: run.sh\n"
                    "    spec:\n"
                    "      containers:\n"
                    "      - image: host\n"
                    "        name: main\n"
                    "        resources:\n"
                    "          limits:\n"
                    "            cpu: \"1\"\n"
                    "          requests:\n"
                    "            cpu: \"1\"\n"
                    "        workingDir: /home/u\n"
                    "      execution:\n"
                    "        stdoutPath: kiln-%j.out\n"
                    "      placement:\n"
                    "        cpuPolicy: exclusive\n"
                    "      restartPolicy: Never\n");
}
END_TEST

START_TEST(every_option_has_its_place_in_the_job)
{
    static char first[] = "a";
    static char second[] = "b c";
    char *const arguments[] = {first, second, NULL};
    struct submission s = {
        .script_path = "run.sh",
        .arguments = arguments,
        .job_name = "sim",
        .account = "physics",
        .comment = "a note",
        .priority_class = "urgent",
        .tasks = 4,
        .cpus_per_task = 2,
        .memory_per_cpu_bytes = INT64_C(512) << 20,
        .time_limit_s = 5400,
        .partition = "long",
        .nodes = "n7",
        .excluded = "n[1-2]",
        .constraint = "avx512&zone=east",
        .exclusive = true,
        .numa_policy = "single-numa-node",
        .memory_policy = "bind",
        .threads_per_core = 1,
        .cores_per_socket = 4,
        .gpus = 2,
        .gpu_type = "a100",
        .gpu_binding = "none",
        .hugepages = {{.page_bytes = 2 << 20, .bytes = INT64_C(1) << 30}},
        .n_hugepages = 1,
        .distribution = "pack",
        .hold = true,
        .begin_at_us = INT64_C(1795185000000000),
        .requeue = true,
        .has_signal = true,
        .signal = {.name = "USR1", .seconds_before = 120, .batch_only = true},
        .checkpoint_command = "kill -USR1 $(cat pid)",
        .directory = "/scratch",
        .input = "in",
        .output = "out-%j",
        .error = "err-%j",
        .open_mode = "append",
    };

    assert_manifest(&s, "apiVersion: batch/v1\n"
                        "kind: Job\n"
                        "metadata:\n"
                        "  annotations:\n"
                        "    kiln.hpc/comment: a note\n"
                        "    kiln.hpc/hold: \"true\"\n"
                        "    kiln.hpc/job-name: sim\n"
                        "  generateName: job-\n"
                        "  namespace: physics\n"
                        "spec:\n"
                        "  backoffLimit: 0\n"
                        "  beginTime: \"2026-11-20T14:30:00Z\"\n"
                        "  podReplacementPolicy: Failed\n"
                        "  requeue: true\n"
                        "  script:\n"
                        "    text: |\n"
                        "      #!/bin/sh\n"
                        "      true\n"
                        "  template:\n"
                        "    metadata:\n"
                        "      annotations:\n"
                        "        kiln.hpc/job-name: sim\n"
                        "        kiln.hpc/tasks: \"4\"\n"
                        "    spec:\n"
                        "      activeDeadlineSeconds: 5400\n"
                        "      affinity:\n"
                        "        nodeAffinity:\n"
                        "          requiredDuringSchedulingIgnoredDuringExecution:\n"
                        "            nodeSelectorTerms:\n"
                        "            - matchExpressions:\n"
                        "              - key: feature.kiln.hpc/avx512\n"
                        "                operator: Exists\n"
                        "              - key: zone\n"
                        "                operator: In\n"
                        "                values:\n"
                        "                - east\n"
                        "              matchFields:\n"
                        "              - key: metadata.name\n"
                        "                operator: In\n"
                        "                values:\n"
                        "                - n7\n"
                        "              - key: metadata.name\n"
                        "                operator: NotIn\n"
                        "                values:\n"
                        "                - n1\n"
                        "              - key: metadata.name\n"
                        "                operator: NotIn\n"
                        "                values:\n"
                        "                - n2\n"
                        "      containers:\n"
                        "      - args:\n"
                        "        - a\n"
                        "        - b c\n"
                        "        image: host\n"
                        "        name: main\n"
                        "        resources:\n"
                        "          limits:\n"
                        "            cpu: \"8\"\n"
                        "            hugepages-2Mi: 1Gi\n"
                        "            kiln.hpc/gpu: \"2\"\n"
                        "            memory: 4Gi\n"
                        "          requests:\n"
                        "            cpu: \"8\"\n"
                        "            hugepages-2Mi: 1Gi\n"
                        "            kiln.hpc/gpu: \"2\"\n"
                        "            memory: 4Gi\n"
                        "        workingDir: /scratch\n"
                        "      execution:\n"
                        "        checkpointCommand: kill -USR1 $(cat pid)\n"
                        "        openMode: append\n"
                        "        signal:\n"
                        "          batchOnly: true\n"
                        "          name: USR1\n"
                        "          secondsBefore: 120\n"
                        "        stderrPath: err-%j\n"
                        "        stdinPath: in\n"
                        "        stdoutPath: out-%j\n"
                        "      placement:\n"
                        "        coresPerSocket: 4\n"
                        "        cpuPolicy: exclusive\n"
                        "        distribution: pack\n"
                        "        gpuBinding: none\n"
                        "        gpuType: a100\n"
                        "        memoryPolicy: bind\n"
                        "        numaPolicy: single-numa-node\n"
                        "        partition: long\n"
                        "        threadsPerCore: 1\n"
                        "        wholeNode: true\n"
                        "      priorityClassName: urgent\n"
                        "      restartPolicy: Never\n");
}
END_TEST

START_TEST(an_array_is_one_job_whose_elements_fail_alone)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    struct submission s = {
        .array = {.text = "1-9:2%4", .length = 5, .throttle = 4},
        .array_fail_fast = true,
        .output = "%A_%3a",
        .is_slurms = true,
        .error = "%J",
    };
    const struct json *spec;

    strbuf_add_text(&script, "#!/bin/sh\n");
    spec = json_get(manifest_make(&s, &script, arena, NULL), "spec");

    ck_assert_str_eq(json_path_text(spec, "array.tasks"), "1-9:2");
    ck_assert_int_eq(json_get_int(json_get(spec, "array"), "throttle", 0), 4);
    ck_assert(json_is_true(json_get_path(spec, "array.failFast")));
    ck_assert_int_eq(json_get_int(spec, "backoffLimitPerIndex", -1), 0);
    ck_assert_ptr_null(json_get(spec, "backoffLimit"));
    ck_assert_str_eq(json_path_text(spec, "template.spec.execution.stdoutPath"), "%A_%3a");
    ck_assert_str_eq(json_path_text(spec, "template.spec.execution.stderrPath"), "%j");
}
END_TEST

static const char *
refusal_of(const struct submission *s, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;

    strbuf_add_text(&script, "#!/bin/sh\n");
    err->text[0] = '\0';
    ck_assert_ptr_null(manifest_make(s, &script, arena, err));
    ck_assert_int_lt(err->code, 0);
    return err->text;
}

START_TEST(a_submission_that_cannot_be_a_job_is_refused)
{
    static const struct {
        struct submission s;
        const char *words;
    } cases[] = {
        {{.nodes = "n[1-"}, "list of nodes"},
        {{.excluded = "n 1"}, "list of nodes"},
        {{.constraint = "a|(b&c"}, "list of features"},
        {{.constraint = "[a*2]"}, "some of the nodes"},
        {{.constraint = "a*2&b*1", .node_count = 2}, "some of the nodes"},
        {{.constraint = "[a|b]&c", .node_count = 2}, "the same feature"},
        {{.constraint = "a&"}, "list of features"},
        {{.constraint = "k=a b"}, "list of features"},
        {{.partition = "a,b c"}, "not a partition name"},
        {{.partition = ","}, "a name is missing"},
        {{.tasks = 1000000, .cpus_per_task = 1000000}, "more than any node"},
        {{.tasks = 1000000, .memory_per_cpu_bytes = INT64_C(1) << 60}, "--mem-per-cpu"},
        {{.job_name = "\xff"}, "not valid UTF-8"},
        {{.output = "out-%4a"}, "-a makes it one"},
        {{.array_fail_fast = true}, "-a makes it one"},
        {{.output = "\xc3"}, "not valid UTF-8"},
        {{.time_limit_s = 60, .has_signal = true, .signal = {.name = "USR1", .seconds_before = 60}},
         "has not begun"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};
        const char *text = refusal_of(&cases[i].s, &err);

        ck_assert_msg(strstr(text, cases[i].words) != NULL, "case %zu: %s", i, text);
    }
}
END_TEST

START_TEST(a_script_that_is_no_utf8_travels_as_base64)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    const struct submission s = {0};
    const struct json *job;

    strbuf_add_text(&script, "#!\xe9");
    job = manifest_make(&s, &script, arena, NULL);

    ck_assert_str_eq(json_path_text(job, "spec.script.data"), "IyHp");
    ck_assert_ptr_null(json_get_path(job, "spec.script.text"));
}
END_TEST

START_TEST(one_of_several_features_is_an_alternative_of_its_own)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    const struct submission s = {.constraint = "a|b", .partition = "x,y", .directory = "/"};
    const struct json *job = manifest_make(&s, &script, arena, NULL);
    const struct json *terms =
        json_get_path(job, "spec.template.spec.affinity.nodeAffinity."
                           "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");

    ck_assert_uint_eq(json_count(terms), 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct json *all = json_get(json_at(terms, i), "matchExpressions");

        ck_assert_uint_eq(json_count(all), 1);
        ck_assert_str_eq(json_get_text(json_at(all, 0), "key"),
                         i == 0 ? "feature.kiln.hpc/a" : "feature.kiln.hpc/b");
    }
    ck_assert_str_eq(json_path_text(job, "spec.template.spec.placement.partition"), "x,y");
}
END_TEST

START_TEST(each_of_several_nodes_is_an_alternative_of_every_feature)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    const struct submission s = {.constraint = "a|b",
                                 .nodes = "n[1-3]",
                                 .excluded = "m",
                                 .node_count = 3,
                                 .tasks = 3,
                                 .total_tasks = 7,
                                 .directory = "/"};
    const struct json *job = manifest_make(&s, &script, arena, NULL);
    const struct json *terms =
        json_get_path(job, "spec.template.spec.affinity.nodeAffinity."
                           "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");

    ck_assert_uint_eq(json_count(terms), 6);
    for (uint32_t i = 0; i < 6; i++) {
        const struct json *labels = json_get(json_at(terms, i), "matchExpressions");
        const struct json *fields = json_get(json_at(terms, i), "matchFields");
        const struct json *name = json_at(fields, 1);
        char expected[3] = {'n', (char)('1' + i % 3), '\0'};

        ck_assert_str_eq(json_get_text(json_at(labels, 0), "key"),
                         i < 3 ? "feature.kiln.hpc/a" : "feature.kiln.hpc/b");
        ck_assert_str_eq(json_get_text(json_at(fields, 0), "operator"), "NotIn");
        ck_assert_str_eq(json_get_text(name, "operator"), "In");
        ck_assert_str_eq(json_text(json_at(json_get(name, "values"), 0)), expected);
    }
    ck_assert_str_eq(json_get_text(json_get_path(job, "spec.template.metadata.annotations"),
                                   "kiln.hpc/total-tasks"),
                     "7");
}
END_TEST

START_TEST(no_limit_that_is_asked_for_is_not_none_asked_for)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    const struct submission s = {.is_unlimited = true, .directory = "/"};
    const struct json *job = manifest_make(&s, &script, arena, NULL);

    ck_assert_str_eq(
        json_get_text(json_get_path(job, "metadata.annotations"), "kiln.hpc/time-limit"), "none");
}
END_TEST

START_TEST(a_job_of_several_nodes_is_a_gang_of_indexes)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    const struct submission s = {
        .node_count = 4, .per_node = true, .directory = "/", .switches = 2, .switch_wait_s = 600};
    const struct json *spec = json_get(manifest_make(&s, &script, arena, NULL), "spec");

    ck_assert_str_eq(json_get_text(spec, "completionMode"), "Indexed");
    ck_assert_int_eq(json_get_int(spec, "completions", 0), 4);
    ck_assert_int_eq(json_get_int(spec, "parallelism", 0), 4);
    ck_assert_int_eq(json_get_int(spec, "backoffLimit", 9), 0);
    ck_assert_ptr_nonnull(json_get_path(spec, "scheduling.schedulingPolicy.gang"));
    ck_assert(json_is_true(json_get_path(spec, "scheduling.onePerNode")));
    ck_assert_ptr_nonnull(json_get_path(spec, "scheduling.disruptionMode.all"));
    ck_assert_int_eq(json_get_int(json_get_path(spec, "scheduling.switches"), "most", 0), 2);
    ck_assert_int_eq(json_get_int(json_get_path(spec, "scheduling.switches"), "waitSeconds", 0),
                     600);
    ck_assert_str_eq(json_path_text(spec, "template.spec.execution.runs"), "Each");
    ck_assert_ptr_null(json_get(spec, "successPolicy"));
    ck_assert_str_eq(json_path_text(spec, "template.spec.execution.stdoutPath"), "kiln-%j-%N.out");
}
END_TEST

START_TEST(a_script_of_several_nodes_runs_on_the_first)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    const struct submission s = {.node_count = 4, .output = "out", .directory = "/"};
    const struct json *spec = json_get(manifest_make(&s, &script, arena, NULL), "spec");
    const struct json *rules = json_get_path(spec, "successPolicy.rules");

    ck_assert_int_eq(json_get_int(spec, "parallelism", 0), 4);
    ck_assert_str_eq(json_path_text(spec, "template.spec.execution.runs"), "First");
    ck_assert_str_eq(json_path_text(spec, "template.spec.execution.stdoutPath"), "out");
    ck_assert_uint_eq(json_count(rules), 1);
    ck_assert_str_eq(json_get_text(json_at(rules, 0), "succeededIndexes"), "0");
}
END_TEST

/* Nodes that write one file make a mess of it. */
START_TEST(a_file_of_several_nodes_is_refused)
{
    static const struct {
        const char *output, *error, *words;
        bool is_slurms;
    } cases[] = {
        {"out", NULL, "'out': all nodes would write the same file", false},
        {"%j.out", NULL, "all nodes", false},
        {"%j-%%N", NULL, "all nodes", false},
        {"%N", "err", "'err': all nodes", false},
        {"%N-%n", NULL, "%N is the name of the node", true},
        {"%N", "%5t", "all nodes", false},
        {"%j-%10N", "/dev/null", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
        const struct submission s = {
            .node_count = 2,
            .per_node = true,
            .directory = "/",
            .output = cases[i].output,
            .error = cases[i].error,
            .is_slurms = cases[i].is_slurms,
        };
        struct error err = {0};
        const struct json *job = manifest_make(&s, &script, arena, &err);

        ck_assert_msg((job == NULL) == (cases[i].words != NULL), "case %zu", i);
        if (job == NULL)
            ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "case %zu: %s", i, err.text);
    }
}
END_TEST

SUITE("manifest", each_of_several_nodes_is_an_alternative_of_every_feature,
      a_submission_without_options_is_one_cpu_and_no_limit, every_option_has_its_place_in_the_job,
      an_array_is_one_job_whose_elements_fail_alone, a_submission_that_cannot_be_a_job_is_refused,
      a_script_that_is_no_utf8_travels_as_base64,
      one_of_several_features_is_an_alternative_of_its_own,
      no_limit_that_is_asked_for_is_not_none_asked_for, a_job_of_several_nodes_is_a_gang_of_indexes,
      a_script_of_several_nodes_runs_on_the_first, a_file_of_several_nodes_is_refused)
