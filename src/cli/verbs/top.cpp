// hekla top: nodes, queues and jobs as bars, once or again and again.
#include <cstdio>
#include <memory>

#include "cli/cluster.h"
#include "cli/end_signal.h"
#include "cli/live/screen.h"
#include "cli/live/terminal.h"
#include "cli/status/overview.h"
#include "cli/verb.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

struct TopOptions {
  ClusterFlags cluster;
  std::vector<std::string> parts;
  std::string ns, output;
  bool watch = false, all = false;
  int seconds = 2;
};

TopChoice choice_of(const TopOptions& options) {
  TopChoice choice{.ended = options.all, .ns = options.ns};
  if (options.parts.empty()) return choice;
  choice.queues = choice.jobs = choice.nodes = false;
  for (const std::string& part : options.parts) {
    choice.queues |= part.starts_with("queue");
    choice.jobs |= part.starts_with("job");
    choice.nodes |= part.starts_with("node");
  }
  return choice;
}

std::string shown(const Overview& overview, const TopOptions& options) {
  const TopChoice choice = choice_of(options);
  if (options.output == "json") return json::serialize_pretty(to_json(overview, choice), 2) + "\n";
  if (options.output == "yaml") return json::to_yaml(to_json(overview, choice));
  return top_text(overview, choice, terminal_size(stdout).columns, Paint::of(stdout));
}

// On a terminal the same place is drawn anew; elsewhere one picture follows the other.
Result<void> watch(ApiSession& session, const TopOptions& options, EndSignal& end) {
  Screen screen(stdout, is_live(stdout) && options.output.empty());
  while (end.first() == 0) {
    const std::string text = shown(TRY(read_overview(session)), options);
    if (screen.live())
      screen.draw(text);
    else
      screen.say(text);
    end.wait_for(std::chrono::seconds(options.seconds));
  }
  return {};
}

std::string check_part(std::string& given) {
  for (const char* part : {"queue", "queues", "job", "jobs", "node", "nodes"})
    if (given == part) return {};
  return "there are queues, jobs and nodes, no \"" + given + "\"";
}

std::vector<Command> top_commands(const Context&) {
  auto options = std::make_shared<TopOptions>();
  Command command{
      .name = "top",
      .summary = "how full nodes and queues are and how jobs go, as bars",
      .flags =
          {Flag("what", options->parts, "queues, jobs, nodes (default: all three)")
               .with({"", check_part}),
           Flag("-w,--watch", options->watch, "go on showing it, until Ctrl-C"),
           Flag("--interval", options->seconds, "seconds between two looks").with(between(1, 3600)),
           Flag("-n,--namespace", options->ns, "only this namespace's jobs (default: all)"),
           Flag("--all", options->all, "jobs that have ended, too"),
           Flag("-o,--output", options->output, "for programs").with(one_of({"json", "yaml"}))},
      .run =
          [options] {
            if (!options->watch)
              return on_cluster(options->cluster, [&](ApiSession& session) -> Result<void> {
                std::fputs(shown(TRY(read_overview(session)), *options).c_str(), stdout);
                return {};
              })();
            EndSignal end(EndSignal::Output::until_closed);
            return on_cluster(options->cluster,
                              [&](ApiSession& session) { return watch(session, *options, end); })();
          },
      .footer =
          "Bars of nodes show what pods have asked for of what the node has; of queues what "
          "they hold of their limit, or of the whole cluster.\n"
          "Examples:\n"
          "  hekla top\n"
          "  hekla top queues --watch\n"
          "  hekla top jobs -n team-a -o json",
  };
  append(command.flags, cluster_flags(options->cluster));
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_top;
const Verb verb_top{"top", top_commands};

}  // namespace hekla::cli
