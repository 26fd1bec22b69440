#include "scheduler/cluster/resources.h"

namespace hekla::scheduler {

std::optional<Dim> Dimensions::find(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return static_cast<Dim>(i);
  return std::nullopt;
}

std::optional<Dim> Dimensions::intern(std::string_view name) {
  if (std::optional<Dim> known = find(name)) return known;
  if (names_.size() == kMaxDimensions) return std::nullopt;
  names_.emplace_back(name);
  return static_cast<Dim>(names_.size() - 1);
}

bool Dimensions::counts(std::string_view name) {
  if (name == "cpu" || name == "memory" || name == "pods" || name == "ephemeral-storage")
    return true;
  if (name.starts_with("hugepages-") || name.starts_with("attachable-volumes-")) return true;
  if (name.starts_with("count/") || name.starts_with("requests.") || name.starts_with("limits."))
    return false;
  return name.find('/') != std::string_view::npos;
}

Resources Dimensions::convert(const model::ResourceList& list, std::vector<std::string>* refused) {
  Resources out;
  for (const auto& [name, quantity] : list) {
    if (!counts(name)) continue;
    std::optional<Dim> dim = intern(name);
    if (!dim) {
      if (refused != nullptr) refused->push_back(name);
      continue;
    }
    bool whole = *dim == kMemory || *dim == kPods;
    out.set(*dim, whole ? quantity.value() : quantity.milli_value());
  }
  return out;
}

model::Quantity Dimensions::quantity(Dim dim, std::int64_t amount) const {
  if (dim == kMemory) return model::Quantity::of(amount, model::Quantity::Format::binary_si);
  if (dim == kPods) return model::Quantity::of(amount);
  return model::Quantity::of_milli(amount);
}

std::string Dimensions::list(std::uint32_t mask, std::string_view word) const {
  std::string out;
  each_dim(mask, [&](Dim dim) {
    if (!out.empty()) out += ", ";
    out.append(word).append(" ").append(name(dim));
  });
  return out;
}

}  // namespace hekla::scheduler
