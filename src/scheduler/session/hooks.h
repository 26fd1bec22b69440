// The questions a plugin may answer. A plugin says which ones it answers; the configuration
// switches them off one by one; the session keeps, per question, the plugins that remain, by tier.
#pragma once

#include <bitset>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace hekla::scheduler {

enum class Hook : std::size_t {
  queue_order,
  job_order,
  task_order,
  predicate,
  node_order,
  job_valid,
  job_ready,
  job_pipelined,
  job_starving,
  job_enqueueable,
  job_enqueued,
  overused,
  allocatable,
  preemptive,
  preemptable,
  reclaimable,
  events,  // on_allocate, on_release
  victim_queue_order,
  unified_evictable,
  victim_tasks,
  victim_filter,
  task_predicate,    // pre_filter, filter_task
  batch_node_order,  // score_task
  best_node,
  reserve,
  prepare_bind,
  hyper_node_order,
  hyper_node_gradient,
  sub_job_ready,
  sub_job_pipelined,
  sub_job_order,
};
inline constexpr std::size_t kHooks = 31;

using Hooks = std::bitset<kHooks>;

constexpr std::size_t index_of(Hook hook) { return static_cast<std::size_t>(hook); }
inline Hooks hooks_of(std::initializer_list<Hook> list) {
  Hooks set;
  for (Hook hook : list) set.set(index_of(hook));
  return set;
}

}  // namespace hekla::scheduler
