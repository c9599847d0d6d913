/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/kube_tables.h"

#include "lib/api/value/rows.h"

static const struct field leader_election_fields[] = {
    OPAQUE(BOOL, "leaderElect", KEPT),      OPAQUE(STRING, "leaseDuration", 0),
    OPAQUE(STRING, "renewDeadline", 0),     OPAQUE(STRING, "retryPeriod", 0),
    OPAQUE(STRING, "resourceLock", 0),      OPAQUE(STRING, "resourceName", 0),
    OPAQUE(STRING, "resourceNamespace", 0),
};
static OPAQUE_RECORD(leader_election, "LeaderElectionConfiguration");

static const struct field client_connection_fields[] = {
    OPAQUE(STRING, "kubeconfig", 0),  OPAQUE(STRING, "acceptContentTypes", 0),
    OPAQUE(STRING, "contentType", 0), OPAQUE(NUMBER, "qps", 0),
    OPAQUE(INT, "burst", 0),
};
static OPAQUE_RECORD(client_connection, "ClientConnectionConfiguration");

static const struct field plugin_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(INT, "weight", 0),
};
static OPAQUE_RECORD(plugin, "Plugin");

static const struct field plugin_set_fields[] = {
    OPAQUE_OBJECTS("enabled", plugin, 0),
    OPAQUE_OBJECTS("disabled", plugin, 0),
};
static OPAQUE_RECORD(plugin_set, "PluginSet");

static const struct field plugins_fields[] = {
    OPAQUE_OBJECT("preEnqueue", plugin_set, 0), OPAQUE_OBJECT("queueSort", plugin_set, 0),
    OPAQUE_OBJECT("preFilter", plugin_set, 0),  OPAQUE_OBJECT("filter", plugin_set, 0),
    OPAQUE_OBJECT("postFilter", plugin_set, 0), OPAQUE_OBJECT("preScore", plugin_set, 0),
    OPAQUE_OBJECT("score", plugin_set, 0),      OPAQUE_OBJECT("reserve", plugin_set, 0),
    OPAQUE_OBJECT("permit", plugin_set, 0),     OPAQUE_OBJECT("preBind", plugin_set, 0),
    OPAQUE_OBJECT("bind", plugin_set, 0),       OPAQUE_OBJECT("postBind", plugin_set, 0),
    OPAQUE_OBJECT("multiPoint", plugin_set, 0),
};
static OPAQUE_RECORD(plugins, "Plugins");

static const struct field plugin_config_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(ANY, "args", KEPT),
};
static OPAQUE_RECORD(plugin_config, "PluginConfig");

static const struct field profile_fields[] = {
    OPAQUE(STRING, "schedulerName", KEPT),
    OPAQUE(INT, "percentageOfNodesToScore", KEPT),
    OPAQUE_OBJECT("plugins", plugins, 0),
    OPAQUE_OBJECTS("pluginConfig", plugin_config, 0),
};
static OPAQUE_RECORD(profile, "KubeSchedulerProfile");

static const struct field managed_resource_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(BOOL, "ignoredByScheduler", 0),
};
static OPAQUE_RECORD(managed_resource, "ExtenderManagedResource");

static const struct field tls_fields[] = {
    OPAQUE(BOOL, "insecure", 0),  OPAQUE(STRING, "serverName", 0), OPAQUE(STRING, "certFile", 0),
    OPAQUE(STRING, "keyFile", 0), OPAQUE(STRING, "caFile", 0),     OPAQUE(STRING, "certData", 0),
    OPAQUE(STRING, "keyData", 0), OPAQUE(STRING, "caData", 0),
};
static OPAQUE_RECORD(tls, "ExtenderTLSConfig");

static const struct field extender_fields[] = {
    OPAQUE(STRING, "urlPrefix", 0),
    OPAQUE(STRING, "filterVerb", 0),
    OPAQUE(STRING, "preemptVerb", 0),
    OPAQUE(STRING, "prioritizeVerb", 0),
    OPAQUE(INT64, "weight", 0),
    OPAQUE(STRING, "bindVerb", 0),
    OPAQUE(BOOL, "enableHTTPS", 0),
    OPAQUE_OBJECT("tlsConfig", tls, 0),
    OPAQUE(STRING, "httpTimeout", 0),
    OPAQUE(BOOL, "nodeCacheCapable", 0),
    OPAQUE_OBJECTS("managedResources", managed_resource, 0),
    OPAQUE(BOOL, "ignorable", 0),
};
static OPAQUE_RECORD(extender, "Extender");

static const struct field kube_configuration_fields[] = {
    OPAQUE(STRING, "apiVersion", 0),
    OPAQUE(STRING, "kind", 0),
    OPAQUE(INT, "parallelism", KEPT),
    OPAQUE_OBJECT("leaderElection", leader_election, 0),
    OPAQUE_OBJECT("clientConnection", client_connection, 0),
    OPAQUE(BOOL, "enableProfiling", KEPT),
    OPAQUE(BOOL, "enableContentionProfiling", KEPT),
    OPAQUE(INT, "percentageOfNodesToScore", KEPT),
    OPAQUE(INT64, "podInitialBackoffSeconds", KEPT),
    OPAQUE(INT64, "podMaxBackoffSeconds", KEPT),
    OPAQUE_OBJECTS("profiles", profile, 0),
    OPAQUE_OBJECTS("extenders", extender, 0),
    OPAQUE(BOOL, "delayCacheUntilActive", KEPT),
};
OPAQUE_RECORD(kube_configuration, "KubeSchedulerConfiguration");
