#include "apiserver/read/table.h"

#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kNameDescription =
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name "
    "is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. "
    "More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

void append_column(const Column& column, std::string& out) {
  json::Object one;
  one.emplace("name", column.name);
  one.emplace("type", column.type);
  one.emplace("format", column.format);
  one.emplace("description", column.description);
  one.emplace("priority", column.priority);
  json::serialize_to(json::Value(std::move(one)), out);
}

// Kinds without columns of their own show when they were made.
const Column kCreatedAt{"Created At", "date", "", "CreationTimestamp of the object", 0};

// Finished pods are marked, so that kubectl can leave them out.
void append_conditions(const Kind& kind, const json::Value& object, std::string& out) {
  if (kind.resource.plural != "pods" || !kind.resource.group.empty()) return;
  std::string_view phase = json::string_at(object, {"status", "phase"});
  if (phase != "Succeeded" && phase != "Failed") return;
  out += R"(,"conditions":[{"type":"Completed","status":"True","reason":")";
  out += phase;
  out += R"(","message":"The pod has )";
  out += phase == "Succeeded" ? "completed successfully." : "failed.";
  out += R"("}])";
}

}  // namespace

IncludeObject parse_include_object(std::string_view text) {
  if (text == "None") return IncludeObject::none;
  if (text == "Object") return IncludeObject::object;
  return IncludeObject::metadata;
}

void append_partial_metadata(const json::Value& object, std::string_view version,
                             std::string& out) {
  out += R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/)";
  out += version;
  out += R"(","metadata":)";
  const json::Value* metadata = json::find(object, "metadata");
  if (metadata)
    json::serialize_to(*metadata, out);
  else
    out += "{}";
  out += '}';
}

void TableWriter::begin(std::string_view metadata_json, bool headers, std::string& out) {
  out += R"({"kind":"Table","apiVersion":"meta.k8s.io/)";
  out += version_;
  out += R"(","metadata":)";
  out += metadata_json;
  out += R"(,"columnDefinitions":)";
  if (headers)
    append_columns(out);
  else
    out += "null";
  out += R"(,"rows":[)";
  first_ = true;
}

void TableWriter::append_columns(std::string& out) const {
  out += '[';
  if (!served_.kind->printing.names_itself)
    append_column({"Name", "string", "name", std::string(kNameDescription), 0}, out);
  if (!served_.kind->printing.cells) {
    out += ',';
    append_column(kCreatedAt, out);
  } else {
    for (const Column& column : served_.kind->printing.columns) {
      if (out.back() != '[') out += ',';
      append_column(column, out);
    }
  }
  out += ']';
}

void TableWriter::row(const json::Value& object, std::string& out) {
  if (!first_) out += ',';
  first_ = false;
  out += R"({"cells":[)";
  if (!served_.kind->printing.names_itself)
    json::append_quoted(json::string_at(object, {"metadata", "name"}), out);
  if (served_.kind->printing.cells) {
    for (const json::Value& cell : served_.kind->printing.cells(object, now_)) {
      if (out.back() != '[') out += ',';
      json::serialize_to(cell, out);
    }
  } else {
    out += ',';
    json::append_quoted(json::string_at(object, {"metadata", "creationTimestamp"}), out);
  }
  out += ']';
  append_conditions(*served_.kind, object, out);
  out += R"(,"object":)";
  switch (include_) {
    case IncludeObject::none:
      out += "null";
      break;
    case IncludeObject::metadata:
      append_partial_metadata(object, version_, out);
      break;
    case IncludeObject::object:
      json::serialize_to(object, out);
      break;
  }
  out += '}';
}

void TableWriter::end(std::string& out) { out += "]}"; }

}  // namespace hekla::apiserver
