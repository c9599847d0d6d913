/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/kube_configuration.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/scheduler/config/kube_extender.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/framework/profile.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define HEAD                                       \
    "apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "kind: KubeSchedulerConfiguration\n"

/* Reads the text as the file f of the working directory, whose name begins the
 * mistakes.
 */
static int
read_text(const char *text, struct kube_configuration **ret_configuration, struct strbuf *mistakes)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();

    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(file_write_atomic("f", 0600, text, strlen(text), NULL), 0);
    return kube_configuration_read("f", ret_configuration, mistakes);
}

static struct kube_configuration *
read_good(const char *text)
{
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct kube_configuration *c = NULL;

    ck_assert_msg(read_text(text, &c, &mistakes) == 0, "%s", mistakes.text);
    return c;
}

static const struct profile_settings *
first_profile(const struct kube_configuration *c)
{
    unsigned count;

    return &kube_configuration_profiles(c, &count)[0];
}

/* The plugins of an extension point in their order, separated by spaces. */
static char *
order_of(const struct profile_settings *p, enum point point)
{
    struct strbuf s = STRBUF_INIT;

    for (unsigned i = 0; i < p->orders[point].count; i++)
        strbuf_printf(&s, "%s%s", i > 0 ? " " : "",
                      p->plugins[p->orders[point].items[i]].plugin->name);
    return strbuf_take(&s);
}

static int64_t
weight_of(const struct profile_settings *p, const char *name)
{
    for (unsigned i = 0; i < p->n_plugins; i++)
        if (strcmp(p->plugins[i].plugin->name, name) == 0)
            return p->plugins[i].weight;
    return -1;
}

static void
want_order(const struct profile_settings *p, enum point point, const char *is)
{
    char *order = order_of(p, point);

    ck_assert_str_eq(order, is);
    free(order);
}

START_TEST(without_a_file_there_is_kilns_profile_and_all_nodes_are_looked_at)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c = NULL;
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct kube_numbers n;
    unsigned count;

    ck_assert_int_eq(kube_configuration_read(NULL, &c, &mistakes), 0);
    n = kube_configuration_numbers(c);

    ck_assert_str_eq(kube_configuration_profiles(c, &count)->scheduler_name, "default-scheduler");
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(first_profile(c)->percentage_of_nodes, 100);
    ck_assert_int_eq(n.initial_backoff_us, 1000000);
    ck_assert_int_eq(n.max_backoff_us, 10000000);
    ck_assert_int_eq(n.lease_us, 15000000);
    want_order(first_profile(c), POINT_SCORE,
               "TaintToleration NodeAffinity NodeResourcesFit NumaFit "
               "PodTopologySpread InterPodAffinity "
               "NodeResourcesBalancedAllocation ImageLocality");
    ck_assert_int_eq(weight_of(first_profile(c), "TaintToleration"), 3);
    ck_assert_str_eq(kube_configuration_warnings(c), "");
}
END_TEST

START_TEST(a_plugin_enabled_at_a_point_goes_first_and_has_its_own_weight)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c =
        read_good(HEAD "profiles:\n"
                       "- plugins:\n"
                       "    multiPoint:\n"
                       "      enabled: [{name: ImageLocality, weight: 7}]\n"
                       "      disabled: [{name: NumaFit}]\n"
                       "    score:\n"
                       "      enabled: [{name: InterPodAffinity, weight: 9}]\n"
                       "      disabled: [{name: PodTopologySpread}]\n"
                       "    filter:\n"
                       "      enabled: [{name: NodePorts}, {name: NodeName}]\n");
    const struct profile_settings *p = first_profile(c);

    want_order(p, POINT_SCORE,
               "InterPodAffinity TaintToleration NodeAffinity "
               "NodeResourcesFit NodeResourcesBalancedAllocation "
               "ImageLocality");
    want_order(p, POINT_FILTER,
               "NodePorts NodeName Partition ExclusiveUser Reservation "
               "NodeUnschedulable TaintToleration NodeAffinity "
               "NodeResourcesFit "
               "VolumeRestrictions "
               "NodeVolumeLimits VolumeBinding VolumeZone "
               "PodTopologySpread InterPodAffinity ReservedNodes Backfill");
    ck_assert_int_eq(weight_of(p, "InterPodAffinity"), 9);
    ck_assert_int_eq(weight_of(p, "ImageLocality"), 7);
}
END_TEST

START_TEST(a_star_disables_all_that_is_not_enabled)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c =
        read_good(HEAD "profiles:\n"
                       "- schedulerName: bare\n"
                       "  plugins:\n"
                       "    multiPoint:\n"
                       "      enabled: [{name: PrioritySort}, {name: DefaultBinder}]\n"
                       "      disabled: [{name: '*'}]\n"
                       "    filter:\n"
                       "      enabled: [{name: NodeUnschedulable}]\n");
    const struct profile_settings *p = first_profile(c);

    ck_assert_uint_eq(p->n_plugins, 3);
    want_order(p, POINT_FILTER, "NodeUnschedulable");
    want_order(p, POINT_SCORE, "");
    want_order(p, POINT_BIND, "DefaultBinder");
}
END_TEST

START_TEST(a_written_configuration_reads_back_as_the_same)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c =
        read_good(HEAD "podMaxBackoffSeconds: 20\n"
                       "percentageOfNodesToScore: 0\n"
                       "leaderElection: {leaderElect: false}\n"
                       "profiles:\n"
                       "- plugins:\n"
                       "    multiPoint: {disabled: [{name: NumaFit}]}\n"
                       "  pluginConfig:\n"
                       "  - name: NodeResourcesFit\n"
                       "    args:\n"
                       "      apiVersion: kubescheduler.config.k8s.io/v1\n"
                       "      kind: NodeResourcesFitArgs\n"
                       "      scoringStrategy: {type: MostAllocated}\n"
                       "- schedulerName: other\n");
    CLEANUP_STRBUF struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    CLEANUP(kube_configuration_freep) struct kube_configuration *again = NULL;

    kube_configuration_print(c, &once);
    again = read_good(once.text);
    kube_configuration_print(again, &twice);

    ck_assert_str_eq(once.text, twice.text);
    ck_assert_ptr_nonnull(strstr(once.text, "type: MostAllocated"));
    ck_assert_uint_eq(first_profile(again)->percentage_of_nodes, 0);
    ck_assert(!kube_configuration_numbers(again).is_electing);
}
END_TEST

START_TEST(a_setting_without_effect_is_reported)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c =
        read_good(HEAD "parallelism: 32\n"
                       "clientConnection: {kubeconfig: /etc/x, qps: 50, burst: 100}\n");

    ck_assert_ptr_nonnull(strstr(kube_configuration_warnings(c), "parallelism has no effect"));
    ck_assert_ptr_nonnull(strstr(kube_configuration_warnings(c), "clientConnection has no"));
}
END_TEST

static const struct {
    const char *text;
    const char *says;
} bad[] = {
    {"[]", "f: not an object"},
    {"a: [", "f: "},
    {"kind: KubeSchedulerConfiguration\n", "f: apiVersion: must be"},
    {"apiVersion: kubescheduler.config.k8s.io/v1beta3\n"
     "kind: KubeSchedulerConfiguration\n",
     "f: apiVersion: must be \"kubescheduler.config.k8s.io/v1\""},
    {HEAD "paralellism: 3\n", "f: paralellism: unknown field"},
    {HEAD "parallelism: 3\nparallelism: 4\n", "parallelism"},
    {HEAD "parallelism: many\n", "parallelism"},
    {HEAD "extenders: [{filterVerb: f}]\n", "f: extenders[0].urlPrefix: \"\" is not a URL"},
    {HEAD "extenders: [{urlPrefix: 'ftp://x/y', filterVerb: f}]\n",
     "f: extenders[0].urlPrefix: \"ftp://x/y\" is not a URL"},
    {HEAD "extenders: [{urlPrefix: 'http://x:99999', filterVerb: f}]\n", "a port from 1 to 65535"},
    {HEAD "extenders: [{urlPrefix: 'https://x', tlsConfig: {caFile: "
          "/nonexistent}}]\n",
     "f: extenders[0].tlsConfig: caFile: "},
    {HEAD "extenders: [{urlPrefix: 'https://x', tlsConfig: {certFile: "
          "/nonexistent}}]\n",
     "f: extenders[0].tlsConfig: a certificate requires its key, and a key its certificate"},
    {HEAD "extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]\n",
     "f: extenders[0].weight: 0: must have a positive weight"},
    {HEAD "extenders: [{urlPrefix: 'http://x', filterVerb: 'a b'}]\n",
     "f: extenders[0].filterVerb: \"a b\" is not valid at the end"},
    {HEAD "extenders: [{urlPrefix: 'http://x', httpTimeout: 5}]\n", "httpTimeout"},
    {HEAD "extenders: [{urlPrefix: 'http://x', httpTimeout: 5m5}]\n",
     "f: extenders[0].httpTimeout: \"5m5\" is not a duration"},
    {HEAD "extenders: [{urlPrefix: 'http://x', bindVerb: b},\n"
          "            {urlPrefix: 'http://y', bindVerb: b}]\n",
     "f: extenders: found 2 extenders implementing bind"},
    {HEAD "extenders: [{urlPrefix: 'http://x', filterVerb: f,\n"
          "             managedResources: [{name: cpu}]}]\n",
     "managedResources[0].name: \"cpu\" is an invalid extended resource"},
    {HEAD "extenders: [{urlPrefix: 'http://x', filterVerb: f,\n"
          "             managedResources: [{name: a.b/c}]},\n"
          "            {urlPrefix: 'http://y', filterVerb: f,\n"
          "             managedResources: [{name: a.b/c}]}]\n",
     "extenders[1].managedResources[0].name: \"a.b/c\": duplicate"},
    {HEAD "parallelism: 0\n", "f: parallelism: 0 is not between 1 and"},
    {HEAD "percentageOfNodesToScore: 101\n", "percentageOfNodesToScore: 101"},
    {HEAD "podInitialBackoffSeconds: 0\n", "podInitialBackoffSeconds: 0"},
    {HEAD "podMaxBackoffSeconds: 1\npodInitialBackoffSeconds: 2\n",
     "podMaxBackoffSeconds: must not be below"},
    {HEAD "leaderElection: {leaseDuration: 5s}\n", "leaderElection.leaseDuration: must be longer"},
    {HEAD "leaderElection: {retryPeriod: 10s}\n", "leaderElection.renewDeadline: must be longer"},
    {HEAD "leaderElection: {retryPeriod: soon}\n", "is not a duration"},
    {HEAD "profiles: [{schedulerName: a}, {schedulerName: a}]\n",
     "profiles[1].schedulerName: another profile"},
    {HEAD "profiles: [{plugins: {score: {enabled: [{name: NumaFitt}]}}}]\n",
     "profiles[0].plugins.score.enabled[0]: there is no plugin \"NumaFitt\" "
     "(did you mean \"NumaFit\"?)"},
    {HEAD "profiles: [{plugins: {multiPoint: {enabled: [{weight: 3}, {name: "
          "NodeName}]}}}]\n",
     "profiles[0].plugins.multiPoint.enabled[0].name: is required"},
    {HEAD "profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]\n",
     "NodeName does not have that extension point"},
    {HEAD "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: "
          "NodeName}]}}}]\n",
     "\"NodeName\" is listed twice"},
    {HEAD "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]\n",
     "exactly one plugin must order the queue, not 0"},
    {HEAD "profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]\n",
     "at least one plugin must bind"},
    {HEAD "profiles: [{plugins: {preFilter: {disabled: [{name: NodePorts}]}}}]"
          "\n",
     "plugin 'NodePorts' cannot take part in filter without preFilter"},
    {HEAD "profiles: [{pluginConfig: [{name: NodeName, args: {a: 1}}]}]\n",
     "NodeName takes no arguments"},
    {HEAD "profiles: [{pluginConfig: [{name: InterPodAffinity, args: "
          "{hardPodAffinityWeight: 101}}]}]\n",
     "hardPodAffinityWeight: 101 is not between 0 and 100"},
    {HEAD "profiles: [{pluginConfig: [{name: InterPodAffinity, args: "
          "{hardPodAfinityWeight: 1}}]}]\n",
     "pluginConfig[0].args.hardPodAfinityWeight: unknown field"},
    {HEAD "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {kind: "
          "NodeAffinityArgs}}]}]\n",
     "not kubescheduler.config.k8s.io/v1 InterPodAffinityArgs"},
    {HEAD "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: "
          "{scoringStrategy: {type: Foo}}}]}]\n",
     "scoringStrategy.type: \"Foo\" is not one of"},
    {HEAD "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: "
          "{scoringStrategy: {type: RequestedToCapacityRatio}}}]}]\n",
     "shape needs 1 to"},
    {HEAD "profiles: [{pluginConfig: [{name: PodTopologySpread, args: "
          "{defaultConstraints: [{maxSkew: 1, topologyKey: a, "
          "whenUnsatisfiable: DoNotSchedule}]}}]}]\n",
     "defaultConstraints need defaultingType: List"},
    {HEAD "profiles: [{pluginConfig: [{name: DefaultPreemption, args: "
          "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]"
          "\n",
     "one of them must not be 0"},
    {HEAD "profiles: [{pluginConfig: [{name: Backfill, args: "
          "{reservations: 0}}]}]\n",
     "profiles[0].pluginConfig[Backfill].args.reservations: 0 is not between "
     "1 and 1000"},
    {HEAD "profiles: [{schedulerName: ''}]\n", "f: profiles[0].schedulerName: is empty"},
    {HEAD "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, "
          "weight: -1}]}}}]\n",
     "f: profiles[0].plugins.score.enabled[0].weight: is below 0"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Foo}]}]}}}}]}]\n",
     "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}}]}]\n",
     "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt, values: [x]}]}]}}}}]}]\n",
     "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: a term has a value"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.namespace, operator: In, values: [b]}]}]}}}}]}]\n",
     "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Lt, values: [x]}]}}]}}}]}]\n",
     "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: a term has a value"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, preference: {}}]}}}]}]\n",
     "profiles[0].pluginConfig[NodeAffinity].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: ['a b']}}]}]\n",
     "profiles[0].pluginConfig[NodeResourcesFit].args.ignoredResources[0]: \"a b\": "},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: [a.b/c]}}]}]\n",
     "profiles[0].pluginConfig[NodeResourcesFit].args.ignoredResourceGroups[0]: \"a.b/c\": resource group name can't contain '/'"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {resources: [{name: cpu, weight: 101}]}}}]}]\n",
     "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.resources[0].weight: 101 is not between 1 and 100"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, score: 1}, {utilization: 50, score: 2}]}}}}]}]\n",
     "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.requestedToCapacityRatio.shape[1]: utilization must increase"},
    {HEAD
     "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, weight: 2}]}}]}]\n",
     "profiles[0].pluginConfig[NodeResourcesBalancedAllocation].args.resources[0].weight: 2 is not 1"},
    {HEAD
     "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}]}]\n",
     "profiles[0].pluginConfig[PodTopologySpread].args.defaultConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value"},
    {HEAD
     "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a b, whenUnsatisfiable: ScheduleAnyway}]}}]}]\n",
     "profiles[0].pluginConfig[PodTopologySpread].args.defaultConstraints[0].topologyKey: Invalid value"},
    {HEAD
     "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{topologyKey: a, whenUnsatisfiable: Never}]}}]}]\n",
     "profiles[0].pluginConfig[PodTopologySpread].args.defaultConstraints[0].maxSkew: "},
    {HEAD
     "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}]}}]}]\n",
     "profiles[0].pluginConfig[PodTopologySpread].args.defaultConstraints[0].labelSelector: Forbidden"},
};

START_TEST(a_shape_may_have_a_point_for_each_utilization)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, HEAD "profiles: [{pluginConfig: [{name: NodeResourcesFit, "
                                "args: {scoringStrategy: {type: "
                                "RequestedToCapacityRatio, "
                                "requestedToCapacityRatio: {shape: [");
    for (int i = 0; i <= 100; i++)
        strbuf_printf(&text, "%s{utilization: %d, score: %d}", i > 0 ? ", " : "", i, i / 10);
    strbuf_add_text(&text, "]}}}}]}]\n");

    kube_configuration_free(read_good(text.text));
}
END_TEST

START_TEST(a_mistake_is_refused_with_its_place_and_what_is_wrong)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
        struct kube_configuration *c = NULL;

        ck_assert_msg(read_text(bad[i].text, &c, &mistakes) < 0, "%s is taken", bad[i].text);
        ck_assert_ptr_null(c);
        ck_assert_msg(strstr(mistakes.text, bad[i].says) != NULL, "%s says %s", bad[i].text,
                      mistakes.text);
    }
}
END_TEST

static const struct {
    const char *extender;
    const char *says; /* NULL: no warning */
    bool is_insecure;
} secure[] = {
    {"{urlPrefix: 'https://x', filterVerb: f}", NULL, false},
    {"{urlPrefix: 'https://x', filterVerb: f, enableHTTPS: true}",
     "extenders[0]: the identity of the extender is not verified", true},
    {"{urlPrefix: 'https://x', filterVerb: f, tlsConfig: {insecure: true}}",
     "identity of the extender", true},
    {"{urlPrefix: 'http://x', filterVerb: f, enableHTTPS: true}",
     "extenders[0]: enableHTTPS and tlsConfig have no effect", true},
};

START_TEST(a_zero_is_not_taken_for_what_is_left_out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct kube_configuration *c =
        read_good(HEAD "profiles: [{pluginConfig: [{name: VolumeBinding, args: "
                       "{bindTimeoutSeconds: 0}}]}]\n");

    kube_configuration_print(c, &text);
    kube_configuration_free(c);

    ck_assert_msg(strstr(text.text, "bindTimeoutSeconds: 0\n") != NULL, "%s", text.text);
}
END_TEST

START_TEST(an_extender_that_anybody_could_be_is_warned_of)
{
    for (size_t i = 0; i < ARRAY_SIZE(secure); i++) {
        CLEANUP_FREE char *text = xasprintf(HEAD "extenders: [%s]\n", secure[i].extender);
        CLEANUP(kube_configuration_freep)
        struct kube_configuration *c = read_good(text);
        const char *says = kube_configuration_warnings(c);
        const struct extender *e = &kube_configuration_extenders(c)->items[0];

        if (secure[i].says == NULL)
            ck_assert_str_eq(says, "");
        else
            ck_assert_msg(strstr(says, secure[i].says) != NULL, "%s", says);
        ck_assert_int_eq(e->tls.is_insecure, secure[i].is_insecure);
    }
}
END_TEST

START_TEST(keys_are_not_for_everybody_to_see)
{
    static const char text[] = "[{\"urlPrefix\":\"https://x\",\"tlsConfig\":{\"certData\":\"YQ==\","
                               "\"keyData\":\"c2VjcmV0\"}},{\"urlPrefix\":\"http://y\"}]";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *list = json_parse(arena, text, sizeof(text) - 1, NULL, NULL);

    kube_extenders_hide(list);
    json_print(list, &out);

    ck_assert_str_eq(out.text, "[{\"urlPrefix\":\"https://x\",\"tlsConfig\":{"
                               "\"certData\":\"YQ==\"}},{\"urlPrefix\":\"http://y\"}]");
}
END_TEST

START_TEST(extenders_are_read_and_completed)
{
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c =
        read_good(HEAD "extenders:\n"
                       "- urlPrefix: http://[::1]:8888/prefix/\n"
                       "  filterVerb: filter\n"
                       "  httpTimeout: 0s\n"
                       "  ignorable: true\n"
                       "  managedResources:\n"
                       "  - {name: example.com/x, ignoredByScheduler: true}\n"
                       "  - {name: example.com/y}\n"
                       "- urlPrefix: http://host\n"
                       "  prioritizeVerb: prioritize\n"
                       "  weight: 3\n"
                       "  httpTimeout: 100ms\n"
                       "  nodeCacheCapable: true\n");
    const struct extenders *all = kube_configuration_extenders(c);
    const struct profile_settings *p = first_profile(c);
    const struct json *ignored = NULL;

    ck_assert_uint_eq(all->count, 2);
    ck_assert_str_eq(all->items[0].filter_verb, "filter");
    ck_assert_ptr_null(all->items[0].prioritize_verb);
    ck_assert_int_eq(all->items[0].timeout_us, 5000000);
    ck_assert(all->items[0].is_ignorable);
    ck_assert_uint_eq(all->items[0].n_resources, 2);
    ck_assert_int_eq(all->items[1].weight, 3);
    ck_assert_int_eq(all->items[1].timeout_us, 100000);
    ck_assert(all->items[1].is_node_cache_capable);
    for (unsigned i = 0; i < p->n_plugins; i++)
        if (strcmp(p->plugins[i].plugin->name, "NodeResourcesFit") == 0)
            ignored = json_get(p->plugins[i].args, "ignoredResources");
    ck_assert_uint_eq(json_count(ignored), 1);
    ck_assert_str_eq(json_text(json_at(ignored, 0)), "example.com/x");
}
END_TEST

SUITE("kube_configuration", an_extender_that_anybody_could_be_is_warned_of,
      keys_are_not_for_everybody_to_see, extenders_are_read_and_completed,
      without_a_file_there_is_kilns_profile_and_all_nodes_are_looked_at,
      a_plugin_enabled_at_a_point_goes_first_and_has_its_own_weight,
      a_star_disables_all_that_is_not_enabled, a_written_configuration_reads_back_as_the_same,
      a_setting_without_effect_is_reported, a_shape_may_have_a_point_for_each_utilization,
      a_mistake_is_refused_with_its_place_and_what_is_wrong,
      a_zero_is_not_taken_for_what_is_left_out)
