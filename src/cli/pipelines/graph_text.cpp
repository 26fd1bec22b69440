#include "cli/pipelines/graph_text.h"

#include <algorithm>
#include <set>
#include <vector>

namespace hekla::cli {
namespace {

constexpr std::size_t kColumn = 34;

// A task needs those it names, and those whose outputs it takes.
std::set<std::string> needs_of(const json::Value& task, const json::Object& tasks) {
  std::set<std::string> names;
  if (const json::Array* named = json::array_at(task, {"dependentTasks"}))
    for (const json::Value& one : *named)
      if (one.is_string()) names.emplace(json::sv(one.get_string()));
  for (const char* side : {"parameters", "artifacts"})
    if (const json::Object* inputs = json::object_at(task, {"inputs", side}))
      for (const auto& input : *inputs)
        if (input.value().is_object())
          for (const auto& source : input.value().get_object())
            if (const auto made = json::string_at(source.value(), {"producerTask"}); !made.empty())
              names.emplace(made);
  std::erase_if(names, [&](const std::string& name) { return !tasks.contains(name); });
  return names;
}

std::vector<std::string> in_order(const std::map<std::string, std::set<std::string>>& needs) {
  std::vector<std::string> order;
  std::set<std::string> placed;
  while (order.size() < needs.size()) {
    const std::size_t before = order.size();
    for (const auto& [name, own] : needs) {
      const bool ready =
          std::ranges::all_of(own, [&](const auto& one) { return placed.contains(one); });
      if (placed.contains(name) || !ready) continue;
      order.push_back(name);
      placed.insert(name);
    }
    if (order.size() == before) break;  // a circle: the server has refused it
  }
  return order;
}

std::string remarks_of(const json::Value& task, const std::set<std::string>& needs) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : "; ") + one; };
  std::string after;
  for (const std::string& name : needs) after += (after.empty() ? "after " : ", ") + name;
  if (!after.empty()) add(after);
  if (json::find_path(task, {"parameterIterator"}) || json::find_path(task, {"artifactIterator"}))
    add("for each item");
  if (json::string_at(task, {"triggerPolicy", "strategy"}) == "ALL_UPSTREAM_TASKS_COMPLETED")
    add("always at the end");
  if (std::string when = json::text_at(task, {"triggerPolicy", "condition"}); !when.empty())
    add("if " + when);
  return text;
}

void add_tasks(const json::Value& spec, const json::Value& component, const std::string& path,
               std::size_t depth, const std::map<std::string, std::string>& states,
               std::string& text) {
  const json::Object* tasks = json::object_at(component, {"dag", "tasks"});
  if (tasks == nullptr || depth > 32) return;
  std::map<std::string, std::set<std::string>> needs;
  for (const auto& task : *tasks) needs.emplace(task.key(), needs_of(task.value(), *tasks));
  for (const std::string& name : in_order(needs)) {
    const json::Value& task = tasks->at(name);
    const std::string own = path + "/" + name;
    std::string line(2 * depth, ' ');
    line += name;
    const auto state = states.find(own);
    const std::string remarks = remarks_of(task, needs.at(name));
    if (state != states.end() || !remarks.empty())
      line.resize(std::max(line.size() + 2, kColumn), ' ');
    if (state != states.end()) line += state->second + (remarks.empty() ? "" : "  ");
    text += line + remarks + "\n";
    if (const json::Value* inner =
            json::find_path(spec, {"components", json::string_at(task, {"componentRef", "name"})}))
      add_tasks(spec, *inner, own, depth + 1, states, text);
  }
}

}  // namespace

std::string graph_text(const json::Value& spec, const std::map<std::string, std::string>& states) {
  std::string text = json::text_at(spec, {"pipelineInfo", "name"}) + "\n";
  if (const json::Value* root = json::find_path(spec, {"root"}))
    add_tasks(spec, *root, "root", 1, states, text);
  return text;
}

}  // namespace hekla::cli
