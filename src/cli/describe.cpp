// The generic description kubectl gives of custom resources: sorted members, camelCase as titles.
#include <algorithm>
#include <map>

#include "base/clock.h"
#include "cli/objects.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

std::string title(std::string_view name) {
  if (name == "uid") return "UID";
  if (name == "apiVersion") return "API Version";
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0 && !(name[i - 1] >= 'A' && name[i - 1] <= 'Z')) text += ' ';
    text += i == 0 && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string scalar(const json::Value& value) {
  if (value.is_string()) return std::string(json::sv(value.get_string()));
  return json::serialize(value);
}

void describe_value(const json::Value& value, int level, std::string& out);

void describe_members(const json::Object& object, int level, std::string& out) {
  std::map<std::string, const json::Value*> sorted;
  std::size_t width = 0;
  for (const auto& member : object) {
    sorted[title(member.key())] = &member.value();
    if (!member.value().is_structured()) width = std::max(width, title(member.key()).size());
  }
  std::string indent(static_cast<std::size_t>(level) * 2, ' ');
  for (const auto& [name, value] : sorted) {
    if (value->is_null()) continue;
    out += indent + name + ":";
    if (value->is_structured()) {
      out += '\n';
      describe_value(*value, level + 1, out);
    } else {
      out.append(width + 2 - name.size(), ' ');
      out += scalar(*value) + "\n";
    }
  }
}

void describe_value(const json::Value& value, int level, std::string& out) {
  if (value.is_object()) {
    describe_members(value.get_object(), level, out);
  } else if (value.is_array()) {
    for (const json::Value& element : value.get_array()) {
      if (element.is_structured())
        describe_value(element, level, out);
      else
        out += std::string(static_cast<std::size_t>(level) * 2, ' ') + scalar(element) + "\n";
    }
  }
}

std::string pairs(const json::Value& object, std::string_view member, std::string_view separator) {
  const json::Object* found = json::object_at(object, {"metadata", member});
  std::string text;
  if (found)
    for (const auto& one : *found) {
      if (std::string_view(one.key()) == "kubectl.kubernetes.io/last-applied-configuration")
        continue;
      if (!text.empty()) text += "\n              ";
      text += std::string(one.key()) + std::string(separator) + scalar(one.value());
    }
  return text.empty() ? "<none>" : text;
}

}  // namespace

std::string described(const json::Value& object) {
  auto line = [](std::string name, const std::string& value) {
    name += ":";
    name.resize(std::max<std::size_t>(name.size(), 13), ' ');
    return name + " " + value + "\n";
  };
  std::string out =
      line("Name", std::string(json::string_at(object, {"metadata", "name"}))) +
      line("Namespace", std::string(json::string_at(object, {"metadata", "namespace"}))) +
      line("Labels", pairs(object, "labels", "=")) +
      line("Annotations", pairs(object, "annotations", ": ")) +
      line("API Version", std::string(json::string_at(object, {"apiVersion"}))) +
      line("Kind", std::string(json::string_at(object, {"kind"})));
  json::Object rest = object.get_object();
  for (const char* member : {"apiVersion", "kind"}) rest.erase(member);
  if (json::Value* meta = rest.if_contains("metadata"); meta && meta->is_object())
    for (const char* member : {"name", "namespace", "labels", "annotations", "managedFields"})
      meta->get_object().erase(member);
  describe_members(rest, 0, out);
  return out;
}

namespace {

// The events of one object as kubectl's describe shows them.
Result<std::string> events_of(ApiSession& session, const std::string& ns, const std::string& uid) {
  json::Value events = TRY(session.call(
      "GET", "/api/v1/namespaces/" + ns + "/events?fieldSelector=involvedObject.uid%3D" + uid));
  std::vector<std::vector<std::string>> rows{{"  Type", "Reason", "Age", "From", "Message"},
                                             {"  ----", "------", "----", "----", "-------"}};
  const json::Array* items = json::array_at(events, {"items"});
  for (std::size_t e = 0; items && e < items->size(); ++e) {
    const json::Value& event = (*items)[e];
    auto text = [&](std::initializer_list<std::string_view> path) {
      return std::string(json::string_at(event, path));
    };
    std::string age = "<unknown>";
    if (auto last = model::parse_rfc3339(text({"lastTimestamp"})))
      age = model::human_duration(real_clock().wall() - *last);
    if (std::int64_t count = json::int_at(event, {"count"}); count > 1)
      age += " (x" + std::to_string(count) + ")";
    rows.push_back({"  " + text({"type"}), text({"reason"}), age, text({"source", "component"}),
                    text({"message"})});
  }
  return rows.size() == 2 ? "Events:  <none>\n" : "Events:\n" + columns(rows);
}

}  // namespace

Result<void> describe_objects(ApiSession& session, const GetOptions& options) {
  std::string ns = options.ns.empty() ? session.access().default_namespace : options.ns;
  for (const Wanted& wanted : wanted_of(options.what)) {
    kube::Resource resource = TRY(find_resource(session, wanted.type));
    std::vector<std::string> names = wanted.names;
    if (names.empty()) {
      json::Value all = TRY(session.call("GET", ApiSession::path_of(resource, ns)));
      if (const json::Array* items = json::array_at(all, {"items"}))
        for (const json::Value& item : *items)
          names.emplace_back(json::string_at(item, {"metadata", "name"}));
    }
    for (const std::string& name : names) {
      json::Value object = TRY(session.call("GET", ApiSession::path_of(resource, ns, name)));
      std::string events =
          TRY(events_of(session, resource.namespaced ? ns : std::string("default"),
                        std::string(json::string_at(object, {"metadata", "uid"}))));
      std::fputs((described(object) + events).c_str(), stdout);
    }
  }
  return {};
}

}  // namespace hekla::cli
