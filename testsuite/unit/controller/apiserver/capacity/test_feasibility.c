/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/capacity/feasibility.h"

#include <check.h>
#include <string.h>

#include "controller/apiserver/capacity/node_classes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

#define SMALL                 "\"packages\":[\"0-3\"],\"cores\":[\"0\",\"1\",\"2\",\"3\"],\"cpus\":\"0-3\""
#define NUMA(n, cpus, memory) "{\"node\":" n ",\"cpus\":\"" cpus "\",\"memory\":\"" memory "\"}"

struct cluster {
    struct arena *arena;
    struct node_classes *classes;
    struct map *objects; /* partitions and reservations */
};

static void
cluster_init(struct cluster *c)
{
    c->arena = arena_new(0);
    c->classes = node_classes_new();
    c->objects = map_new();
}

static void
cluster_fini(struct cluster *c)
{
    size_t at = 0;
    void *value;

    while (map_next(c->objects, &at, NULL, &value))
        object_unref(value);
    map_free(c->objects);
    node_classes_free(c->classes);
    arena_free(c->arena);
}

static struct json *
parse(struct cluster *c, const char *text)
{
    struct json *tree = json_parse(c->arena, text, strlen(text), NULL, NULL);

    ck_assert_msg(tree != NULL, "%s", text);
    return tree;
}

static const struct object *
make(struct cluster *c, const struct kind *kind, const char *text)
{
    struct json *tree = parse(c, text);

    ck_assert_int_eq(record_normalize(kind->record, c->arena, tree, NULL, NULL), 0);
    return object_new(kind, tree);
}

/* A node with labels, amounts beside the pods, and a topology; the last two may
 * be NULL.
 */
static const struct object *
node(struct cluster *c, const char *name, const char *labels, const char *has, const char *topology)
{
    return make(c, &node_kind,
                arena_printf(c->arena,
                             "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
                             "\"%s\",\"labels\":{\"kubernetes.io/hostname\":\"%s\"%s%s}},"
                             "\"status\":{\"allocatable\":{%s}%s%s}}",
                             name, name, labels[0] != '\0' ? "," : "", labels,
                             has != NULL ? has : "", topology != NULL ? ",\"topology\":" : "",
                             topology != NULL ? topology : ""));
}

static void
join(struct cluster *c, const char *name, const char *labels, const char *has, const char *topology)
{
    CLEANUP(object_unrefp) const struct object *object = node(c, name, labels, has, topology);

    node_classes_moved(c->classes, NULL, object);
}

static void
add(struct cluster *c, const struct kind *kind, const char *name, const char *spec)
{
    const struct object *object =
        make(c, kind,
             arena_printf(c->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":%s}", name, spec));

    map_put(c->objects, arena_printf(c->arena, "%s/%s", kind->name, name),
            (void *)(uintptr_t)object);
}

static const struct object *
find(void *owner, const char *kind, const char *name)
{
    struct cluster *c = owner;

    return map_find(c->objects, arena_printf(c->arena, "%s/%s", kind, name));
}

/* For so many pods at the same time, all with one value of the label `key` (NULL: of any).
 * "": they could run.
 */
static const char *
judge_in_part(struct cluster *c, unsigned together, bool is_one_per_node, const char *requests,
              const char *more, const char *key)
{
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;
    struct pod_spec spec = {.scheduler_name = NULL};
    struct json *tree = parse(
        c, arena_printf(c->arena,
                        "{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{%s}}}]"
                        "%s%s}",
                        requests, more[0] != '\0' ? "," : "", more));

    ck_assert_int_eq(record_normalize(&pod_spec_record, c->arena, tree, NULL, NULL), 0);
    record_decode(&pod_spec_record, c->arena, tree, &spec);
    ck_assert_int_eq(
        feasibility_judge(&(struct feasibility_question){.nodes = c->classes,
                                                         .spec = &spec,
                                                         .find = find,
                                                         .owner = c,
                                                         .together = together,
                                                         .is_one_per_node = is_one_per_node,
                                                         .topology_key = key},
                          &why),
        why.length == 0);
    return arena_strdup(c->arena, why.text != NULL ? why.text : "");
}

static const char *
judge_together(struct cluster *c, unsigned together, bool is_one_per_node, const char *requests,
               const char *more)
{
    return judge_in_part(c, together, is_one_per_node, requests, more, NULL);
}

/* "": it could run. */
static const char *
judge(struct cluster *c, const char *requests, const char *more)
{
    return judge_together(c, 0, false, requests, more);
}

#define TERM(x)                                                                           \
    "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":" \
    "{\"nodeSelectorTerms\":[{" x "}]}}}"
#define NAMED(op, name) \
    "{\"key\":\"metadata.name\",\"operator\":\"" op "\",\"values\":[\"" name "\"]}"

static unsigned
count_classes(const struct cluster *c)
{
    unsigned n = 0;

    while (node_classes_at(c->classes, n) != NULL)
        n++;
    return n;
}

/* ---- Classes ---- */

START_TEST(nodes_of_one_kind_are_one_class)
{
    struct cluster c;

    cluster_init(&c);
    for (int i = 0; i < 2000; i++)
        join(&c, arena_printf(c.arena, "n%d", i), "\"zone\":\"a\"",
             arena_printf(c.arena, "\"cpu\":\"64\",\"memory\":\"%dKi\"", 200000000 + i), NULL);

    ck_assert_uint_eq(node_classes_nodes(c.classes), 2000);
    ck_assert_uint_eq(count_classes(&c), 1);
    ck_assert_str_eq(judge(&c, "\"memory\":\"200001999Ki\"", ""), "");
    ck_assert_str_eq(judge(&c, "\"memory\":\"200002000Ki\"", ""),
                     "no node has 200002000 KiB of memory; the nearest, n0, has 200001999 KiB of "
                     "memory");
    cluster_fini(&c);
}
END_TEST

START_TEST(a_node_changes_its_class_with_what_it_has_and_not_with_its_state)
{
    struct cluster c;
    const struct object *before, *after;

    cluster_init(&c);
    join(&c, "n1", "", "\"cpu\":\"4\"", NULL);
    before = node(&c, "n2", "", "\"cpu\":\"4\"", NULL);
    after = node(&c, "n2", "", "\"cpu\":\"8\"", NULL);
    node_classes_moved(c.classes, NULL, before);
    ck_assert_uint_eq(count_classes(&c), 1);
    ck_assert_str_ne(judge(&c, "\"cpu\":\"8\"", ""), "");
    node_classes_moved(c.classes, before, after);
    ck_assert_uint_eq(count_classes(&c), 2);
    ck_assert_str_eq(judge(&c, "\"cpu\":\"8\"", ""), "");
    node_classes_moved(c.classes, after, before); /* rolled back */
    ck_assert_uint_eq(count_classes(&c), 1);
    ck_assert_str_ne(judge(&c, "\"cpu\":\"8\"", ""), "");
    node_classes_moved(c.classes, before, NULL);
    ck_assert_uint_eq(node_classes_nodes(c.classes), 1);
    object_unref(before);
    object_unref(after);
    cluster_fini(&c);
}
END_TEST

START_TEST(with_too_many_classes_nothing_is_called_impossible)
{
    struct cluster c;

    cluster_init(&c);
    for (unsigned i = 0; i < NODE_CLASSES_MOST; i++)
        join(&c, arena_printf(c.arena, "n%u", i), arena_printf(c.arena, "\"rack\":\"%u\"", i),
             "\"cpu\":\"4\"", NULL);
    ck_assert_str_ne(judge(&c, "\"cpu\":\"8\"", ""), "");
    join(&c, "more", "\"rack\":\"more\"", "\"cpu\":\"4\"", NULL);
    ck_assert(!node_classes_are_complete(c.classes));
    ck_assert_str_eq(judge(&c, "\"cpu\":\"8\"", ""), "");
    cluster_fini(&c);
}
END_TEST

/* ---- Jobs ---- */

START_TEST(nothing_is_impossible_without_nodes_or_while_one_is_unknown)
{
    struct cluster c;

    cluster_init(&c);
    ck_assert_str_eq(judge(&c, "\"cpu\":\"1000\"", ""), "");
    join(&c, "n1", "", "\"cpu\":\"4\"", NULL);
    ck_assert_str_eq(judge(&c, "\"cpu\":\"1000\"", "\"schedulerName\":\"other\""), "");
    ck_assert_str_ne(judge(&c, "\"cpu\":\"1000\"", "\"schedulerName\":\"default-scheduler\""), "");
    join(&c, "new", "", NULL, NULL);
    ck_assert_str_eq(judge(&c, "\"cpu\":\"1000\"", ""), "");
    cluster_fini(&c);
}
END_TEST

/* A user could keep others from being told, with a large node or a new one. */
START_TEST(the_node_of_a_user_is_for_that_users_pods)
{
    static const char *const of_alice =
        "\"kiln.hpc/rootless\":\"1000\"},\"annotations\":{\"kiln.hpc/uid\":\"1000\"";
    static const char *const alice = "\"securityContext\":{\"runAsUser\":1000}";
    static const char *const bob = "\"securityContext\":{\"runAsUser\":1001}";
    struct cluster c;

    cluster_init(&c);
    join(&c, "n1", "", "\"cpu\":\"4\"", NULL);
    join(&c, "n2-alice", of_alice, "\"cpu\":\"1000\"", NULL);
    ck_assert_str_eq(judge(&c, "\"cpu\":\"1000\"", alice), "");
    ck_assert_ptr_nonnull(strstr(judge(&c, "\"cpu\":\"1000\"", bob), "n1"));
    join(&c, "n3-alice", of_alice, NULL, NULL);
    ck_assert_str_ne(judge(&c, "\"cpu\":\"1000\"", bob), "");
    cluster_fini(&c);
}
END_TEST

static void
add_two_nodes(struct cluster *c)
{
    join(c, "n1", "", "\"cpu\":\"4\",\"memory\":\"64Gi\"",
         "{\"version\":1," SMALL
         ",\"numaNodes\":[" NUMA("0", "0-1", "32Gi") "," NUMA("1", "2-3", "32Gi") "]}");
    join(c, "g1", "\"feature.kiln.hpc/avx512\":\"\",\"zone\":\"east\"",
         "\"cpu\":\"2\",\"memory\":\"1Ti\",\"kiln.hpc/gpu\":\"2\"",
         "{\"version\":1,\"packages\":[\"0-1\"],\"cpus\":\"0-1\",\"numaNodes\":[" NUMA(
             "0", "0-1", "1Ti") "],\"devices\":[{\"name\":\"gpu0\",\"type\":\"gpu\",\"model\":"
                                "\"NVIDIA A100\",\"node\":0},{\"name\":\"gpu1\",\"type\":\"gpu\","
                                "\"model\":\"NVIDIA A100\",\"node\":0}]}");
    add(c, &partition_kind, "all", "{}");
    add(c, &partition_kind, "gpu", "{\"selector\":{\"matchLabels\":{\"zone\":\"east\"}}}");
    add(c, &partition_kind, "one",
        "{\"selector\":{\"matchLabels\":{\"kubernetes.io/hostname\":\"n1\"}}}");
    add(c, &partition_kind, "empty", "{\"selector\":{\"matchLabels\":{\"zone\":\"west\"}}}");
    add(c, &reservation_kind, "mine", "{\"nodes\":[\"n1\"]}");
}

START_TEST(the_reason_has_the_nearest_that_could)
{
    static const struct {
        const char *requests, *more, *why;
    } jobs[] = {
        {"\"cpu\":\"4\"", "", ""},
        {"\"cpu\":\"2\",\"kiln.hpc/gpu\":\"2\"", "", ""},
        {"\"cpu\":\"40\"", "", "no node has 40 CPUs; the nearest, n1, has 4 CPUs"},
        {"\"memory\":\"2Ti\"", "",
         "no node has 2 TiB of memory; the nearest, g1, has 1 TiB of memory"},
        {"\"kiln.hpc/gpu\":\"3\"", "", "no node has 3 gpus; the nearest, g1, has 2 gpus"},
        {"\"example.com/fpga\":\"1\"", "",
         "no node has 1 example.com/fpga; the nearest, g1, has none"},
        {"\"cpu\":\"4\",\"memory\":\"500Gi\"", "",
         "no node has 4 CPUs and 500 GiB of memory together; the nearest, g1, has 2 CPUs and 1 TiB "
         "of memory"},
        {"\"cpu\":\"3\"",
         "\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":"
         "\"single-numa-node\"}",
         "no node has 3 CPUs on whole cores in one NUMA node; the nearest, n1, has 4 CPUs, at most "
         "2 in one NUMA node, of the 3 needed"},
        {"\"cpu\":\"3\"",
         "\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":\"single-numa-node\"}," TERM(
             "\"matchFields\":[" NAMED("In", "n1") "]"),
         "node n1 does not have 3 CPUs on whole cores in one NUMA node; it has 4 CPUs, at most 2 in "
         "one NUMA node, of the 3 needed"},
        {"\"kiln.hpc/gpu\":\"1\"", "\"placement\":{\"gpuType\":\"a100\"}", ""},
        {"\"kiln.hpc/gpu\":\"1\"", "\"placement\":{\"gpuType\":\"h100\"}",
         "no node has 1 gpu (h100); there are: NVIDIA A100"},
        {"\"cpu\":\"1\"", "\"placement\":{\"partition\":\"one\"}", ""},
        {"\"cpu\":\"4\"", "\"placement\":{\"partition\":\"gpu\"}",
         "no node of partition gpu has 4 CPUs; the nearest, g1, has 2 CPUs"},
        {"\"cpu\":\"4\"", "\"placement\":{\"partition\":\"gpu,one\"}", ""},
        {"\"kiln.hpc/gpu\":\"1\"", "\"placement\":{\"partition\":\"one\"}",
         "no node of partition one has 1 gpu; the nearest, n1, has none"},
        {"\"cpu\":\"1\"", "\"placement\":{\"partition\":\"empty\"}",
         "partition empty has no nodes"},
        {"\"cpu\":\"1\"", "\"placement\":{\"partition\":\"unknown\"}", ""},
        {"\"cpu\":\"4\"", "\"placement\":{\"partition\":\"all\",\"reservation\":\"mine\"}", ""},
        {"\"kiln.hpc/gpu\":\"1\"", "\"placement\":{\"reservation\":\"mine\"}",
         "no node has 1 gpu; the nearest, n1, has none"},
        {"\"cpu\":\"1\"", TERM("\"matchFields\":[" NAMED("In", "n1") "]"), ""},
        {"\"cpu\":\"1\"", TERM("\"matchFields\":[" NAMED("In", "n9") "]"),
         "there is no node n9; did you mean n1?"},
        {"\"cpu\":\"8\"", TERM("\"matchFields\":[" NAMED("In", "n1") "]"),
         "node n1 does not have 8 CPUs; it has 4 CPUs"},
        {"\"cpu\":\"1\"", TERM("\"matchFields\":[" NAMED("In", "n1") "," NAMED("NotIn", "n1") "]"),
         "node n1 is asked for and also excluded"},
        {"\"cpu\":\"1\"", TERM("\"matchFields\":[" NAMED("NotIn", "n1") "]"), ""},
        {"\"cpu\":\"4\"", TERM("\"matchFields\":[" NAMED("NotIn", "n1") "]"),
         "no node that is not excluded has 4 CPUs; the nearest, g1, has 2 CPUs"},
        {"\"cpu\":\"1\"",
         TERM("\"matchFields\":[" NAMED("NotIn", "n1") "," NAMED("NotIn", "g1") "]"),
         "every node is excluded"},
        {"\"cpu\":\"1\"",
         TERM("\"matchFields\":[" NAMED("In", "n1") "]") ",\"placement\":{\"partition\":\"gpu\"}",
         "node n1 is not in partition gpu"},
        {"\"cpu\":\"1\"",
         TERM("\"matchExpressions\":[{\"key\":\"feature.kiln.hpc/avx521\",\"operator\":"
              "\"Exists\"}]"),
         "no node has feature avx521; did you mean avx512?"},
        {"\"cpu\":\"1\"",
         TERM("\"matchExpressions\":[{\"key\":\"feature.kiln.hpc/typo\",\"operator\":"
              "\"Exists\"}]"),
         "no node has feature typo; there are: avx512"},
        {"\"cpu\":\"4\"",
         TERM("\"matchExpressions\":[{\"key\":\"feature.kiln.hpc/avx512\",\"operator\":"
              "\"Exists\"}]"),
         "no node with feature avx512 has 4 CPUs; the nearest, g1, has 2 CPUs"},
        {"\"cpu\":\"1\"", "\"nodeSelector\":{\"zone\":\"eats\"}",
         "no node has zone=eats; did you mean east?"},
        {"\"cpu\":\"1\"", "\"nodeSelector\":{\"kubernetes.io/hostname\":\"g1\"}", ""},
        {"\"cpu\":\"1\"",
         TERM("\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]},{"
              "\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"Exists\"}]"),
         "no node has a or b"},
    };
    struct cluster c;

    cluster_init(&c);
    add_two_nodes(&c);
    for (unsigned i = 0; i < ARRAY_SIZE(jobs); i++)
        ck_assert_str_eq(judge(&c, jobs[i].requests, jobs[i].more), jobs[i].why);
    cluster_fini(&c);
}
END_TEST

/* The label's values are the nodes' names, which tell nodes of one class apart.
 */
START_TEST(a_label_with_the_name_of_a_node_finds_that_node)
{
    struct cluster c;

    cluster_init(&c);
    for (int i = 0; i < 10; i++)
        join(&c, arena_printf(c.arena, "n%d", i), arena_printf(c.arena, "\"who\":\"n%d\"", i),
             "\"cpu\":\"4\"", NULL);

    ck_assert_uint_eq(count_classes(&c), 1);
    for (int i = 0; i < 10; i++)
        ck_assert_str_eq(judge(&c, "\"cpu\":\"1\"",
                               arena_printf(c.arena, "\"nodeSelector\":{\"who\":\"n%d\"}", i)),
                         "");
    ck_assert_str_ne(judge(&c, "\"cpu\":\"1\"", "\"nodeSelector\":{\"who\":\"n10\"}"), "");
    cluster_fini(&c);
}
END_TEST

/* They would be compared with every class. */
START_TEST(a_question_with_very_many_labels_has_no_answer)
{
    CLEANUP_STRBUF struct strbuf labels = STRBUF_INIT;
    struct cluster c;

    cluster_init(&c);
    join(&c, "n1", "\"rack\":\"1\"", "\"cpu\":\"4\"", NULL);
    for (unsigned i = 0; i < FEASIBILITY_NAMES_MOST; i++)
        strbuf_printf(&labels, "%s{\"key\":\"rack\",\"operator\":\"Exists\"}", i > 0 ? "," : "");

    ck_assert_str_ne(judge(&c, "\"cpu\":\"8\"",
                           arena_printf(c.arena, TERM("\"matchExpressions\":[%s]"), labels.text)),
                     "");
    strbuf_add_text(&labels, ",{\"key\":\"rack\",\"operator\":\"Exists\"}");
    ck_assert_str_eq(judge(&c, "\"cpu\":\"8\"",
                           arena_printf(c.arena, TERM("\"matchExpressions\":[%s]"), labels.text)),
                     "");
    cluster_fini(&c);
}
END_TEST

START_TEST(pods_that_are_placed_together_need_so_much_room_at_a_time)
{
    static const struct {
        unsigned together;
        bool is_one_per_node;
        const char *cpus, *more, *why;
    } jobs[] = {
        {0, true, "2", "", ""},
        {1, true, "2", "", ""},
        {11, true, "2", "", ""},
        {12, true, "2", "",
         "it needs 12 nodes at the same time, and the cluster has 11 that could run it"},
        {10, true, "3", "", ""},
        {11, true, "3", "",
         "it needs 11 nodes at the same time, and the cluster has 10 that could run it"},
        {21, false, "2", "", ""},
        {22, false, "2", "",
         "it needs room for 22 pods at the same time, and the cluster has room for 21 on 11 nodes"},
        {11, false, "4", "",
         "it needs 11 nodes at the same time, and the cluster has 10 that could run it"},
        {2, false, "5", "", "no node has 5 CPUs; the nearest, n0, has 4 CPUs"},
        {2, true, "2",
         TERM("\"matchExpressions\":[{\"key\":\"kubernetes.io/hostname\","
              "\"operator\":\"In\",\"values\":[\"n1\",\"n2\"]}]"),
         ""},
        {3, true, "2",
         TERM("\"matchExpressions\":[{\"key\":\"kubernetes.io/hostname\","
              "\"operator\":\"In\",\"values\":[\"n1\",\"n2\"]}]"),
         "it needs 3 nodes at the same time, and the cluster has 2 that could run it"},
        {10, true, "2", TERM("\"matchFields\":[" NAMED("NotIn", "n7") "]"), ""},
        {11, true, "2", TERM("\"matchFields\":[" NAMED("NotIn", "n7") "]"),
         "it needs 11 nodes at the same time, and the cluster has 10 that could run it"},
        {2, true, "2", "\"placement\":{\"partition\":\"small\"}",
         "it needs 2 nodes at the same time, and partition small has 1 that could run it"},
        {3, true, "2", "\"placement\":{\"reservation\":\"mine\"}",
         "it needs 3 nodes at the same time, and reservation mine has 2 that could run it"},
        {2, false, "1", "\"placement\":{\"partition\":\"small\",\"wholeNode\":true}",
         "it needs 2 nodes at the same time, and partition small has 1 that could run it"},
    };
    struct cluster c;

    cluster_init(&c);
    for (int i = 0; i < 10; i++)
        join(&c, arena_printf(c.arena, "n%d", i), "", "\"cpu\":\"4\"", NULL);
    join(&c, "s1", "\"zone\":\"small\"", "\"cpu\":\"2\"", NULL);
    add(&c, &partition_kind, "small", "{\"selector\":{\"matchLabels\":{\"zone\":\"small\"}}}");
    add(&c, &reservation_kind, "mine", "{\"nodes\":[\"n1\",\"s1\"]}");
    for (unsigned i = 0; i < ARRAY_SIZE(jobs); i++)
        ck_assert_str_eq(judge_together(&c, jobs[i].together, jobs[i].is_one_per_node,
                                        arena_printf(c.arena, "\"cpu\":\"%s\"", jobs[i].cpus),
                                        jobs[i].more),
                         jobs[i].why);
    cluster_fini(&c);
}
END_TEST

START_TEST(pods_that_must_be_in_one_part_need_one_that_is_large_enough)
{
    static const struct {
        unsigned together;
        bool is_one_per_node;
        const char *cpus, *key, *why;
    } jobs[] = {
        {3, true, "2", "rack", ""},
        {4, true, "2", "rack",
         "it needs 4 nodes at the same time, and the cluster has at most 3 with the same value of "
         "the label 'rack'"},
        {3, true, "4", "rack",
         "it needs 3 nodes at the same time, and the cluster has at most 2 with the same value of "
         "the label 'rack'"},
        {4, false, "2", "rack", ""},
        {5, false, "2", "rack",
         "it needs room for 5 pods at the same time, and the cluster has at most 4 with the same "
         "value of the label 'rack'"},
        {2, false, "2", "kubernetes.io/hostname", ""},
        {3, false, "2", "kubernetes.io/hostname",
         "it needs room for 3 pods at the same time, and the cluster has at most 2 with the same "
         "value of the label 'kubernetes.io/hostname'"},
        {2, true, "2", "block",
         "it needs 2 nodes at the same time, and the cluster has at most 0 with the same value of "
         "the label 'block'"},
        {2, true, "5", "rack", "no node has 5 CPUs; the nearest, a1, has 4 CPUs"},
    };
    struct cluster c;

    cluster_init(&c);
    join(&c, "a1", "\"rack\":\"a\"", "\"cpu\":\"4\"", NULL);
    join(&c, "a2", "\"rack\":\"a\"", "\"cpu\":\"4\"", NULL);
    join(&c, "b1", "\"rack\":\"b\"", "\"cpu\":\"2\"", NULL);
    join(&c, "b2", "\"rack\":\"b\",\"x\":\"y\"", "\"cpu\":\"4\"", NULL);
    join(&c, "b3", "\"rack\":\"b\"", "\"cpu\":\"2\"", NULL);
    for (unsigned i = 0; i < 9; i++)
        join(&c, arena_printf(c.arena, "n%u", i), "", "\"cpu\":\"4\"", NULL);
    for (unsigned i = 0; i < ARRAY_SIZE(jobs); i++)
        ck_assert_str_eq(judge_in_part(&c, jobs[i].together, jobs[i].is_one_per_node,
                                       arena_printf(c.arena, "\"cpu\":\"%s\"", jobs[i].cpus), "",
                                       jobs[i].key),
                         jobs[i].why);
    cluster_fini(&c);
}
END_TEST

SUITE("feasibility", pods_that_must_be_in_one_part_need_one_that_is_large_enough,
      pods_that_are_placed_together_need_so_much_room_at_a_time, nodes_of_one_kind_are_one_class,
      a_node_changes_its_class_with_what_it_has_and_not_with_its_state,
      with_too_many_classes_nothing_is_called_impossible,
      nothing_is_impossible_without_nodes_or_while_one_is_unknown,
      the_node_of_a_user_is_for_that_users_pods, the_reason_has_the_nearest_that_could,
      a_label_with_the_name_of_a_node_finds_that_node,
      a_question_with_very_many_labels_has_no_answer)
