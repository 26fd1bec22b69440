#include "agent/pod/worker/container_launch.h"

#include "agent/pod/launch_request.h"
#include "agent/pod/pod_plan.h"
#include "base/check.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kConfigRetry{10};
constexpr std::chrono::seconds kApiRetry{1};
constexpr int kStartErrorCode = 128;

}  // namespace

void ContainerLaunch::begin(std::size_t container) {
  if (state_.spec_of(container))
    return images_.prepare(container, [this, container] { fetch(container); });
  PodRecord& record = state_.record;
  record.outcome = "Failed";
  record.message = "container " + record.containers[container].name + " is not in the spec";
  state_.report();
  state_.step();
}

void ContainerLaunch::fetch(std::size_t container) {
  state_.begin_work();
  auto fetched = [this, container](Result<PodSources> sources) {
    state_.end_work();
    if (sources) return launch(container, *sources);
    state_.hold(state_.record.containers[container].name,
                {"CreateContainerConfigError", sources.error().message}, kApiRetry);
    state_.step();
  };
  fetch_sources(state_.context.client, state_.context.token_source,
                SourceFetch{state_.record.ns, environment_sources(*state_.spec_of(container)), {}},
                state_.guarded(std::move(fetched)));
}

// A container keeps its cards over its restarts.
Result<void> ContainerLaunch::take_gpus(std::size_t index) {
  ContainerRecord& container = state_.record.containers[index];
  const model::ResourceList& limits = state_.spec_of(index)->resources.limits;
  const GpuPool& pool = state_.context.gpus;
  auto wanted = limits.find(kGpuResource);
  if (wanted == limits.end() || !container.gpus.empty() || pool.cards == 0) return {};
  auto chosen = choose_gpus(pool, state_.context.node.gpus_in_use(),
                            static_cast<int>(wanted->second.value()));
  if (!chosen)
    return fail(
        Code::unavailable,
        "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu");
  container.gpus = std::move(*chosen);
  return {};
}

void ContainerLaunch::launch(std::size_t index, const PodSources& sources) {
  if (state_.ending != Ending::no) return state_.step();
  Result<void> gpus = take_gpus(index);
  Result<LaunchRequest> request =
      gpus ? make_launch_request({state_.context, state_.pod, state_.record, index, state_.facts(),
                                  sources, images_.image()})
           : std::unexpected(gpus.error());
  if (!request) {
    state_.event("Warning", "Failed", "Error: " + request.error().message);
    state_.hold(state_.record.containers[index].name,
                {"CreateContainerConfigError", request.error().message}, kConfigRetry);
    return state_.step();
  }
  state_.event("Normal", "Pulled", images_.message());
  begin_run(index, *request);
  request->record = state_.record;
  auto done = [this, index](const Result<Launch>& outcome) { launched(index, outcome); };
  state_.context.machine.launch(std::move(*request), state_.work<Launch>(std::move(done)));
}

void ContainerLaunch::begin_run(std::size_t index, const LaunchRequest& request) {
  ContainerRecord& container = state_.record.containers[index];
  CHECK(!container.current || !container.current->is_live(), "a container has one run at a time");
  if (container.current) {
    const bool anew = container.current->replaced || is_superseded(state_.pod->spec, container);
    container.backoff = anew ? 0 : backoff_steps(container) + 1;
    container.previous = std::move(container.current);
  }
  ContainerRun run;
  run.attempt = container.attempts++;
  run.id = container_id(state_.record.uid, container.name, run.attempt);
  run.image = request.spec.image;
  run.resources = resizable(request.spec.resources);
  if (request.image) {
    run.image_id = request.image->id;
    run.stop_signal = signal_number(request.image->config.stop_signal);
  }
  container.current = std::move(run);
}

void ContainerLaunch::launched(std::size_t index, const Result<Launch>& outcome) {
  ContainerRecord& container = state_.record.containers[index];
  CHECK(container.current, "a launch has a run");
  ContainerRun& run = *container.current;
  state_.holds.erase(container.name);
  if (!outcome) {
    // The container has not run: a look takes away its remains, and it is tried again, as by the
    // kubelet.
    state_.event("Warning", "Failed", "Error: " + outcome.error().message);
    state_.inspected = false;
    return state_.hold(container.name, {"CreateContainerConfigError", outcome.error().message},
                       kConfigRetry);
  }
  if (!outcome->failure) {
    run.phase = run_phase::running;
    run.started_ns = to_ns(outcome->started);
    state_.event("Normal", "Created", "Created container: " + container.name);
    state_.event("Normal", "Started", "Started container " + container.name);
    if (Metrics* metrics = state_.context.metrics)
      metrics->count("hekla_agent_containers_started_total");
    return started_(index);
  }
  // As containerd reports it: the run counts, with exit code 128.
  const std::string& why = *outcome->failure;
  run.phase = run_phase::exited;
  run.exit_code = kStartErrorCode;
  run.reason = "StartError";
  run.message = "failed to start container: " + why;
  run.finished_ns = to_ns(state_.now());
  state_.event("Warning", "Failed",
               "Error: failed to start container \"" + container.name + "\": " + why);
  state_.report();
}

}  // namespace hekla::agent
