// Pipeline packages: no crash, a reason for every refusal, and a Workflow that is accepted begins
// to run and can be shown.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "pipelines/argo/nodes.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/engine/engine.h"

using namespace hekla;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<pipelines::ir::Package> package = pipelines::ir::read_package(text);
  if (!package) {
    CHECK(!package.error().message.empty());
    return 0;
  }
  const Result<pipelines::ir::Pipeline> pipeline = pipelines::argo::read_pipeline(*package);
  if (!pipeline) {
    CHECK(!pipeline.error().message.empty());
    return 0;
  }
  pipelines::engine::Run run;
  run.facts.id = run.facts.resource_name = "run";
  run.facts.ns = "ns";
  const WallTime now{std::chrono::seconds(1'800'000'000)};
  pipelines::engine::advance(*pipeline, run, now);
  CHECK(run.find("root") != nullptr);
  if (package->argo)
    CHECK(pipelines::argo::shown_workflow({package->spec, *pipeline, run, "RUNNING", ""})
              .is_object());
  return 0;
}
