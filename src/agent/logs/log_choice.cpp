#include "agent/logs/log_choice.h"

namespace hekla::agent {
namespace {

std::string names(const PodRecord& record, bool init) {
  std::string out;
  for (const ContainerRecord& container : record.containers)
    if (container.init == init && !container.ephemeral)
      out += (out.empty() ? "" : " ") + container.name;
  return "[" + out + "]";
}

bool has_begun(const std::optional<ContainerRun>& run) {
  return run && (run->phase == run_phase::running || run->phase == run_phase::exited);
}

std::string waiting_reason(const model::PodStatus& status, const std::string& name) {
  for (const auto* list : {&status.containerStatuses, &status.initContainerStatuses})
    for (const model::ContainerStatus& container : *list)
      if (container.name == name && container.state.waiting) return container.state.waiting->reason;
  return "ContainerCreating";
}

}  // namespace

Result<std::size_t> choose_log_container(const PodRecord& record, const std::string& name) {
  std::size_t only = 0, count = 0;
  bool has_init = false;
  for (std::size_t i = 0; i < record.containers.size(); ++i) {
    const ContainerRecord& container = record.containers[i];
    if (!name.empty() && container.name == name) return i;
    has_init |= container.init;
    if (container.init || container.ephemeral) continue;
    only = i;
    ++count;
  }
  if (!name.empty())
    return fail(Code::bad_request, "container " + name + " is not valid for pod " + record.name);
  if (count == 1) return only;
  std::string message = "a container name must be specified for pod " + record.name +
                        ", choose one of: " + names(record, false);
  if (has_init) message += " or one of the init containers: " + names(record, true);
  return fail(Code::bad_request, message);
}

Result<const ContainerRun*> choose_log_run(const PodRecord& record,
                                           const ContainerRecord& container,
                                           const model::PodStatus& status, bool previous) {
  if (previous) {
    // While the next run has not begun yet, the last one counts as the one before it.
    const std::optional<ContainerRun>& run = container.previous;
    if (!has_begun(run))
      return fail(Code::bad_request, "previous terminated container \"" + container.name +
                                         "\" in pod \"" + record.name + "\" not found");
    return &*run;
  }
  if (has_begun(container.current)) return &*container.current;
  if (has_begun(container.previous)) return &*container.previous;
  return fail(Code::bad_request,
              "container \"" + container.name + "\" in pod \"" + record.name +
                  "\" is waiting to start: " + waiting_reason(status, container.name));
}

}  // namespace hekla::agent
