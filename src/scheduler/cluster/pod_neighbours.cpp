#include "scheduler/cluster/pod_neighbours.h"

#include <algorithm>

#include "json/value.h"
#include "scheduler/cluster/pod_to_task.h"

namespace hekla::scheduler {

namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

class NeighbourReader {
 public:
  NeighbourReader(const model::Pod& pod, const LabelPairs& labels, Names& names,
                  const PodTerms& terms)
      : pod_(pod),
        labels_(labels),
        names_(names),
        terms_(terms),
        ns_(names.intern(pod.metadata.ns)) {}

  PodNeighbours read() {
    if (const json::Value* affinity = json::find(pod_.spec.affinity, "podAffinity"))
      read_affinity(*affinity);
    if (const json::Value* anti = json::find(pod_.spec.affinity, "podAntiAffinity"))
      read_anti_affinity(*anti);
    read_spread();
    return std::move(out_);
  }

 private:
  struct Part {
    PodSelector selector;
    NameId topology_key;
    std::string text;
  };

  std::vector<NodeRequirement> requirements(const json::Value& selector, std::string& text) {
    std::vector<NodeRequirement> out;
    text += json::serialize(selector);
    if (const json::Object* match = json::object_at(selector, {"matchLabels"}))
      for (const auto& member : *match) {
        NodeRequirement one;
        one.key = names_.intern(member.key());
        if (member.value().is_string())
          one.values.push_back(names_.intern(json::sv(member.value().get_string())));
        out.push_back(std::move(one));
      }
    if (const json::Array* expressions = json::array_at(selector, {"matchExpressions"}))
      for (const json::Value& one : *expressions) out.push_back(make_requirement(one, names_));
    return out;
  }

  void add_own_labels(const json::Value& from, std::string_view member, model::Selector::Op op,
                      Part& part) {
    const json::Array* keys = json::array_at(from, {member});
    if (keys == nullptr) return;
    for (const json::Value& key : *keys) {
      if (!key.is_string()) continue;
      std::string name(json::sv(key.get_string()));
      auto own = pod_.metadata.labels.find(name);
      if (own == pod_.metadata.labels.end()) continue;
      part.selector.labels.push_back(
          {names_.intern(name), op, {names_.intern(own->second)}, 0, false});
      part.text.append("|").append(member).append(name).append("=").append(own->second);
    }
  }

  Part read_selector(const json::Value& from, bool with_namespaces) {
    Part part;
    std::string_view key = json::string_at(from, {"topologyKey"});
    part.topology_key = names_.intern(key);
    part.text.append(key).append("|");
    if (const json::Value* selector = json::find(from, "labelSelector");
        selector != nullptr && selector->is_object())
      part.selector.labels = requirements(*selector, part.text);
    else
      part.selector.nothing = true;
    if (part.selector.nothing) part.text += "nothing";
    add_own_labels(from, "matchLabelKeys", model::Selector::Op::in, part);
    add_own_labels(from, "mismatchLabelKeys", model::Selector::Op::not_in, part);
    part.text += "|";
    if (with_namespaces) read_namespaces(from, part);
    const json::Value* chosen = json::find(from, "namespaceSelector");
    bool selects = with_namespaces && chosen != nullptr && chosen->is_object();
    if (part.selector.namespaces.empty() && !selects) {
      part.selector.namespaces.push_back(ns_);
      part.text += pod_.metadata.ns;
    }
    return part;
  }

  void read_namespaces(const json::Value& from, Part& part) {
    if (const json::Array* listed = json::array_at(from, {"namespaces"}))
      for (const json::Value& ns : *listed) {
        if (!ns.is_string()) continue;
        part.selector.namespaces.push_back(names_.intern(json::sv(ns.get_string())));
        part.text.append(json::sv(ns.get_string())).append(",");
      }
    const json::Value* chosen = json::find(from, "namespaceSelector");
    if (chosen == nullptr || !chosen->is_object()) return;
    part.text += "ns:";
    part.selector.namespace_labels = requirements(*chosen, part.text);
    part.selector.has_namespace_selector = true;
    part.selector.every_namespace = part.selector.namespace_labels.empty();
  }

  static TermSpec single(const Part& part, TermUse use, std::string_view prefix) {
    TermSpec spec;
    spec.use = use;
    spec.selectors.push_back(part.selector);
    spec.topology_key = part.topology_key;
    spec.text = std::string(prefix) + part.text;
    return spec;
  }

  void note(const TermSpec& spec, std::string_view extra = {}) {
    out_.text.append(spec.text).append(extra).push_back('\x1d');
  }

  // A pod must match all terms at once to count for any of them.
  void read_affinity(const json::Value& affinity) {
    std::vector<Part> parts;
    if (const json::Array* terms = json::array_at(affinity, {kRequired}))
      for (const json::Value& term : *terms) parts.push_back(read_selector(term, true));
    std::string all = "a";
    std::vector<PodSelector> selectors;
    out_.affinity_self = !parts.empty();
    for (const Part& part : parts) {
      all += part.text + "&";
      selectors.push_back(part.selector);
      out_.affinity_self &= terms_.matches(part.selector, ns_, labels_);
    }
    for (const Part& part : parts) {
      TermSpec spec;
      spec.use = TermUse::affinity;
      spec.selectors = selectors;
      spec.topology_key = part.topology_key;
      spec.text = all + "@" + names_.text(part.topology_key);
      note(spec, out_.affinity_self ? "self" : "");
      out_.affinity.push_back(std::move(spec));
    }
    read_preferred(affinity, +1);
  }

  void read_anti_affinity(const json::Value& anti) {
    if (const json::Array* terms = json::array_at(anti, {kRequired}))
      for (const json::Value& term : *terms) {
        out_.anti.push_back(single(read_selector(term, true), TermUse::anti, "n"));
        note(out_.anti.back());
      }
    read_preferred(anti, -1);
  }

  void read_preferred(const json::Value& from, std::int32_t sign) {
    const json::Array* list = json::array_at(from, {kPreferred});
    if (list == nullptr) return;
    for (const json::Value& one : *list) {
      const json::Value* term = json::find(one, "podAffinityTerm");
      if (term == nullptr) continue;
      auto weight = static_cast<std::int32_t>(json::int_at(one, {"weight"})) * sign;
      TermSpec spec = single(read_selector(*term, true), TermUse::scored, "p");
      note(spec, std::to_string(weight));
      out_.drawn.push_back({spec, weight});
      out_.preferred.push_back({std::move(spec), weight});
    }
  }

  void read_spread() {
    std::vector<NameId> hard_keys, soft_keys;
    for (const json::Value& one : pod_.spec.topologySpreadConstraints) {
      bool soft = json::string_at(one, {"whenUnsatisfiable"}) == "ScheduleAnyway";
      (soft ? soft_keys : hard_keys)
          .push_back(names_.intern(json::string_at(one, {"topologyKey"})));
    }
    for (const json::Value& one : pod_.spec.topologySpreadConstraints) {
      Part part = read_selector(one, false);
      PodNeighbours::Spread spread;
      spread.how.soft = json::string_at(one, {"whenUnsatisfiable"}) == "ScheduleAnyway";
      spread.how.max_skew = static_cast<std::int32_t>(json::int_at(one, {"maxSkew"}, 1));
      spread.how.min_domains = static_cast<std::int32_t>(json::int_at(one, {"minDomains"}, 0));
      spread.how.self = terms_.matches(part.selector, ns_, labels_);
      spread.term = single(part, TermUse::spread, "s");
      spread.term.scope = scope(one, spread.how.soft ? soft_keys : hard_keys, spread.term.text);
      note(spread.term, std::to_string(spread.how.max_skew) + "/" +
                            std::to_string(spread.how.min_domains) +
                            (spread.how.soft ? "soft" : "") + (spread.how.self ? "self" : ""));
      out_.spread.push_back(std::move(spread));
    }
  }

  SpreadScope scope(const json::Value& constraint, const std::vector<NameId>& keys,
                    std::string& text) {
    SpreadScope out;
    out.topology_keys = keys;
    for (NameId key : keys) text += "+" + names_.text(key);
    if (json::string_at(constraint, {"nodeAffinityPolicy"}) != "Ignore") {
      for (const auto& [label, value] : pod_.spec.nodeSelector) {
        out.node_selector.emplace_back(names_.intern(label), names_.intern(value));
        text.append("!").append(label).append("=").append(value);
      }
      const json::Value* required =
          json::find_path(pod_.spec.affinity, {"nodeAffinity", kRequired, "nodeSelectorTerms"});
      if (required != nullptr && required->is_array()) {
        out.has_required_terms = true;
        text += json::serialize(*required);
        for (const json::Value& term : required->get_array())
          out.required_terms.push_back(make_node_term(term, names_));
      }
    }
    if (json::string_at(constraint, {"nodeTaintsPolicy"}) == "Honor") {
      out.honor_taints = true;
      text += "taints";
      for (const model::Toleration& one : pod_.spec.tolerations) {
        out.tolerations.push_back(make_toleration(one, names_));
        text.append("~").append(one.key).append(one.op).append(one.value).append(one.effect);
      }
    }
    return out;
  }

  const model::Pod& pod_;
  const LabelPairs& labels_;
  Names& names_;
  const PodTerms& terms_;
  NameId ns_;
  PodNeighbours out_;
};

}  // namespace

LabelPairs label_pairs(const std::map<std::string, std::string>& labels, Names& names) {
  LabelPairs out;
  out.reserve(labels.size());
  for (const auto& [key, value] : labels) out.emplace_back(names.intern(key), names.intern(value));
  std::sort(out.begin(), out.end());
  return out;
}

PodNeighbours neighbours_of(const model::Pod& pod, const LabelPairs& labels, Names& names,
                            const PodTerms& terms) {
  bool none = pod.spec.topologySpreadConstraints.empty() &&
              json::find(pod.spec.affinity, "podAffinity") == nullptr &&
              json::find(pod.spec.affinity, "podAntiAffinity") == nullptr;
  if (none) return {};
  return NeighbourReader(pod, labels, names, terms).read();
}

}  // namespace hekla::scheduler
