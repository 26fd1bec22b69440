#include "cli/objects.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "cli/live/progress.h"
#include "json/go_text.h"
#include "json/jsonpath.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::string namespace_of(ApiSession& session, const GetOptions& options) {
  return options.ns.empty() ? session.access().default_namespace : options.ns;
}

std::string collection_path(const kube::Resource& resource, const std::string& ns, bool all) {
  kube::Resource everywhere = resource;
  if (all) everywhere.namespaced = false;
  return ApiSession::path_of(everywhere, ns);
}

}  // namespace

std::vector<Wanted> wanted_of(const std::vector<std::string>& what) {
  std::vector<Wanted> wanted;
  if (what.empty()) return wanted;
  if (what[0].find('/') == std::string::npos) {
    std::size_t begin = 0;
    while (begin <= what[0].size()) {
      std::size_t comma = std::min(what[0].find(',', begin), what[0].size());
      wanted.push_back({what[0].substr(begin, comma - begin), {what.begin() + 1, what.end()}});
      begin = comma + 1;
    }
    return wanted;
  }
  for (const std::string& one : what) {
    std::size_t slash = one.find('/');
    wanted.push_back({one.substr(0, slash),
                      {slash == std::string::npos ? std::string() : one.substr(slash + 1)}});
  }
  return wanted;
}

std::string qualified(const kube::Resource& resource) {
  std::string singular = resource.kind;
  for (char& c : singular) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return resource.group.empty() ? singular : singular + "." + resource.group;
}

Result<std::vector<std::string>> expand_files(const std::vector<std::string>& files) {
  std::vector<std::string> all;
  for (const std::string& file : files) {
    std::error_code error;
    if (!std::filesystem::is_directory(file, error)) {
      all.push_back(file);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(file, error)) {
      std::string suffix = entry.path().extension();
      if (suffix == ".yaml" || suffix == ".yml" || suffix == ".json")
        inside.push_back(entry.path());
    }
    std::sort(inside.begin(), inside.end());
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

namespace {

void add_rows(const json::Value& table, bool wide, bool with_namespace, bool header,
              std::vector<std::vector<std::string>>& rows) {
  const json::Array* definitions = json::array_at(table, {"columnDefinitions"});
  if (!definitions) return;
  std::vector<std::size_t> shown;
  std::vector<std::string> head;
  if (with_namespace) head.emplace_back("NAMESPACE");
  for (std::size_t i = 0; i < definitions->size(); ++i) {
    if (!wide && json::int_at((*definitions)[i], {"priority"}) != 0) continue;
    shown.push_back(i);
    std::string name(json::string_at((*definitions)[i], {"name"}));
    for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    head.push_back(name);
  }
  if (header) rows.push_back(std::move(head));
  const json::Array* given = json::array_at(table, {"rows"});
  for (std::size_t r = 0; given && r < given->size(); ++r) {
    std::vector<std::string> row;
    if (with_namespace)
      row.emplace_back(json::string_at((*given)[r], {"object", "metadata", "namespace"}));
    const json::Array* cells = json::array_at((*given)[r], {"cells"});
    for (std::size_t i : shown)
      row.push_back(cells && i < cells->size() ? cell_text((*cells)[i]) : "");
    rows.push_back(std::move(row));
  }
}

// Of a list the path begins at the list, as kubectl has it: {.items[*].metadata.name}.
Result<bool> print_path(const json::Value& object, const std::string& text) {
  Result<json::JsonPath> path = json::JsonPath::parse(text);
  if (!path) return fail(Code::bad_request, "-o jsonpath=" + text + ": " + path.error().message);
  std::string out;
  for (const json::Value* value : path->find(object))
    out += (out.empty() ? "" : " ") + cell_text(*value);
  std::printf("%s\n", out.c_str());
  return true;
}

// Prints one type; false when nothing was found.
Result<bool> get_type(ApiSession& session, const GetOptions& options, const Wanted& wanted) {
  kube::Resource resource = TRY(find_resource(session, wanted.type));
  bool all = options.all_namespaces && resource.namespaced;
  std::string ns = namespace_of(session, options);
  std::vector<std::string> paths;
  for (const std::string& name : wanted.names)
    paths.push_back(ApiSession::path_of(resource, ns, name));
  std::string query =
      options.selector.empty() ? "" : "?labelSelector=" + net::url_encode(options.selector);
  if (paths.empty()) paths.push_back(collection_path(resource, ns, all) + query);
  bool table = options.output.empty() || options.output == "wide";
  std::vector<std::vector<std::string>> rows;
  json::Array objects;
  for (const std::string& path : paths) {
    json::Value answer = TRY(session.call("GET", path, {}, {}, table ? kTable : ""));
    if (table) {
      add_rows(answer, options.output == "wide", all, rows.empty(), rows);
    } else if (const json::Array* items = json::array_at(answer, {"items"})) {
      for (const json::Value& item : *items) objects.push_back(item);
    } else {
      objects.push_back(std::move(answer));
    }
  }
  if (table) {
    if (rows.size() > 1) std::fputs(columns(rows).c_str(), stdout);
    return rows.size() > 1;
  }
  for (json::Value& object : objects)
    json::at_path(object, {"metadata"}).get_object().erase("managedFields");
  if (options.output == "name") {
    for (const json::Value& object : objects)
      std::printf("%s/%s\n", qualified(resource).c_str(),
                  std::string(json::string_at(object, {"metadata", "name"})).c_str());
    return !objects.empty();
  }
  json::Value shown =
      wanted.names.size() == 1 && objects.size() == 1
          ? objects[0]
          : json::Value(json::Object{
                {"apiVersion", "v1"}, {"items", std::move(objects)}, {"kind", "List"}});
  if (options.output.starts_with("jsonpath="))
    return print_path(shown, options.output.substr(options.output.find('=') + 1));
  std::string text =
      options.output == "yaml" ? json::to_yaml(shown) : json::serialize_pretty(shown, 4) + "\n";
  std::fputs(text.c_str(), stdout);
  return true;
}

// Prints rows as they change, for as long as the server goes on.
Result<void> watch_type(ApiSession& session, const GetOptions& options, const Wanted& wanted) {
  kube::Resource resource = TRY(find_resource(session, wanted.type));
  bool all = options.all_namespaces && resource.namespaced;
  std::string path = collection_path(resource, namespace_of(session, options), all) + "?watch=true";
  if (!options.selector.empty()) path += "&labelSelector=" + net::url_encode(options.selector);
  if (wanted.names.size() == 1)
    path += "&fieldSelector=" + net::url_encode("metadata.name=" + wanted.names[0]);
  std::string rest;
  json::Value definitions;
  bool header = true;
  return session.stream(path, kTable, [&](std::string_view piece) {
    rest += piece;
    for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
      Result<json::Value> event = json::parse(std::string_view(rest).substr(0, end));
      const json::Value* table = event ? json::find(*event, "object") : nullptr;
      if (!table) continue;
      json::Value shown = *table;
      // Only the first event carries the columns.
      if (json::array_at(shown, {"columnDefinitions"}))
        definitions = *json::find(shown, "columnDefinitions");
      else
        shown.get_object()["columnDefinitions"] = definitions;
      std::vector<std::vector<std::string>> rows;
      add_rows(shown, options.output == "wide", all, header, rows);
      header = false;
      std::fputs(columns(rows).c_str(), stdout);
      std::fflush(stdout);
    }
  });
}

}  // namespace

Result<void> get_objects(ApiSession& session, const GetOptions& options) {
  std::vector<Wanted> wanted = wanted_of(options.what);
  if (options.watch) {
    if (wanted.size() != 1)
      return fail(Code::bad_request, "you may only specify a single resource type to watch");
    return watch_type(session, options, wanted[0]);
  }
  bool found = false;
  for (const Wanted& one : wanted) found |= TRY(get_type(session, options, one));
  if (found) return {};
  std::string where =
      options.all_namespaces ? "" : " in " + namespace_of(session, options) + " namespace.";
  std::fprintf(stderr, "No resources found%s\n", where.c_str());
  return {};
}

json::Value apply_patch_of(const json::Value& last, const json::Value& next) {
  if (!last.is_object() || !next.is_object()) return next;
  json::Object patch;
  for (const auto& member : next.get_object()) {
    const json::Value* before = json::find(last, member.key());
    patch[member.key()] = before ? apply_patch_of(*before, member.value()) : member.value();
  }
  for (const auto& member : last.get_object())
    if (!next.get_object().contains(member.key())) patch[member.key()] = nullptr;
  return patch;
}

namespace {

// Whether the object already says everything the patch asks for: what the server has filled in,
// also inside lists, is no difference.
bool covers(const json::Value& object, const json::Value& patch) {
  if (patch.is_object() && object.is_object())
    return std::all_of(patch.get_object().begin(), patch.get_object().end(),
                       [&](const auto& member) {
                         const json::Value* there = json::find(object, member.key());
                         if (member.value().is_null()) return there == nullptr;
                         return there != nullptr && covers(*there, member.value());
                       });
  // A quantity that is given as a number is kept as text.
  if (object.is_string() && patch.is_number())
    return json::sv(object.get_string()) == json::serialize(patch);
  if (!patch.is_array() || !object.is_array()) return json::equal(object, patch);
  const json::Array &have = object.get_array(), &want = patch.get_array();
  return have.size() == want.size() &&
         std::equal(have.begin(), have.end(), want.begin(), want.end(), covers);
}

std::string namespace_for(ApiSession& session, const std::string& ns, const json::Value& object) {
  std::string own(json::string_at(object, {"metadata", "namespace"}));
  if (own.empty()) own = ns.empty() ? session.access().default_namespace : ns;
  return own;
}

struct Doomed {
  kube::Resource resource;
  std::string ns, name;
};

// Deletes what can be deleted, whatever the rest says, as kubectl does.
Result<void> delete_each(ApiSession& session, const std::vector<Doomed>& all) {
  std::optional<Error> failed;
  for (const Doomed& one : all) {
    Result<json::Value> gone =
        session.call("DELETE", ApiSession::path_of(one.resource, one.ns, one.name));
    if (gone) {
      std::printf("%s \"%s\" deleted\n", qualified(one.resource).c_str(), one.name.c_str());
      continue;
    }
    if (failed) std::fprintf(stderr, "hekla: %s\n", failed->message.c_str());
    failed = gone.error();
  }
  if (failed) return std::unexpected(*failed);
  return {};
}

}  // namespace

// Adds the annotation in which kubectl keeps what it applied last.
Result<Applied> apply_object(ApiSession& session, const json::Value& given,
                             const std::string& otherwise) {
  const std::string query = "?fieldManager=kubectl-client-side-apply&fieldValidation=Strict";
  const kube::Resource resource = TRY(session.resource_of(given));
  const std::string ns = namespace_for(session, otherwise, given);
  std::string name(json::string_at(given, {"metadata", "name"}));
  json::Value object = given;
  if (name.empty())
    return Applied{resource,
                   TRY(session.call("POST", ApiSession::path_of(resource, ns) + query,
                                    json::serialize(object))),
                   "created"};
  json::Value plain = object;
  if (resource.namespaced) json::at_path(plain, {"metadata", "namespace"}) = ns;
  if (!json::object_at(plain, {"metadata", "annotations"}))
    json::at_path(plain, {"metadata", "annotations"}) = json::Object();
  object = plain;
  json::at_path(object, {"metadata", "annotations"}).get_object()[kLastApplied] =
      json::go_text(plain) + "\n";
  Result<json::Value> there = session.call("GET", ApiSession::path_of(resource, ns, name));
  if (!there && there.error().code != Code::not_found) return std::unexpected(there.error());
  if (!there)
    return Applied{resource,
                   TRY(session.call("POST", ApiSession::path_of(resource, ns) + query,
                                    json::serialize(object))),
                   "created"};
  json::Value last = json::Object();
  std::string_view text = json::string_at(*there, {"metadata", "annotations", kLastApplied});
  if (Result<json::Value> parsed = json::parse(text); parsed) last = std::move(*parsed);
  json::Value patch = apply_patch_of(last, object);
  if (covers(*there, patch)) return Applied{resource, std::move(*there), "unchanged"};
  json::Value after = TRY(session.call("PATCH", ApiSession::path_of(resource, ns, name) + query,
                                       json::serialize(patch), "application/merge-patch+json"));
  bool same = json::string_at(*there, {"metadata", "resourceVersion"}) ==
              json::string_at(after, {"metadata", "resourceVersion"});
  return Applied{resource, std::move(after), same ? "unchanged" : "configured"};
}

Result<void> apply_files(ApiSession& session, const ApplyOptions& options) {
  std::vector<Manifest> manifests = TRY(read_manifests(TRY(expand_files(options.files))));
  if (manifests.empty()) return fail(Code::bad_request, "no objects passed to apply");
  std::optional<Error> first;
  for (const Manifest& manifest : manifests) {
    auto one = [&]() -> Result<void> {
      kube::Resource resource = TRY(session.resource_of(manifest.object));
      std::string ns = namespace_for(session, options.ns, manifest.object);
      std::string name(json::string_at(manifest.object, {"metadata", "name"}));
      std::string outcome = "serverside-applied";
      if (options.server_side)
        TRY(session.call("PATCH", ApiSession::path_of(resource, ns, name) + "?fieldManager=kubectl",
                         json::serialize(manifest.object), "application/apply-patch+yaml"));
      else
        outcome = TRY(apply_object(session, manifest.object, options.ns)).outcome;
      std::printf("%s/%s %s\n", qualified(resource).c_str(), name.c_str(), outcome.c_str());
      return {};
    };
    // The rest of the file is applied all the same, as kubectl does.
    if (Result<void> done = one(); !done) {
      std::fprintf(stderr, "Error from server: %s: %s\n",
                   manifest.place_of(done.error().message).c_str(), done.error().message.c_str());
      if (!first) first = done.error();
    }
  }
  if (first) return fail(first->code, "not everything was applied");
  return {};
}

Result<void> delete_files(ApiSession& session, const ApplyOptions& options) {
  std::vector<Doomed> all;
  for (const Manifest& manifest : TRY(read_manifests(TRY(expand_files(options.files)))))
    all.push_back({TRY(session.resource_of(manifest.object)),
                   namespace_for(session, options.ns, manifest.object),
                   std::string(json::string_at(manifest.object, {"metadata", "name"}))});
  return delete_each(session, all);
}

Result<void> delete_objects(ApiSession& session, const GetOptions& options) {
  if (options.what.empty())
    return fail(Code::bad_request,
                "name what to delete: TYPE NAME..., TYPE -l LABELS, TYPE --all, or -f FILE (see "
                "hekla delete "
                "--help)");
  std::vector<Doomed> all;
  for (const Wanted& wanted : wanted_of(options.what)) {
    kube::Resource resource = TRY(find_resource(session, wanted.type));
    std::string ns = namespace_of(session, options);
    std::vector<std::string> names = wanted.names;
    if (names.empty() && (options.all || !options.selector.empty())) {
      json::Value list =
          TRY(session.call("GET", ApiSession::path_of(resource, ns) +
                                      "?labelSelector=" + net::url_encode(options.selector)));
      if (const json::Array* items = json::array_at(list, {"items"}))
        for (const json::Value& item : *items)
          names.emplace_back(json::string_at(item, {"metadata", "name"}));
    } else if (names.empty()) {
      return fail(Code::bad_request, "resource(s) were provided, but no name was specified");
    }
    for (const std::string& name : names) all.push_back({resource, ns, name});
  }
  return delete_each(session, all);
}

namespace {

// {.status.state.phase} against an object; the text found there.
std::string at_json_path(const json::Value& object, std::string path) {
  std::erase_if(path, [](char c) { return c == '{' || c == '}' || c == '\''; });
  const json::Value* at = &object;
  for (std::size_t begin = path.starts_with('.') ? 1 : 0; at && begin < path.size();) {
    std::size_t end = std::min(path.find('.', begin), path.size());
    at = json::find(*at, path.substr(begin, end - begin));
    begin = end + 1;
  }
  return at ? cell_text(*at) : "";
}

// Compares as kubectl compares conditions: the case of letters does not count.
bool is_same_word(std::string_view a, std::string_view b) {
  auto small = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  return std::ranges::equal(a, b, {}, small, small);
}

bool holds(const json::Value& object, const std::string& condition) {
  if (condition.starts_with("jsonpath=")) {
    std::size_t equals = condition.rfind('=');
    if (equals < 9) return !at_json_path(object, condition.substr(9)).empty();
    return at_json_path(object, condition.substr(9, equals - 9)) == condition.substr(equals + 1);
  }
  std::string name = condition.substr(condition.find('=') + 1), value = "True";
  if (std::size_t equals = name.find('='); equals != std::string::npos) {
    value = name.substr(equals + 1);
    name.erase(equals);
  }
  const json::Array* conditions = json::array_at(object, {"status", "conditions"});
  for (std::size_t i = 0; conditions && i < conditions->size(); ++i)
    if (is_same_word(json::string_at((*conditions)[i], {"type"}), name))
      return is_same_word(json::string_at((*conditions)[i], {"status"}), value);
  return false;
}

}  // namespace

Result<void> wait_for(ApiSession& session, const GetOptions& options, const std::string& condition,
                      std::chrono::seconds timeout) {
  if (condition != "delete" && !condition.starts_with("condition=") &&
      !condition.starts_with("jsonpath="))
    return fail(Code::bad_request, "unrecognized condition: \"" + condition + "\"");
  MonoTime end = real_clock().mono() + timeout;
  for (const Wanted& wanted : wanted_of(options.what)) {
    kube::Resource resource = TRY(find_resource(session, wanted.type));
    if (wanted.names.empty() || wanted.names[0].empty())
      return fail(Code::bad_request, "resource(s) were provided, but no name was specified");
    for (const std::string& name : wanted.names) {
      const Progress progress(options.quiet,
                              "waiting for " + condition + " of " + resource.plural + "/" + name);
      while (true) {
        Result<json::Value> object = session.call(
            "GET", ApiSession::path_of(resource, namespace_of(session, options), name));
        bool gone = !object && object.error().code == Code::not_found;
        if (!object && !(gone && condition == "delete")) return std::unexpected(object.error());
        if (gone || (condition != "delete" && holds(*object, condition))) {
          std::printf("%s/%s condition met\n", qualified(resource).c_str(), name.c_str());
          break;
        }
        if (real_clock().mono() >= end)
          return fail(Code::timeout,
                      "timed out waiting for the condition on " + resource.plural + "/" + name);
        ::poll(nullptr, 0, 200);
      }
    }
  }
  return {};
}

}  // namespace hekla::cli
