#include "framework/writes.h"

#include "json/patch.h"

namespace hekla::framework {

kube::Write create(const kube::Resource& resource, const std::string& ns, json::Value body) {
  kube::Write write;
  write.verb = kube::Write::Verb::create;
  write.resource = resource;
  write.key = kube::Key{ns, std::string(json::string_at(body, {"metadata", "name"}))};
  write.body = std::move(body);
  return write;
}

kube::Write merge_patch(const kube::Resource& resource, kube::Key key, json::Value patch,
                        std::string subresource) {
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = resource;
  write.key = std::move(key);
  write.subresource = std::move(subresource);
  write.body = std::move(patch);
  write.patch_type = kube::PatchType::merge;
  return write;
}

kube::Write apply_patch(const kube::Resource& resource, const std::string& ns, json::Value body) {
  kube::Write write = create(resource, ns, std::move(body));
  write.verb = kube::Write::Verb::patch;
  write.patch_type = kube::PatchType::apply;
  write.force = true;
  return write;
}

kube::Write remove(const kube::Resource& resource, kube::Key key, std::string uid) {
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = resource;
  write.key = std::move(key);
  write.precondition_uid = std::move(uid);
  return write;
}

std::optional<kube::Write> status_write(const kube::Resource& resource, const kube::Key& key,
                                        const json::Value& stored, const json::Object& wanted) {
  const json::Value from = stored.is_object() ? stored : json::Value(json::Object());
  json::Value change = json::diff_merge(from, json::Value(wanted));
  if (!change.is_object() || change.get_object().empty()) return std::nullopt;
  return merge_patch(resource, key, json::Object{{"status", std::move(change)}}, "status");
}

}  // namespace hekla::framework
