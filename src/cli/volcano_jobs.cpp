#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/objects.h"
#include "cli/volcano.h"
#include "model/quantity.h"

namespace hekla::cli {
namespace {

std::string at(const json::Value& object, std::initializer_list<std::string_view> path) {
  return std::string(json::string_at(object, path));
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

Result<std::vector<json::Value>> items_of(ApiSession& session, const kube::Resource& resource,
                                          const std::string& ns, bool all) {
  kube::Resource where = resource;
  if (all) where.namespaced = false;
  json::Value list = TRY(session.call("GET", ApiSession::path_of(where, ns)));
  std::vector<json::Value> items;
  if (const json::Array* found = json::array_at(list, {"items"}))
    items.assign(found->begin(), found->end());
  return items;
}

json::Value job_from_flags(const JobRun& options, json::Object requests, json::Object limits,
                           json::Array command) {
  json::Object container{{"image", options.image},
                         {"name", options.name},
                         {"imagePullPolicy", "IfNotPresent"},
                         {"resources", json::Object{{"limits", std::move(limits)},
                                                    {"requests", std::move(requests)}}}};
  if (!command.empty()) container["command"] = std::move(command);
  json::Object spec{{"restartPolicy", "Never"}, {"containers", json::Array{std::move(container)}}};
  json::Object metadata{{"name", options.name},
                        {"labels", json::Object{{"job.volcano.sh", options.name}}}};
  json::Object task{
      {"replicas", options.replicas},
      {"template", json::Object{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}}}};
  return json::Object{{"apiVersion", kube::resources::vcjobs.api_version()},
                      {"kind", kube::resources::vcjobs.kind},
                      {"metadata", json::Object{{"name", options.name}, {"namespace", options.ns}}},
                      {"spec", json::Object{{"minAvailable", options.minimum},
                                            {"schedulerName", options.scheduler},
                                            {"tasks", json::Array{std::move(task)}}}}};
}

std::int64_t replicas_of(const json::Value& job) {
  std::int64_t total = 0;
  if (const json::Array* tasks = json::array_at(job, {"spec", "tasks"}))
    for (const json::Value& task : *tasks) total += json::int_at(task, {"replicas"});
  return total;
}

}  // namespace

Result<json::Object> parse_resources(const std::string& text) {
  json::Object list;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string one = text.substr(begin, end - begin);
    begin = end + 1;
    std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::bad_request, "\"" + one + "\" is not of the form name=quantity");
    TRY(model::Quantity::parse(one.substr(equals + 1)));
    list[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return list;
}

Result<json::Array> split_words(std::string_view text) {
  json::Array words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool escape = c == '\\' && quote != '\'' && i + 1 < text.size() &&
                  (quote == 0 || text[i + 1] == '"' || text[i + 1] == '\\');
    if (escape) {
      word.emplace(word.value_or("")) += text[++i];
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
      if (!word) word.emplace();  // "" is a word, too
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (word) words.push_back(json::Value(*word));
      word.reset();
    } else {
      word.emplace(word.value_or("")) += c;
    }
  }
  if (quote != 0)
    return fail(Code::bad_request, "the command \"" + std::string(text) + "\" ends within quotes");
  if (word) words.push_back(json::Value(*word));
  return words;
}

Result<void> run_job(ApiSession& session, const JobRun& options) {
  if (options.name.empty() && options.file.empty())
    return fail(Code::bad_request, "job name cannot be left blank");
  json::Value job;
  if (!options.file.empty()) {
    std::vector<Manifest> manifests = TRY(read_manifests({options.file}));
    if (manifests.size() != 1 || at(manifests[0].object, {"kind"}) != "Job")
      return fail(Code::bad_request, options.file + " must hold exactly one Job");
    job = std::move(manifests[0].object);
    if (!options.name.empty()) json::at_path(job, {"metadata", "name"}) = options.name;
    if (at(job, {"metadata", "namespace"}).empty())
      json::at_path(job, {"metadata", "namespace"}) = options.ns;
  } else {
    job = job_from_flags(options, TRY(parse_resources(options.requests)),
                         TRY(parse_resources(options.limits)), TRY(split_words(options.command)));
  }
  json::Value made = TRY(session.call(
      "POST", ApiSession::path_of(kube::resources::vcjobs, at(job, {"metadata", "namespace"})),
      json::serialize(job)));
  std::printf("run job %s successfully\n", at(made, {"metadata", "name"}).c_str());
  return {};
}

Result<void> list_jobs(ApiSession& session, const ListFilter& filter) {
  std::vector<json::Value> jobs =
      TRY(items_of(session, kube::resources::vcjobs, filter.ns, filter.all_namespaces));
  std::erase_if(jobs, [&](const json::Value& job) {
    return (!filter.queue.empty() && at(job, {"spec", "queue"}) != filter.queue) ||
           (!filter.scheduler.empty() && at(job, {"spec", "schedulerName"}) != filter.scheduler) ||
           (!filter.selector.empty() &&
            at(job, {"metadata", "name"}).find(filter.selector) == std::string::npos);
  });
  if (jobs.empty()) {
    std::puts("No resources found");
    return {};
  }
  std::size_t name_width = 4, ns_width = 9;
  for (const json::Value& job : jobs) {
    name_width = std::max(name_width, at(job, {"metadata", "name"}).size());
    ns_width = std::max(ns_width, at(job, {"metadata", "namespace"}).size());
  }
  auto line = [&](const std::string& ns, const std::vector<std::string>& cells) {
    constexpr std::size_t kWidths[] = {0, 15, 12, 12, 12, 6, 10, 10, 12, 10, 12, 10};
    std::string text = filter.all_namespaces ? padded(ns, ns_width + 3) : "";
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += padded(cells[i], i == 0 ? name_width + 3 : kWidths[i]);
    std::puts(text.c_str());
  };
  line("Namespace", {"Name", "Creation", "Phase", "JobType", "Replicas", "Min", "Pending",
                     "Running", "Succeeded", "Failed", "Unknown", "RetryCount"});
  for (const json::Value& job : jobs) {
    auto count = [&](std::string_view member) {
      return std::to_string(json::int_at(job, {"status", member}));
    };
    std::string type = at(job, {"metadata", "labels", "volcano.sh/job-type"});
    line(at(job, {"metadata", "namespace"}),
         {at(job, {"metadata", "name"}), at(job, {"metadata", "creationTimestamp"}).substr(0, 10),
          at(job, {"status", "state", "phase"}), type.empty() ? "Batch" : type,
          std::to_string(replicas_of(job)),
          std::to_string(json::int_at(job, {"spec", "minAvailable"})), count("pending"),
          count("running"), count("succeeded"), count("failed"), count("unknown"),
          count("retryCount")});
  }
  return {};
}

Result<void> list_pods(ApiSession& session, const ListFilter& filter) {
  kube::Resource where = kube::resources::pods;
  if (filter.all_namespaces) where.namespaced = false;
  std::string path = ApiSession::path_of(where, filter.ns);
  if (!filter.job.empty())
    path += "?labelSelector=" + net::url_encode("volcano.sh/job-name=" + filter.job);
  // A queue holds jobs' pods and plain ones, which name it in an annotation.
  auto is_wanted = [&](const json::Value& row) {
    auto noted = [&](std::string_view where, std::string_view key) {
      return at(row, {"object", "metadata", where, key});
    };
    if (filter.queue.empty()) return !noted("labels", "volcano.sh/job-name").empty();
    return noted("labels", "volcano.sh/queue-name") == filter.queue ||
           noted("annotations", "scheduling.volcano.sh/queue-name") == filter.queue;
  };
  std::vector<std::vector<std::string>> rows{{"Name", "Ready", "Status", "Restart", "Age"}};
  const std::size_t columns_of_pod = rows[0].size();
  if (filter.all_namespaces) rows[0].insert(rows[0].begin(), "Namespace");
  // The server says how a pod stands, as it does for kubectl get pods.
  json::Value table = TRY(session.call("GET", path, {}, {}, kTable));
  const json::Array* given = json::array_at(table, {"rows"});
  for (std::size_t i = 0; given && i < given->size(); ++i) {
    const json::Array* cells = json::array_at(given->at(i), {"cells"});
    if (!cells || cells->size() < columns_of_pod || !is_wanted(given->at(i))) continue;
    std::vector<std::string>& row = rows.emplace_back();
    if (filter.all_namespaces) row.push_back(at(given->at(i), {"object", "metadata", "namespace"}));
    for (std::size_t cell = 0; cell < columns_of_pod; ++cell)
      row.push_back(cell_text(cells->at(cell)));
  }
  if (rows.size() == 1)
    std::puts("No resources found");
  else
    std::fputs(columns(rows).c_str(), stdout);
  return {};
}

Result<void> view_job(ApiSession& session, const std::string& ns, const std::string& name) {
  if (name.empty())
    return fail(Code::bad_request,
                "job name (specified by --name or -N) is mandatory to view a particular job");
  GetOptions options;
  options.ns = ns;
  options.what = {"jobs.batch.volcano.sh", name};
  return describe_objects(session, options);
}

Result<void> command_job(ApiSession& session, const std::string& ns, const std::string& name,
                         const std::string& action) {
  if (name.empty())
    return fail(Code::bad_request, std::string("job name is mandatory to ") +
                                       (action == "AbortJob" ? "suspend" : "resume") +
                                       " a particular job");
  json::Value job =
      TRY(session.call("GET", ApiSession::path_of(kube::resources::vcjobs, ns, name)));
  json::Object target{{"apiVersion", kube::resources::vcjobs.api_version()},
                      {"kind", kube::resources::vcjobs.kind},
                      {"name", name},
                      {"uid", at(job, {"metadata", "uid"})},
                      {"controller", true},
                      {"blockOwnerDeletion", true}};
  std::string lower = action;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  json::Object command{{"apiVersion", kube::resources::commands.api_version()},
                       {"kind", kube::resources::commands.kind},
                       {"metadata", json::Object{{"generateName", name + "-" + lower + "-"},
                                                 {"namespace", ns},
                                                 {"ownerReferences", json::Array{target}}}},
                       {"action", action},
                       {"target", target}};
  TRY(session.call("POST", ApiSession::path_of(kube::resources::commands, ns),
                   json::serialize(command)));
  return {};
}

Result<void> delete_job(ApiSession& session, const std::string& ns, const std::string& name) {
  if (name.empty())
    return fail(Code::bad_request, "job name is mandatory to delete a particular job");
  TRY(session.call("DELETE", ApiSession::path_of(kube::resources::vcjobs, ns, name)));
  std::printf("delete job %s successfully\n", name.c_str());
  return {};
}

}  // namespace hekla::cli
