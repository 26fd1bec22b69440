#include "framework/any_object.h"

namespace hekla::framework {

Result<AnyObject> AnyObject::from_node(const json::Node& node) {
  if (!node.is_object()) return json::detail::wrong_kind("object", node);
  AnyObject object;
  Result<void> done;
  auto read = [&](auto& member, const json::Node& value, std::string_view path) {
    done = json::decode_into(value, member);
    if (!done) done = json::detail::within(path, std::move(done).error());
  };
  node.for_each_member([&](std::string_view key, const json::Node& value) {
    if (key == "metadata") {
      read(object.metadata, value, ".metadata");
    } else if (key == "spec") {
      read(object.spec, value, ".spec");
    } else if (key == "status") {
      read(object.status, value, ".status");
    } else if (key != "apiVersion" && key != "kind") {
      json::Value other;
      read(other, value, "." + std::string(key));
      object.rest[key] = std::move(other);
    }
    return done.has_value();
  });
  if (!done) return std::unexpected(std::move(done).error());
  return object;
}

json::Value AnyObject::to_json() const {
  json::Object all{{"metadata", metadata.to_json()}};
  if (!spec.is_null()) all["spec"] = spec;
  if (!status.is_null()) all["status"] = status;
  for (const auto& member : rest) all[member.key()] = member.value();
  return all;
}

}  // namespace hekla::framework
