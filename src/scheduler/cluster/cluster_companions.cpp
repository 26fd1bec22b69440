// Companions in the cluster state, and what is made of them.
#include "scheduler/cluster/cluster.h"

namespace hekla::scheduler {

Impact Cluster::put(CompanionKind kind, const Companion& object) {
  if (!companions_.put(kind, object)) return Impact::none;
  gain_room();  // of volumes, devices, domains
  if (kind == CompanionKind::name_space) set_namespace(object.metadata.name, &object);
  return Impact::decide;
}

Impact Cluster::remove(CompanionKind kind, const Companion& object) {
  if (!companions_.remove(kind, object)) return Impact::none;
  gain_room();
  if (kind == CompanionKind::name_space) set_namespace(object.metadata.name, nullptr);
  return Impact::decide;
}

void Cluster::set_namespace(const std::string& name, const Companion* object) {
  LabelPairs labels;
  if (object != nullptr) labels = label_pairs(object->metadata.labels, names_);
  if (labels.empty())
    labels = {{names_.intern("kubernetes.io/metadata.name"), names_.intern(name)}};
  reclassify(terms_.set_namespace(names_.intern(name), std::move(labels)));
}

void Cluster::settle_companions() {
  volumes_.catch_up(companions_, names_,
                    [this](const std::string& node) { return intern_node(node); });
  dynamic_resources_.catch_up(companions_, names_);
  std::uint64_t seen = companions_.version(CompanionKind::hyper_node);
  if (hyper_nodes_seen_ == seen && hyper_nodes_labels_ == label_version_) return;
  hyper_nodes_seen_ = seen;
  hyper_nodes_labels_ = label_version_;
  hyper_nodes_.lay_out(
      companions_, nodes_, [this](std::string_view name) { return find_node(name); }, names_);
}

}  // namespace hekla::scheduler
