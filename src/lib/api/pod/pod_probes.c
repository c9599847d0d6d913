/* SPDX-License-Identifier: Apache-2.0 */
/* pod_probes.c - field tables of probes and lifecycle handlers */
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field exec_action_fields[] = {
    OPAQUE_LIST(STRING, "command", 0,
        HELP("The program and its arguments; its exit status decides.")),
};
static OPAQUE_RECORD(exec_action, "io.k8s.api.core.v1.ExecAction",
       MESSAGE("command"),
       HELP("Runs a program."));

static const struct field grpc_action_fields[] = {
    OPAQUE(INT, "port", ALWAYS | REQUIRED,
        HELP("The port, by number or name.")),
    OPAQUE(STRING, "service", KEPT,
        HELP("The service that is asked about.")),
};
static OPAQUE_RECORD(grpc_action, "io.k8s.api.core.v1.GRPCAction",
       MESSAGE("port service"),
       HELP("A gRPC request."));

static const struct field http_header_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE(STRING, "value", ALWAYS | REQUIRED,
        HELP("The value.")),
};
static OPAQUE_RECORD(http_header, "io.k8s.api.core.v1.HTTPHeader",
       MESSAGE("name value"),
       HELP("A header of a request."));

static const struct field http_get_action_fields[] = {
    OPAQUE(INT_OR_STRING, "port", REQUIRED,
        HELP("The port, by number or name.")),
    OPAQUE(STRING, "host", 0,
        HELP("The host.")),
    OPAQUE_OBJECTS("httpHeaders", http_header, 0,
        HELP("Headers of the request.")),
    OPAQUE(STRING, "path", 0,
        HELP("The path.")),
    OPAQUE(STRING, "scheme", 0, ONE_OF("HTTP", "HTTPS"),
        HELP("HTTP or HTTPS.")),
};
static OPAQUE_RECORD(http_get_action, "io.k8s.api.core.v1.HTTPGetAction",
       MESSAGE("path port host scheme httpHeaders"),
       HELP("An HTTP request."));

static const struct field sleep_action_fields[] = {
    OPAQUE(INT64, "seconds", ALWAYS | REQUIRED,
        HELP("How long.")),
};
static OPAQUE_RECORD(sleep_action, "io.k8s.api.core.v1.SleepAction",
       MESSAGE("seconds"),
       HELP("Waits."));

static const struct field tcp_socket_action_fields[] = {
    OPAQUE(INT_OR_STRING, "port", REQUIRED,
        HELP("The port, by number or name.")),
    OPAQUE(STRING, "host", 0,
        HELP("The host.")),
};
static OPAQUE_RECORD(tcp_socket_action, "io.k8s.api.core.v1.TCPSocketAction",
       MESSAGE("port host"),
       HELP("Connects."));

static const struct field lifecycle_handler_fields[] = {
    OPAQUE_OBJECT("exec", exec_action, 0,
        HELP("Runs a program.")),
    OPAQUE_OBJECT("httpGet", http_get_action, 0,
        HELP("An HTTP request.")),
    OPAQUE_OBJECT("sleep", sleep_action, 0,
        HELP("Waits.")),
    OPAQUE_OBJECT("tcpSocket", tcp_socket_action, 0,
        HELP("Connects.")),
};
static OPAQUE_RECORD(lifecycle_handler, "io.k8s.api.core.v1.LifecycleHandler",
       MESSAGE("exec httpGet tcpSocket sleep"),
       HELP("The action."));

static const struct field lifecycle_fields[] = {
    OPAQUE_OBJECT("postStart", lifecycle_handler, 0,
        HELP("After it has started.")),
    OPAQUE_OBJECT("preStop", lifecycle_handler, 0,
        HELP("Before it is told to end.")),
};
OPAQUE_RECORD(lifecycle, "io.k8s.api.core.v1.Lifecycle",
       MESSAGE("postStart preStop"),
       HELP("What is done at a container's start and end."));

static const struct field probe_fields[] = {
    OPAQUE_OBJECT("exec", exec_action, 0,
        HELP("Runs a program.")),
    OPAQUE(INT, "failureThreshold", 0,
        HELP("How many consecutive failures count as a failure.")),
    OPAQUE_OBJECT("grpc", grpc_action, 0,
        HELP("A gRPC request.")),
    OPAQUE_OBJECT("httpGet", http_get_action, 0,
        HELP("An HTTP request.")),
    OPAQUE(INT, "initialDelaySeconds", 0,
        HELP("The delay of the first probe after the start.")),
    OPAQUE(INT, "periodSeconds", 0,
        HELP("The interval between probes.")),
    OPAQUE(INT, "successThreshold", 0,
        HELP("How many consecutive successes count as a success.")),
    OPAQUE_OBJECT("tcpSocket", tcp_socket_action, 0,
        HELP("Connects.")),
    OPAQUE(INT64, "terminationGracePeriodSeconds", KEPT,
        HELP("The grace period after a failure.")),
    OPAQUE(INT, "timeoutSeconds", 0,
        HELP("How long an answer may take.")),
};
OPAQUE_RECORD(probe, "io.k8s.api.core.v1.Probe",
       MESSAGE("(exec httpGet tcpSocket grpc) initialDelaySeconds "
               "timeoutSeconds periodSeconds successThreshold "
               "failureThreshold terminationGracePeriodSeconds"),
       HELP("A probe of a container. Stored, but not run."));
/* clang-format on */
