#include "dashboard/stream/message.h"

#include <algorithm>

#include "json/parse.h"
#include "json/raw.h"

namespace hekla::dashboard {

namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// "v1/pods" or "batch/v1/jobs".
Result<kube::Resource> parse_resource(std::string_view name) {
  const std::size_t last = name.rfind('/');
  if (last == std::string_view::npos || last + 1 == name.size() || last == 0)
    return fail(Code::bad_request,
                "resource \"" + std::string(name) + "\": want [GROUP/]VERSION/PLURAL");
  kube::Resource resource;
  resource.plural = name.substr(last + 1);
  const std::string_view version = name.substr(0, last);
  const std::size_t slash = version.find('/');
  if (slash == std::string_view::npos) {
    resource.version = version;
  } else {
    resource.group = version.substr(0, slash);
    resource.version = version.substr(slash + 1);
  }
  if (resource.version.empty() || resource.version.find('/') != std::string::npos)
    return fail(Code::bad_request, "resource \"" + std::string(name) + "\": bad version");
  return resource;
}

// The members of an object but those that `drop` names; `edit` may write a value itself.
template <class Edit>
void copy_members(std::string_view object, std::string& out, Edit edit) {
  out += '{';
  bool first = true;
  for (const json::RawMember& member : json::raw_members(object)) {
    const std::size_t before = out.size();
    if (!first) out += ',';
    out += '"';
    out += member.key;
    out += "\":";
    if (edit(member, out))
      first = false;
    else
      out.resize(before);
  }
  out += '}';
}

bool copy_value(const json::RawMember& member, std::string& out) {
  out += member.value;
  return true;
}

bool copy_annotations(const json::RawMember& member, std::string& out) {
  if (member.value.find(kLastApplied) == std::string_view::npos) return copy_value(member, out);
  copy_members(member.value, out, [](const json::RawMember& annotation, std::string& to) {
    return annotation.key != kLastApplied && copy_value(annotation, to);
  });
  return true;
}

bool copy_metadata(const json::RawMember& member, std::string& out) {
  copy_members(member.value, out, [](const json::RawMember& part, std::string& to) {
    if (part.key == "managedFields") return false;
    return part.key == "annotations" ? copy_annotations(part, to) : copy_value(part, to);
  });
  return true;
}

}  // namespace

Result<StreamRequest> parse_stream_request(std::string_view text) {
  const json::Value value = TRY(json::parse(text));
  StreamRequest out;
  const std::string_view op = json::string_at(value, {"op"});
  out.id = json::int_at(value, {"id"}, -1);
  if (out.id < 0) return fail(Code::bad_request, "a message needs an id");
  if (op == "unsubscribe") {
    out.op = StreamRequest::Op::unsubscribe;
    return out;
  }
  if (op != "subscribe") return fail(Code::bad_request, "unknown op \"" + std::string(op) + "\"");
  out.topic = json::string_at(value, {"topic"});
  out.cursor = json::string_at(value, {"cursor"});
  if (const json::Object* parameters = json::object_at(value, {"parameters"}))
    for (const auto& [name, parameter] : *parameters)
      if (parameter.is_string()) out.parameters[name] = json::sv(parameter.get_string());
  if (!out.topic.empty()) return out;
  out.resource = TRY(parse_resource(json::string_at(value, {"resource"})));
  out.ns = json::string_at(value, {"namespace"});
  out.label_selector = json::string_at(value, {"labelSelector"});
  out.field_selector = json::string_at(value, {"fieldSelector"});
  out.resource.namespaced = true;  // a list of all namespaces is the same path for both
  return out;
}

std::string page_object(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  copy_members(text, out, [](const json::RawMember& member, std::string& to) {
    return member.key == "metadata" ? copy_metadata(member, to) : copy_value(member, to);
  });
  return out;
}

MessageWriter::MessageWriter(std::int64_t id, std::string_view type, std::string_view list) {
  text_ = "{\"id\":" + std::to_string(id) + ",\"type\":\"" + std::string(type) + "\",\"" +
          std::string(list) + "\":[";
}

void MessageWriter::add(std::string_view item) {
  if (count_++ > 0) text_ += ',';
  text_ += item;
}

void MessageWriter::add_change(char type, std::string_view item) {
  if (count_++ > 0) text_ += ',';
  text_ += "[\"";
  text_ += type;
  text_ += "\",";
  text_ += item;
  text_ += ']';
}

std::string MessageWriter::finish_with_more() && {
  text_ += "],\"more\":true}";
  return std::move(text_);
}

std::string MessageWriter::finish_with_cursor(std::string_view cursor) && {
  text_ += "],\"cursor\":";
  json::append_quoted(cursor, text_);
  text_ += '}';
  return std::move(text_);
}

std::string expired_message(std::int64_t id) {
  return "{\"id\":" + std::to_string(id) + ",\"type\":\"expired\"}";
}

std::string refused_message(std::int64_t id, const Error& error) {
  return json::serialize(json::Object{{"id", id},
                                      {"type", "refused"},
                                      {"code", http_status_of(error.code)},
                                      {"reason", reason_of(error.code)},
                                      {"message", error.message}});
}

}  // namespace hekla::dashboard
