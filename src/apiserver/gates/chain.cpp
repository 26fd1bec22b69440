#include "apiserver/gates/chain.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "apiserver/object/storage.h"
#include "apiserver/text/errors.h"

namespace hekla::apiserver {

namespace {

bool concerns(const kube::AdmissionStep& step, const kube::AdmissionRequest& request) {
  return !step.matches || step.matches(request.resource, request.operation, request.subresource);
}

// Steps with a dotted name stand where others have a webhook, and are refused in a webhook's words;
// the server's own word their refusals themselves.
bool is_plugged(const kube::AdmissionStep& step) {
  return step.name.find('.') != std::string_view::npos;
}

Error denial(const kube::AdmissionStep& step, Error error) {
  if (!is_plugged(step)) return error;
  error.message =
      "admission webhook \"" + std::string(step.name) + "\" denied the request: " + error.message;
  return error;
}

// The objects this thread has lately been asked for, decoded. An entry keeps its item, so that no
// other can come to have the same address.
kube::SharedValue decoded(const ServedPtr& served, const store::ItemPtr& item) {
  struct Entry {
    store::ItemPtr item;
    ServedPtr served;
    kube::SharedValue object;
  };
  thread_local std::array<Entry, 64> entries;
  Entry& entry = entries[(reinterpret_cast<std::uintptr_t>(item.get()) >> 6) % entries.size()];
  if (entry.item != item || entry.served != served)
    entry = {item, served, std::make_shared<const json::Value>(decode_object(*served, *item))};
  return entry.object;
}

}  // namespace

Result<kube::SharedValue> SnapshotReader::get(const kube::Resource& resource,
                                              const kube::Key& key) const {
  ServedPtr served = catalog_.find(resource);
  if (!served) return std::unexpected(no_such_resource_error());
  store::ItemPtr item = snapshot_.get(served->bucket, storage_key(*served->kind, key));
  if (!item) return std::unexpected(not_found_error(resource, key.name));
  return decoded(served, item);
}

Result<std::vector<kube::SharedValue>> SnapshotReader::list(const kube::Resource& resource,
                                                            const std::string& ns) const {
  ServedPtr served = catalog_.find(resource);
  if (!served) return std::unexpected(no_such_resource_error());
  std::vector<kube::SharedValue> found;
  std::string prefix = ns.empty() || !resource.namespaced ? "" : ns + "/";
  snapshot_.scan(served->bucket, prefix, prefix, [&](const store::ItemPtr& item) {
    found.push_back(decoded(served, item));
    return true;
  });
  return found;
}

std::size_t SnapshotReader::visit(const kube::Resource& resource, const std::string& ns,
                                  std::size_t limit,
                                  const std::function<void(const json::Value&)>& show) const {
  std::size_t seen = 0;
  ServedPtr served = catalog_.find(resource);
  if (!served) return seen;
  const std::string prefix = ns + "/";
  snapshot_.scan(served->bucket, prefix, prefix, [&](const store::ItemPtr& item) {
    if (++seen <= limit) show(*decoded(served, item));
    return true;
  });
  return seen;
}

bool AdmissionChain::mutates(const kube::AdmissionRequest& request) const {
  return std::any_of(steps_.begin(), steps_.end(), [&](const kube::AdmissionStep& step) {
    return step.mutate && concerns(step, request);
  });
}

Result<void> AdmissionChain::mutate(const kube::AdmissionRequest& request,
                                    json::Value& object) const {
  for (const kube::AdmissionStep& step : steps_) {
    if (!step.mutate || !concerns(step, request)) continue;
    if (Result<void> done = step.mutate(request, object); !done)
      return std::unexpected(denial(step, std::move(done).error()));
  }
  return {};
}

Result<void> AdmissionChain::validate(const kube::AdmissionRequest& request,
                                      const json::Value& object) const {
  for (const kube::AdmissionStep& step : steps_) {
    if (!step.validate || !concerns(step, request)) continue;
    if (Result<void> done = step.validate(request, object); !done)
      return std::unexpected(denial(step, std::move(done).error()));
  }
  return {};
}

bool AdmissionChain::plugged_steps_agree(const kube::AdmissionRequest& request,
                                         json::Value& object) const {
  return std::all_of(steps_.begin(), steps_.end(), [&](const kube::AdmissionStep& step) {
    if (!is_plugged(step) || !concerns(step, request)) return true;
    return (!step.mutate || step.mutate(request, object)) &&
           (!step.validate || step.validate(request, object));
  });
}

}  // namespace hekla::apiserver
