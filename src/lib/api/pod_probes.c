/* SPDX-License-Identifier: Apache-2.0 */
/* pod_probes.c - how a container is asked whether it is well */
#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field exec_action_fields[] = {
    OPAQUE_LIST(STRING, "command", 0),
};
static OPAQUE_RECORD(exec_action, "io.k8s.api.core.v1.ExecAction");

static const struct field grpc_action_fields[] = {
    OPAQUE(INT, "port", ALWAYS | REQUIRED),
    OPAQUE(STRING, "service", KEPT),
};
static OPAQUE_RECORD(grpc_action, "io.k8s.api.core.v1.GRPCAction");

static const struct field http_header_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "value", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(http_header, "io.k8s.api.core.v1.HTTPHeader");

static const struct field http_get_action_fields[] = {
    OPAQUE(INT_OR_STRING, "port", REQUIRED),
    OPAQUE(STRING, "host", 0),
    OPAQUE_OBJECTS("httpHeaders", http_header, 0),
    OPAQUE(STRING, "path", 0),
    OPAQUE(STRING, "scheme", 0, ONE_OF("HTTP", "HTTPS")),
};
static OPAQUE_RECORD(http_get_action, "io.k8s.api.core.v1.HTTPGetAction");

static const struct field sleep_action_fields[] = {
    OPAQUE(INT64, "seconds", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(sleep_action, "io.k8s.api.core.v1.SleepAction");

static const struct field tcp_socket_action_fields[] = {
    OPAQUE(INT_OR_STRING, "port", REQUIRED),
    OPAQUE(STRING, "host", 0),
};
static OPAQUE_RECORD(tcp_socket_action, "io.k8s.api.core.v1.TCPSocketAction");

static const struct field lifecycle_handler_fields[] = {
    OPAQUE_OBJECT("exec", exec_action, 0),
    OPAQUE_OBJECT("httpGet", http_get_action, 0),
    OPAQUE_OBJECT("sleep", sleep_action, 0),
    OPAQUE_OBJECT("tcpSocket", tcp_socket_action, 0),
};
static OPAQUE_RECORD(lifecycle_handler, "io.k8s.api.core.v1.LifecycleHandler");

static const struct field lifecycle_fields[] = {
    OPAQUE_OBJECT("postStart", lifecycle_handler, 0),
    OPAQUE_OBJECT("preStop", lifecycle_handler, 0),
};
OPAQUE_RECORD(lifecycle, "io.k8s.api.core.v1.Lifecycle");

static const struct field probe_fields[] = {
    OPAQUE_OBJECT("exec", exec_action, 0),
    OPAQUE(INT, "failureThreshold", 0),
    OPAQUE_OBJECT("grpc", grpc_action, 0),
    OPAQUE_OBJECT("httpGet", http_get_action, 0),
    OPAQUE(INT, "initialDelaySeconds", 0),
    OPAQUE(INT, "periodSeconds", 0),
    OPAQUE(INT, "successThreshold", 0),
    OPAQUE_OBJECT("tcpSocket", tcp_socket_action, 0),
    OPAQUE(INT64, "terminationGracePeriodSeconds", KEPT),
    OPAQUE(INT, "timeoutSeconds", 0),
};
OPAQUE_RECORD(probe, "io.k8s.api.core.v1.Probe");
/* clang-format on */
