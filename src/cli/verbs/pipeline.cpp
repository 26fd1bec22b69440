// hekla pipeline: runs a pipeline's file and shows how it goes; runs listed, drawn, stopped, tried
// again, and their logs.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "cli/cluster.h"
#include "cli/pipelines/graph_text.h"
#include "cli/pipelines/parameters.h"
#include "cli/pipelines/pipeline_api.h"
#include "cli/pipelines/pipeline_file.h"
#include "cli/pipelines/run_view.h"
#include "cli/verb.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

constexpr int kLookMillis = 250;
constexpr std::size_t kLastLines = 20;

struct PipelineOptions {
  ClusterFlags cluster;
  PipelineFile file;
  std::vector<std::string> parameters;
  std::string name, experiment, queue, run, step;
  bool no_wait = false, plain = false, follow = false, pipelines = false;
  int count = 20, timeout_seconds = 0;
};

bool is_over(std::string_view state) {
  return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELED" || state == "SKIPPED";
}

std::string text_of(const json::Value& value, std::string_view member) {
  return json::text_at(value, {member});
}

std::string age_since(const std::string& time) {
  const Result<WallTime> made = model::parse_rfc3339(time);
  return made && made->time_since_epoch() > Nanos(0)
             ? model::human_duration(real_clock().wall() - *made)
             : "";
}

std::string duration_of(const json::Value& run) {
  const Result<WallTime> begun = model::parse_rfc3339(text_of(run, "created_at"));
  const Result<WallTime> ended = model::parse_rfc3339(text_of(run, "finished_at"));
  if (!begun || !ended) return {};
  const WallTime until = ended->time_since_epoch() > Nanos(0) ? *ended : real_clock().wall();
  return model::human_duration(std::max(until - *begun, Nanos(0)));
}

std::vector<ShownStep> steps_of(const std::vector<json::Value>& tasks) {
  std::vector<ShownStep> steps;
  for (const json::Value& task : tasks) steps.push_back(shown_step(task));
  return steps;
}

// The end of the log of the step that failed first.
void print_last_words(PipelineApi& api, const std::string& run,
                      const std::vector<ShownStep>& steps) {
  const ShownStep* first = nullptr;
  for (const ShownStep& step : steps)
    if (step.state == "FAILED" && !step.pod.empty() && (!first || step.ended < first->ended))
      first = &step;
  if (first == nullptr) return;
  std::string text;
  if (!api.log(run, first->pod, false, [&](std::string_view piece) { text += piece; })) return;
  std::size_t begin = text.size();
  for (std::size_t lines = 0; begin > 0 && lines < kLastLines; --begin)
    lines += text[begin - 1] == '\n' && begin != text.size();
  if (begin > 0) ++begin;  // behind the line break
  const std::string label = RunView::label_of(*first);
  for (std::size_t at = begin; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::printf("%s | %s\n", label.c_str(), text.substr(at, end - at).c_str());
    at = end + 1;
  }
}

Result<void> follow_run(ApiSession& session, const PipelineOptions& options,
                        const json::Value& run) {
  PipelineApi api(session);
  const std::string id = text_of(run, "run_id"), title = "run " + text_of(run, "display_name");
  const bool live = !options.plain && ::isatty(STDOUT_FILENO) != 0;
  const MonoTime begin = real_clock().mono();
  RunView view(stdout, live, title);
  while (true) {
    // The state first: steps of a run that is over do not change any more.
    const json::Value now = TRY(api.call("GET", "/runs/" + id));
    const std::vector<ShownStep> steps = steps_of(TRY(api.tasks(id)));
    const std::string state = text_of(now, "state");
    view.update(state, steps, real_clock().wall());
    if (is_over(state)) {
      view.finish();
      if (state == "SUCCEEDED") return {};
      print_last_words(api, id, steps);
      const std::string why = json::text_at(now, {"error", "message"});
      return fail(Code::internal, title + " ended as " + state + (why.empty() ? "" : ": " + why));
    }
    const auto waited =
        std::chrono::duration_cast<std::chrono::seconds>(real_clock().mono() - begin);
    if (options.timeout_seconds > 0 && waited.count() >= options.timeout_seconds)
      return fail(Code::timeout, title + " has not ended after " +
                                     std::to_string(options.timeout_seconds) +
                                     " s: it goes on (hekla pipeline stop " + id + " ends it)");
    ::poll(nullptr, 0, kLookMillis);
  }
}

Result<void> run_file(ApiSession& session, const PipelineOptions& options) {
  PipelineApi api(session);
  const std::string package = TRY(read_pipeline_file(options.file));
  const std::filesystem::path path(options.file.path);
  std::string pipeline = package_name(package);
  if (pipeline.empty()) pipeline = path.stem().string();
  const json::Value version = TRY(api.publish(pipeline, path.filename().string(), package));
  const json::Object parameters = TRY(run_parameters(spec_of(version), options.parameters));
  json::Object wanted{
      {"display_name", options.name.empty()
                           ? pipeline + " " + model::format_rfc3339(real_clock().wall())
                           : options.name},
      {"pipeline_version_reference",
       json::Object{{"pipeline_id", text_of(version, "pipeline_id")},
                    {"pipeline_version_id", text_of(version, "pipeline_version_id")}}},
      {"runtime_config", json::Object{{"parameters", parameters}}}};
  if (!options.experiment.empty())
    wanted.emplace("experiment_id", TRY(api.experiment(options.experiment)));
  if (!options.queue.empty())
    wanted.emplace("plugins_input",
                   json::Object{{"hekla.io", json::Object{{"queue", options.queue}}}});
  const json::Value run = TRY(api.call("POST", "/runs", wanted));
  std::printf("run %s of pipeline %s: %s\n", text_of(run, "display_name").c_str(), pipeline.c_str(),
              text_of(run, "run_id").c_str());
  std::fflush(stdout);
  return options.no_wait ? Result<void>{} : follow_run(session, options, run);
}

Result<void> list(ApiSession& session, const PipelineOptions& options) {
  PipelineApi api(session);
  if (options.pipelines) {
    std::vector<std::vector<std::string>> rows{{"NAME", "ID", "AGE"}};
    const json::Value answer = TRY(api.call(
        "GET", "/pipelines?sort_by=created_at%20desc&page_size=" + std::to_string(options.count)));
    if (const json::Array* all = json::array_at(answer, {"pipelines"}))
      for (const json::Value& one : *all)
        rows.push_back({text_of(one, "name"), text_of(one, "pipeline_id"),
                        age_since(text_of(one, "created_at"))});
    std::fputs(columns(rows).c_str(), stdout);
    return {};
  }
  std::vector<std::vector<std::string>> rows{{"NAME", "STATE", "DURATION", "AGE", "ID"}};
  for (const json::Value& run : TRY(api.runs(options.count)))
    rows.push_back({text_of(run, "display_name"), text_of(run, "state"), duration_of(run),
                    age_since(text_of(run, "created_at")), text_of(run, "run_id")});
  std::fputs(columns(rows).c_str(), stdout);
  return {};
}

// All steps' logs one after the other, with their names before each line; of one step, as it is.
Result<void> logs(ApiSession& session, const PipelineOptions& options) {
  PipelineApi api(session);
  const json::Value run = TRY(api.find_run(options.run));
  const std::string id = text_of(run, "run_id");
  std::vector<ShownStep> wanted;
  std::string names;
  for (ShownStep& step : steps_of(TRY(api.tasks(id)))) {
    if (step.pod.empty()) continue;
    const std::string label = RunView::label_of(step);
    names += (names.empty() ? "" : ", ") + label;
    if (options.step.empty() || options.step == label || options.step == step.name)
      wanted.push_back(std::move(step));
  }
  if (wanted.empty())
    return fail(Code::not_found, options.step.empty()
                                     ? "no step of the run has begun"
                                     : "the run has no step \"" + options.step +
                                           "\" that has begun" +
                                           (names.empty() ? "" : "; it has " + names));
  std::ranges::stable_sort(wanted, {}, &ShownStep::started);
  for (const ShownStep& step : wanted) {
    std::string rest;
    const std::string before = wanted.size() > 1 ? RunView::label_of(step) + " | " : "";
    const auto print = [&](std::string_view piece) {
      rest += piece;
      for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
        std::printf("%s%s\n", before.c_str(), rest.substr(0, end).c_str());
      std::fflush(stdout);
    };
    TRY(api.log(id, step.pod, options.follow, print));
    if (!rest.empty()) std::printf("%s%s\n", before.c_str(), rest.c_str());
  }
  return {};
}

Result<json::Value> spec_of_run(PipelineApi& api, const json::Value& run) {
  const json::Value reference = json::find_path(run, {"pipeline_version_reference"})
                                    ? *json::find_path(run, {"pipeline_version_reference"})
                                    : json::Value();
  if (reference.is_null()) return spec_of(run);
  return spec_of(
      TRY(api.call("GET", "/pipelines/" + text_of(reference, "pipeline_id") + "/versions/" +
                              text_of(reference, "pipeline_version_id"))));
}

Result<void> graph(ApiSession& session, const PipelineOptions& options) {
  PipelineApi api(session);
  const json::Value run = TRY(api.find_run(options.run));
  std::map<std::string, std::string> states;
  for (const ShownStep& step : steps_of(TRY(api.tasks(text_of(run, "run_id")))))
    states.emplace(step.path, step.reason);
  std::fputs(graph_text(TRY(spec_of_run(api, run)), states).c_str(), stdout);
  return {};
}

// A file's graph needs no platform.
int print_graph_of_file(const PipelineOptions& options) {
  PipelineFile file = options.file;
  file.path = options.run;
  Result<std::string> package = read_pipeline_file(file);
  auto documents = package ? json::parse_yaml(*package) : std::unexpected(package.error());
  if (!documents) {
    complain(documents.error().message);
    return kFailed;
  }
  for (const json::YamlDocument& document : *documents)
    if (json::find_path(document.value, {"root"})) {
      std::fputs(graph_text(document.value).c_str(), stdout);
      return 0;
    }
  complain(file.path + " is no pipeline that the kfp SDK 2 has compiled");
  return kFailed;
}

Result<void> act(ApiSession& session, const PipelineOptions& options, const char* verb) {
  PipelineApi api(session);
  const json::Value run = TRY(api.find_run(options.run));
  TRY(api.call("POST", "/runs/" + text_of(run, "run_id") + ":" + verb, json::Object{}));
  std::printf("run %s: %s\n", text_of(run, "display_name").c_str(),
              std::string_view(verb) == "retry" ? "what did not succeed is tried again"
                                                : "its steps are ended");
  std::fflush(stdout);
  if (std::string_view(verb) == "terminate" || options.no_wait) return {};
  return follow_run(session, options, run);
}

Result<void> stop(ApiSession& session, const PipelineOptions& options) {
  return act(session, options, "terminate");
}
Result<void> retry(ApiSession& session, const PipelineOptions& options) {
  return act(session, options, "retry");
}

using Work = Result<void> (*)(ApiSession&, const PipelineOptions&);
using Shared = std::shared_ptr<PipelineOptions>;

Command command(const Shared& options, std::string name, std::string summary,
                std::vector<Flag> flags, Work work) {
  Command made{.name = std::move(name), .summary = std::move(summary), .flags = std::move(flags)};
  append(made.flags, cluster_flags(options->cluster));
  made.run = on_cluster(options->cluster,
                        [options, work](ApiSession& session) { return work(session, *options); });
  return made;
}

Flag run_flag(const Shared& options) {
  return Flag("RUN", options->run, "a run's name (the newest of that name) or id").must_be_given();
}
std::vector<Flag> python_flags(const Shared& options) {
  std::vector<Flag> made;
  made.push_back(
      Flag("--python", options->file.python, "the Python that has kfp, for Python files"));
  made.push_back(
      Flag("--function", options->file.function, "of a Python file with several pipelines"));
  return made;
}
std::vector<Flag> follow_flags(const Shared& options) {
  std::vector<Flag> made;
  made.push_back(Flag("--no-wait", options->no_wait, "do not follow the run"));
  made.push_back(Flag("--plain", options->plain, "lines instead of a view that is drawn anew"));
  made.push_back(
      Flag("--timeout", options->timeout_seconds, "give up after this many seconds (0: never)"));
  return made;
}

Command run_command_of(const Shared& options) {
  std::vector<Flag> flags;
  flags.push_back(Flag("FILE", options->file.path,
                       "what the kfp SDK has compiled (YAML), or a Python file that it compiles")
                      .must_be_given());
  flags.push_back(Flag("-p,--parameter", options->parameters, "NAME=VALUE; repeatable"));
  flags.push_back(
      Flag("--name", options->name, "of the run (default: the pipeline's and the time)"));
  flags.push_back(Flag("--experiment", options->experiment,
                       "the run's; made when there is none of that name (default: Default)"));
  flags.push_back(Flag("--queue", options->queue, "of the scheduler, for the run's pods"));
  append(flags, python_flags(options));
  append(flags, follow_flags(options));
  Command made = command(options, "run", "run a pipeline and exit with its outcome",
                         std::move(flags), run_file);
  made.footer =
      "The file becomes a version of the pipeline of its name, unless its newest version is the "
      "same.\n"
      "Exit code: 0 the run has succeeded, 1 it has not, 2 the command line is wrong, 3 the "
      "platform cannot be reached.\n"
      "Ctrl-C ends the view; the run goes on.\n"
      "Example:\n  hekla pipeline run train.py -p epochs=3 --experiment nightly";
  return made;
}

Command graph_command(const Shared& options) {
  std::vector<Flag> flags;
  flags.push_back(Flag("RUN|FILE", options->run, "a run, or a pipeline's file").must_be_given());
  append(flags, python_flags(options));
  Command made = command(options, "graph", "draw a run's or a file's pipeline as text",
                         std::move(flags), graph);
  made.run = [options, of_run = std::move(made.run)] {
    return ::access(options->run.c_str(), F_OK) == 0 ? print_graph_of_file(*options) : of_run();
  };
  return made;
}

std::vector<Command> pipeline_commands(const Context&) {
  auto options = std::make_shared<PipelineOptions>();
  Command pipelines{.name = "pipeline", .summary = "Kubeflow pipelines and their runs"};
  std::vector<Flag> listing, logging, retrying, stopping;
  listing.push_back(Flag("--pipelines", options->pipelines, "pipelines instead of runs"));
  listing.push_back(Flag("--count", options->count, "at most so many").with(between(1, 200)));
  logging.push_back(run_flag(options));
  logging.push_back(Flag("STEP", options->step, "one step (default: all that have begun)"));
  logging.push_back(Flag("-f,--follow", options->follow, "until the steps have ended"));
  retrying.push_back(run_flag(options));
  append(retrying, follow_flags(options));
  stopping.push_back(run_flag(options));
  pipelines.commands = {
      run_command_of(options),
      command(options, "list", "show the newest runs", std::move(listing), list),
      command(options, "logs", "print logs of steps, also of those whose pods are gone",
              std::move(logging), logs),
      graph_command(options),
      command(options, "stop", "end a run; tasks that always run at the end still do",
              std::move(stopping), stop),
      command(options, "retry", "begin again what has not succeeded in a run, and follow it",
              std::move(retrying), retry)};
  return {std::move(pipelines)};
}

}  // namespace

extern const Verb verb_pipeline;
const Verb verb_pipeline{"pipeline", pipeline_commands};

}  // namespace hekla::cli
