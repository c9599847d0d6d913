/* SPDX-License-Identifier: Apache-2.0 */
/* kube_tables.h - the fields of a KubeSchedulerConfiguration
 *
 * Thread: any; const tables.
 * Source: k8s.io/kube-scheduler/config/v1, types.go.
 */
#pragma once

struct record;

extern const struct record kube_configuration_record;
