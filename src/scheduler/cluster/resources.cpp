#include "scheduler/cluster/resources.h"

namespace hekla::scheduler {

std::optional<Dim> Dimensions::find(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (i != kUnknown && names_[i] == name) return static_cast<Dim>(i);
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
    out.set(*dim, amount_of(*dim, quantity));
  }
  return out;
}

std::int64_t Dimensions::amount_of(Dim dim, const model::Quantity& quantity) {
  bool whole = dim == kMemory || dim == kPods;
  return whole ? quantity.value() : quantity.milli_value();
}

Resources Dimensions::request(const model::ResourceList& list, model::ResourceList& unknown,
                              std::int64_t most) const {
  Resources out;
  unknown.clear();
  for (const auto& [name, quantity] : list) {
    if (!counts(name)) continue;
    if (is_recognised(name, quantity, most))
      out.set(*find(name), amount_of(*find(name), quantity));
    else if (!quantity.is_zero())
      unknown[name] = quantity;
  }
  // How much it is does not matter: it is more than there is.
  if (!unknown.empty()) out.set(kUnknown, 1000 * static_cast<std::int64_t>(unknown.size()));
  return out;
}

bool Dimensions::recognise(Resources& request, model::ResourceList& unknown,
                           std::int64_t most) const {
  bool any = false;
  for (auto at = unknown.begin(); at != unknown.end();) {
    if (!is_recognised(at->first, at->second, most)) {
      ++at;
      continue;
    }
    any = true;
    request.set(*find(at->first), amount_of(*find(at->first), at->second));
    at = unknown.erase(at);
  }
  request.set(kUnknown, 1000 * static_cast<std::int64_t>(unknown.size()));
  if (unknown.empty()) request.present &= ~(1u << kUnknown);
  return any;
}

model::Quantity Dimensions::quantity(Dim dim, std::int64_t amount) const {
  if (dim == kMemory) return model::Quantity::of(amount, model::Quantity::Format::binary_si);
  if (dim == kPods) return model::Quantity::of(amount);
  return model::Quantity::of_milli(amount);
}

std::string Dimensions::list(std::uint32_t mask, std::string_view word,
                             const model::ResourceList& unknown) const {
  std::string out;
  auto add = [&](const std::string& name) {
    out.append(out.empty() ? "" : ", ").append(word).append(" ").append(name);
  };
  each_dim(mask & ~(1u << kUnknown), [&](Dim dim) { add(name(dim)); });
  if ((mask >> kUnknown & 1u) != 0)
    for (const auto& [name, quantity] : unknown) add(name);
  return out;
}

}  // namespace hekla::scheduler
