#include "controllers/framework/writes.h"

namespace hekla::controllers {

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

}  // namespace hekla::controllers
