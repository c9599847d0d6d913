/* SPDX-License-Identifier: Apache-2.0 */
/* framework.h - everything that a plugin needs, in one include
 *
 * Thread: the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/amounts.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/bounds.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/ledger.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/plugin.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/sets/node_set.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/framework/verdict.h"
#include "controller/scheduler/framework/volume_book.h"
