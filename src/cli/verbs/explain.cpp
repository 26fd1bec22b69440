// hekla explain: why something waits, in plain words with numbers. Reads the objects of any cluster
// and runs the scheduler library over them here: nothing is written, and no endpoint is needed.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "cli/cluster.h"
#include "cli/jobs/job_kinds.h"
#include "cli/jobs/why_waiting.h"
#include "cli/pipelines/pipeline_api.h"
#include "cli/pipelines/run_view.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

struct ExplainOptions {
  ClusterFlags cluster;
  std::string kind, name, ns = "default", output, scheduler_conf;
};

// "job/train" is as good as "job train".
Result<void> split_name(ExplainOptions& options) {
  const std::size_t slash = options.kind.find('/');
  if (options.name.empty() && slash != std::string::npos) {
    options.name = options.kind.substr(slash + 1);
    options.kind.resize(slash);
  }
  if (options.name.empty())
    return fail(Code::bad_request, "name what to explain: hekla explain " + options.kind + " NAME");
  return {};
}

Result<void> print_run_json(ApiSession& session, const ExplainOptions& options,
                            const json::Value& run, const std::vector<ShownStep>& steps) {
  json::Array waiting;
  std::optional<scheduler::World> world;
  for (const ShownStep& step : steps) {
    if (step.reason != "pending" || step.pod.empty()) continue;
    if (!world) world = TRY(read_world(session, options.scheduler_conf));
    scheduler::Explanation made = TRY(scheduler::explain(*world, "pod", "kubeflow", step.pod));
    waiting.push_back(json::Object{{"step", RunView::label_of(step)}, {"pod", made.to_json()}});
  }
  const json::Value all = json::Object{{"run", run}, {"waiting", std::move(waiting)}};
  std::printf("%s\n", json::serialize(all).c_str());
  return {};
}

// Why a pipeline's run is not over: its steps that wait or have failed, and what the scheduler says
// of those that have a pod.
Result<void> print_run(ApiSession& session, const ExplainOptions& options) {
  PipelineApi api(session);
  const json::Value run = TRY(api.find_run(options.name));
  const std::string id = json::text_at(run, {"run_id"}), state = json::text_at(run, {"state"});
  std::vector<ShownStep> steps;
  for (const json::Value& task : TRY(api.tasks(id))) steps.push_back(shown_step(task));
  if (options.output == "json") return print_run_json(session, options, run, steps);
  std::printf("Run %s (%s): %s\n", json::text_at(run, {"display_name"}).c_str(), id.c_str(),
              state.c_str());
  std::fputs(steps_text(steps, real_clock().wall()).c_str(), stdout);
  std::optional<scheduler::World> world;
  for (const ShownStep& step : steps) {
    if (step.reason != "pending" || step.pod.empty()) continue;
    if (!world) world = TRY(read_world(session, options.scheduler_conf));
    Result<scheduler::Explanation> made = scheduler::explain(*world, "pod", "kubeflow", step.pod);
    std::printf("\nStep %s:\n%s", RunView::label_of(step).c_str(),
                made ? made->to_text().c_str() : (made.error().message + "\n").c_str());
  }
  return {};
}

Result<void> print_explanation(ApiSession& session, const ExplainOptions& options) {
  if (options.kind == "run") return print_run(session, options);
  scheduler::World world = TRY(read_world(session, options.scheduler_conf));
  scheduler::Explanation made =
      TRY(scheduler::explain(world, options.kind, options.ns, options.name));
  std::string text =
      options.output == "json" ? json::serialize(made.to_json()) + "\n" : made.to_text();
  std::fputs(text.c_str(), stdout);
  return {};
}

// The kind that is meant; otherwise what is wrong.
std::string to_kind(std::string& given) {
  static const std::map<std::string, std::string> kinds = {
      {"job", "job"},           {"jobs", "job"},    {"vcjob", "job"}, {"vj", "job"},
      {"podgroup", "podgroup"}, {"pg", "podgroup"}, {"pod", "pod"},   {"po", "pod"},
      {"queue", "queue"},       {"q", "queue"},     {"run", "run"},   {"runs", "run"}};
  const std::string name = given.substr(std::min(given.find('/'), given.size()));
  given.resize(given.size() - name.size());
  const std::string singular = given.ends_with('s') ? given.substr(0, given.size() - 1) : given;
  if (auto found = kinds.find(given); found != kinds.end())
    given = found->second;
  else if (job_kind_of_title(singular))
    given = singular;
  else
    return "cannot explain a \"" + given +
           "\": name a job, podgroup, pod, queue or run, or a kind of training job (tfjob, "
           "pytorchjob, mpijob, xgboostjob, paddlejob, jaxjob, mxjob, trainjob, jobset)";
  given += name;
  return {};
}

std::vector<Command> explain_commands(const Context&) {
  auto options = std::make_shared<ExplainOptions>();
  Command command{
      .name = "explain",
      .summary =
          "why a job of any kind, a pod group, pod, queue or pipeline's run waits, with numbers",
      .flags =
          {
              Flag("KIND", options->kind,
                   "job, podgroup, pod, queue, run (of a pipeline), tfjob, pytorchjob, mpijob, "
                   "xgboostjob, paddlejob, "
                   "jaxjob, "
                   "mxjob, trainjob or jobset")
                  .with({"", to_kind})
                  .must_be_given(),
              Flag("NAME", options->name, "its name").completed_with(Names::objects),
              Flag("-n,--namespace", options->ns, "its namespace"),
              Flag("-o,--output", options->output, "json for programs")
                  .with(one_of({"json", "text"})),
              Flag("--scheduler-conf", options->scheduler_conf,
                   "explain by this configuration instead of the cluster's")
                  .with(existing_file()),
          },
      .run = on_cluster(options->cluster,
                        [options](ApiSession& session) -> Result<void> {
                          TRY(split_name(*options));
                          return print_explanation(session, *options);
                        }),
      .footer =
          "Examples:\n"
          "  hekla explain job train-1 -n team-a\n"
          "  hekla explain pod/train-1-worker-0\n"
          "  hekla explain queue research -o json",
  };
  append(command.flags, cluster_flags(options->cluster));
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_explain;
const Verb verb_explain{"explain", explain_commands};

}  // namespace hekla::cli
