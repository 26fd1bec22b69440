// hekla events: what has happened lately, oldest first, of everything or of one object.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "cli/cluster.h"
#include "cli/live/terminal.h"
#include "cli/verb.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

struct EventsOptions {
  ClusterFlags cluster;
  std::string ns, about, type, output;
  bool all_namespaces = false, watch = false;
};

std::string first_text(const json::Value& event,
                       std::initializer_list<std::initializer_list<std::string_view>> places) {
  for (const auto& place : places)
    if (std::string_view text = json::string_at(event, place); !text.empty())
      return std::string(text);
  return {};
}

std::string last_time(const json::Value& event) {
  return first_text(event, {{"series", "lastObservedTime"},
                            {"lastTimestamp"},
                            {"eventTime"},
                            {"metadata", "creationTimestamp"}});
}

class Events {
 public:
  Events(ApiSession& session, const EventsOptions& options)
      : session_(session), options_(options), paint_(Paint::of(stdout)) {}

  Result<void> show() {
    TRY(find_object());
    json::Value list = TRY(session_.call("GET", path()));
    std::vector<json::Value> events;
    if (const json::Array* items = json::array_at(list, {"items"}))
      for (const json::Value& event : *items)
        if (is_wanted(event)) events.push_back(event);
    std::ranges::stable_sort(events, {}, last_time);
    if (options_.output.empty()) {
      print_table(events);
    } else {
      json::Value shown = json::Object{{"apiVersion", "v1"},
                                       {"items", json::Array(events.begin(), events.end())},
                                       {"kind", "List"}};
      const std::string text = options_.output == "yaml" ? json::to_yaml(shown)
                                                         : json::serialize_pretty(shown, 2) + "\n";
      std::fputs(text.c_str(), stdout);
    }
    std::fflush(stdout);
    if (!options_.watch) return {};
    return follow(json::text_at(list, {"metadata", "resourceVersion"}));
  }

 private:
  // --for job/train: the kind as the API names it.
  Result<void> find_object() {
    if (options_.about.empty()) return {};
    const std::size_t slash = options_.about.find('/');
    if (slash == std::string::npos) {
      name_ = options_.about;
      return {};
    }
    kind_ = TRY(find_resource(session_, options_.about.substr(0, slash))).kind;
    name_ = options_.about.substr(slash + 1);
    return {};
  }

  std::string path() const {
    kube::Resource events = kube::resources::events;
    if (options_.all_namespaces) events.namespaced = false;
    return ApiSession::path_of(
        events, options_.ns.empty() ? session_.access().default_namespace : options_.ns);
  }

  // An object's events, and those of what bears its name and a dash: a job's pods and pod group.
  bool is_wanted(const json::Value& event) const {
    if (!options_.type.empty() && json::string_at(event, {"type"}) != options_.type) return false;
    if (name_.empty()) return true;
    const std::string_view name = json::string_at(event, {"involvedObject", "name"});
    if (name == name_)
      return kind_.empty() || json::string_at(event, {"involvedObject", "kind"}) == kind_;
    return name.starts_with(name_ + "-");
  }

  std::vector<std::string> row(const json::Value& event) const {
    std::string age = "?";
    if (Result<WallTime> when = model::parse_rfc3339(last_time(event)))
      age = model::human_duration(std::max(Nanos(0), real_clock().wall() - *when));
    const std::int64_t count =
        std::max(json::int_at(event, {"count"}), json::int_at(event, {"series", "count"}));
    if (count > 1) age += " (x" + std::to_string(count) + ")";
    std::string message(json::string_at(event, {"message"}));
    while (message.ends_with('\n')) message.pop_back();
    std::vector<std::string> cells{
        age, std::string(json::string_at(event, {"type"})),
        std::string(json::string_at(event, {"reason"})),
        lowered(json::string_at(event, {"involvedObject", "kind"})) + "/" +
            std::string(json::string_at(event, {"involvedObject", "name"})),
        message};
    if (options_.all_namespaces)
      cells.insert(cells.begin(), std::string(json::string_at(event, {"metadata", "namespace"})));
    return cells;
  }

  void print_table(const std::vector<json::Value>& events) const {
    if (events.empty() && !options_.watch) {
      std::fprintf(stderr, "no events%s; they are kept for an hour\n",
                   name_.empty() ? "" : (" of " + name_).c_str());
      return;
    }
    std::vector<std::vector<std::string>> rows{
        {"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}};
    if (options_.all_namespaces) rows[0].insert(rows[0].begin(), "NAMESPACE");
    for (const json::Value& event : events) rows.push_back(row(event));
    print(columns(rows));
  }

  // Lines that tell of a warning are yellow.
  void print(const std::string& table) const {
    for (std::size_t at = 0; at < table.size();) {
      const std::size_t end = std::min(table.find('\n', at), table.size());
      const std::string line = table.substr(at, end - at);
      const bool warns = line.find(" Warning ") != std::string::npos;
      std::printf("%s\n", paint_(warns ? Style::yellow : Style::plain, line).c_str());
      at = end + 1;
    }
  }

  Result<void> follow(const std::string& since) {
    std::string rest;
    return session_.stream(
        path() + "?watch=true&resourceVersion=" + since, "application/json",
        [&](std::string_view piece) {
          rest += piece;
          for (std::size_t end; (end = rest.find('\n')) != std::string::npos;
               rest.erase(0, end + 1)) {
            Result<json::Value> change = json::parse(std::string_view(rest).substr(0, end));
            const json::Value* event = change ? json::find(*change, "object") : nullptr;
            if (!event || json::string_at(*change, {"type"}) == "DELETED" || !is_wanted(*event))
              continue;
            print(columns({row(*event)}));
            std::fflush(stdout);
          }
        });
  }

  ApiSession& session_;
  const EventsOptions& options_;
  const Paint paint_;
  std::string kind_, name_;
};

std::vector<Command> events_commands(const Context&) {
  auto options = std::make_shared<EventsOptions>();
  Command command{
      .name = "events",
      .summary = "what has happened lately, of everything or of one object",
      .flags =
          {Flag("about", options->about,
                "a NAME or TYPE/NAME: its events, and its pods' and pod group's")
               .completed_with(Names::jobs_and_pods),
           Flag("-n,--namespace", options->ns, "the namespace"),
           Flag("-A,--all-namespaces", options->all_namespaces, "in every namespace"),
           Flag("--type", options->type, "only these").with(one_of({"Normal", "Warning"})),
           Flag("-w,--watch", options->watch, "go on showing what happens"),
           Flag("-o,--output", options->output, "for programs").with(one_of({"json", "yaml"}))},
      .run =
          on_cluster(options->cluster,
                     [options](ApiSession& session) { return Events(session, *options).show(); }),
      .footer =
          "Examples:\n"
          "  hekla events\n"
          "  hekla events vcjob/train --watch\n"
          "  hekla events -A --type Warning",
  };
  append(command.flags, cluster_flags(options->cluster));
  return {std::move(command)};
}

}  // namespace

extern const Verb verb_events;
const Verb verb_events{"events", events_commands};

}  // namespace hekla::cli
