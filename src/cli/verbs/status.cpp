// hekla status: whether the platform of this machine runs, where it is found, and what it does.
#include <cstdio>
#include <memory>

#include "cli/instance.h"
#include "cli/live/terminal.h"
#include "cli/platform_choice.h"
#include "cli/status/overview.h"
#include "cli/status/running.h"
#include "cli/up_options.h"
#include "cli/verb.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct StatusOptions {
  std::string data_dir, output;
};

void print_as(const std::string& output, const json::Value& value) {
  const std::string text =
      output == "yaml" ? json::to_yaml(value) : json::serialize_pretty(value, 2) + "\n";
  std::fputs(text.c_str(), stdout);
}

int not_running(const std::string& data_dir, const StatusOptions& options) {
  if (!options.output.empty()) {
    print_as(options.output, json::Object{{"running", false}, {"dataDir", data_dir}});
    return kUnreachable;
  }
  std::printf("hekla does not run on %s: hekla up starts it, hekla up --detach in the background\n",
              data_dir.c_str());
  if (has_left_pods(data_dir))
    std::printf(
        "pods of an earlier run are still there: hekla up goes on with them, hekla down "
        "ends them\n");
  return kUnreachable;
}

Result<Overview> look(const Instance& instance) {
  kube::ClusterAccess access = TRY(kube::load_kubeconfig(instance.kubeconfig));
  access.http.connect_timeout = std::chrono::seconds(5);
  std::unique_ptr<ApiSession> session = TRY(ApiSession::open(access));
  return read_overview(*session);
}

std::string since_text(const Running& facts) {
  Result<WallTime> since = model::parse_rfc3339(facts.since);
  return since ? "for " + model::human_duration(real_clock().wall() - *since) + ", since " +
                     facts.since
               : "";
}

void print_lines(const std::string& data_dir, const Running& facts,
                 const Result<Overview>& overview) {
  const Paint paint = Paint::of(stdout);
  std::printf("%s runs %s (pid %d)\n", paint(Style::green, "hekla " + facts.version).c_str(),
              since_text(facts).c_str(), facts.pid);
  std::vector<std::pair<std::string, std::string>> lines{{"address", facts.url},
                                                         {"kubeconfig", facts.kubeconfig}};
  if (!facts.web.empty()) lines.emplace_back("page", facts.web + " (hekla dashboard opens it)");
  if (!facts.objects.empty()) lines.emplace_back("objects", facts.objects + " (S3)");
  lines.emplace_back("data", data_dir);
  if (!facts.log.empty()) lines.emplace_back("log", facts.log);
  if (overview)
    for (auto& line : overview_lines(*overview)) lines.push_back(line);
  for (const auto& [name, text] : lines)
    std::printf("  %s %s\n", paint(Style::dim, padded(name, 11)).c_str(), text.c_str());
  if (!overview) std::printf("  it does not answer: %s\n", overview.error().message.c_str());
}

int status(const StatusOptions& options) {
  Result<std::string> data_dir = choose_data_dir(options.data_dir);
  if (!data_dir) {
    complain(data_dir.error().message);
    return kUsage;
  }
  if (Result<void> readable = check_readable(*data_dir); !readable) {
    complain(readable.error().message);
    return kFailed;
  }
  const std::optional<Instance> instance = find_instance(*data_dir);
  if (!instance) return not_running(*data_dir, options);
  std::optional<Running> facts = read_running(*data_dir, instance->pid);
  if (!facts) {
    if (!options.output.empty())
      print_as(options.output, json::Object{{"running", false},
                                            {"starting", true},
                                            {"pid", instance->pid},
                                            {"dataDir", *data_dir}});
    else
      std::printf("hekla (pid %d) on %s is starting or ending\n", instance->pid, data_dir->c_str());
    return kUnreachable;
  }
  const Result<Overview> overview = look(*instance);
  if (options.output.empty()) {
    print_lines(*data_dir, *facts, overview);
  } else {
    json::Value value = facts->to_json();
    value.get_object()["running"] = true;
    value.get_object()["dataDir"] = *data_dir;
    if (overview) {
      const json::Value seen = to_json(*overview);
      for (const auto& part : seen.get_object()) value.get_object()[part.key()] = part.value();
    }
    print_as(options.output, value);
  }
  return overview ? 0 : kUnreachable;
}

std::vector<Command> status_commands(const Context&) {
  auto options = std::make_shared<StatusOptions>();
  return {{
      .name = "status",
      .summary = "whether the platform runs, where it is found, and what it does",
      .flags =
          {chosen_data_dir_flag(options->data_dir),
           Flag("-o,--output", options->output, "for programs").with(one_of({"json", "yaml"}))},
      .run = [options] { return status(*options); },
      .footer = "Exit code: 0 it runs, 3 it does not.\n"
                "Examples:\n"
                "  hekla status\n"
                "  hekla status -o json | jq -r .web\n"
                "  hekla status >/dev/null || hekla up --detach",
  }};
}

}  // namespace

extern const Verb verb_status;
const Verb verb_status{"status", status_commands};

}  // namespace hekla::cli
