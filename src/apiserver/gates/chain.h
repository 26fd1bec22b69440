// The ordered steps every write passes: the server's own, then those that main plugged in. Also the
// reader through which steps see other objects.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apiserver/object/registry.h"
#include "kube/admission.h"
#include "store/store.h"

namespace hekla::apiserver {

// Reads one snapshot; the catalog must outlive it.
class SnapshotReader final : public kube::AdmissionReader {
 public:
  SnapshotReader(const store::Snapshot& snapshot, const Catalog& catalog)
      : snapshot_(snapshot), catalog_(catalog) {}
  Result<kube::SharedValue> get(const kube::Resource& resource,
                                const kube::Key& key) const override;
  Result<std::vector<kube::SharedValue>> list(const kube::Resource& resource,
                                              const std::string& ns) const override;
  // Shows the first `limit` objects, by name, and counts them all.
  std::size_t visit(const kube::Resource& resource, const std::string& ns, std::size_t limit,
                    const std::function<void(const json::Value&)>& show) const;

 private:
  const store::Snapshot& snapshot_;
  const Catalog& catalog_;
};

// The snapshot that the server's own steps read from.
inline const SnapshotReader& snapshot_of(const kube::AdmissionRequest& request) {
  return static_cast<const SnapshotReader&>(*request.reader);
}

class AdmissionChain {
 public:
  explicit AdmissionChain(std::vector<kube::AdmissionStep> steps) : steps_(std::move(steps)) {}

  // True when some step may change or judge such a request: lets callers skip work.
  bool mutates(const kube::AdmissionRequest& request) const;
  Result<void> mutate(const kube::AdmissionRequest& request, json::Value& object) const;
  Result<void> validate(const kube::AdmissionRequest& request, const json::Value& object) const;
  // Whether none of the steps that stand where others have a webhook refuses the object; they may
  // change it.
  bool plugged_steps_agree(const kube::AdmissionRequest& request, json::Value& object) const;

 private:
  std::vector<kube::AdmissionStep> steps_;
};

}  // namespace hekla::apiserver
