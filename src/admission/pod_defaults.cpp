#include "admission/pod_defaults.h"

#include <algorithm>

#include "model/selector.h"

namespace hekla::admission {

using json::Array;
using json::Object;

const kube::Resource pod_defaults{"kubeflow.org", "v1alpha1", "poddefaults", "PodDefault"};

namespace {

constexpr std::string_view kMark = "poddefault.admission.kubeflow.org/poddefault-";
constexpr std::string_view kMesh = "istio-proxy";

std::string name_of(const json::Value& object) {
  return json::text_at(object, {"metadata", "name"});
}

std::string joined(const std::vector<std::string>& texts, std::string_view by) {
  std::string all;
  for (const std::string& text : texts) {
    if (!all.empty()) all += by;
    all += text;
  }
  return all;
}

model::Labels labels_of(const json::Value& pod) {
  model::Labels labels;
  if (const Object* given = json::object_at(pod, {"metadata", "labels"}))
    for (const auto& one : *given)
      if (one.value().is_string())
        labels[std::string(one.key())] = json::sv(one.value().get_string());
  return labels;
}

const json::Value* find_by(const Array& list, std::string_view key, std::string_view id) {
  auto found = std::ranges::find_if(
      list, [&](const json::Value& one) { return json::string_at(one, {key}) == id; });
  return found == list.end() ? nullptr : &*found;
}

// Merge of one PodDefault into a pod, and where the two did not agree.
class Merge {
 public:
  explicit Merge(const json::Value& from) : from_(from) {}

  // Appends to a list of `holder` what it lacks, by the text of `key`: one that is there already
  // must be equal. A member of another kind is the schema's business.
  void list(Object& holder, std::string_view name, std::string_view member, std::string_view key,
            std::string_view what, std::string_view where = "") {
    const Array* wanted = json::array_at(from_, {"spec", member});
    if (!wanted || wanted->empty()) return;
    json::Value& there = json::member_of(holder, name);
    if (there.is_null()) there = Array();
    if (!there.is_array()) return;
    for (const json::Value& one : *wanted) {
      const std::string_view id = json::string_at(one, {key});
      const json::Value* found = find_by(there.get_array(), key, id);
      if (!found)
        there.get_array().push_back(one);
      else if (!json::equal(*found, one))
        conflict(what, std::string(id), one, *found, where);
    }
  }

  // Mounts are told apart by their volume and by their place, and must agree in both.
  void mounts(Object& container) {
    const json::Value* given = json::find(container, "volumeMounts");
    const Array before = given && given->is_array() ? given->get_array() : Array();
    list(container, "volumeMounts", "volumeMounts", "name", "volume mounts", " in container");
    const Array* wanted = json::array_at(from_, {"spec", "volumeMounts"});
    for (std::size_t i = 0; wanted && i < wanted->size(); ++i) {
      const std::string_view path = json::string_at((*wanted)[i], {"mountPath"});
      const json::Value* found = find_by(before, "mountPath", path);
      if (found && !json::equal(*found, (*wanted)[i]))
        conflict("volume mounts", "mount path " + std::string(path), (*wanted)[i], *found,
                 " in container");
    }
  }

  // Sources of variables are appended, whatever is there.
  void sources(Object& container) {
    const Array* wanted = json::array_at(from_, {"spec", "envFrom"});
    if (!wanted || wanted->empty()) return;
    json::Value& there = json::member_of(container, "envFrom");
    if (there.is_null()) there = Array();
    if (there.is_array())
      there.get_array().insert(there.get_array().end(), wanted->begin(), wanted->end());
  }

  // Command and arguments of containers that have none; the mesh's own are left alone.
  void words(Object& container) {
    const json::Value* name = json::find(container, "name");
    if (name && name->is_string() && json::sv(name->get_string()) == kMesh) return;
    for (std::string_view member : {"command", "args"}) {
      const Array* wanted = json::array_at(from_, {"spec", member});
      if (!wanted || wanted->empty()) continue;
      json::Value& there = json::member_of(container, member);
      if (there.is_null() || (there.is_array() && there.get_array().empty())) there = *wanted;
    }
  }

  void map(json::Value& metadata, std::string_view member) {
    const Object* wanted = json::object_at(from_, {"spec", member});
    if (!wanted) return;
    for (const auto& one : *wanted) {
      json::Value& there = json::at_path(metadata, {member, std::string_view(one.key())});
      if (there.is_null())
        there = one.value();
      else if (!json::equal(there, one.value()))
        conflict(member, std::string(one.key()), one.value(), there, "");
    }
  }

  const std::vector<std::string>& conflicts() const { return conflicts_; }

 private:
  void conflict(std::string_view what, const std::string& id, const json::Value& wanted,
                const json::Value& there, std::string_view where) {
    conflicts_.push_back("merging " + std::string(what) + " for " + name_of(from_) +
                         " has a conflict on " + id + ": \n" + json::serialize(wanted) +
                         "\ndoes not match\n" + json::serialize(there) + "\n" + std::string(where));
  }

  const json::Value& from_;
  std::vector<std::string> conflicts_;
};

void merge_spec(Merge& merge, Object& spec) {
  merge.list(spec, "volumes", "volumes", "name", "volumes");
  merge.list(spec, "tolerations", "tolerations", "key", "tolerations");
  merge.list(spec, "imagePullSecrets", "imagePullSecrets", "name", "imagePullSecrets");
  merge.list(spec, "initContainers", "initContainers", "name", "init containers");
  merge.list(spec, "containers", "sidecars", "name", "containers");
  json::Value& containers = json::member_of(spec, "containers");
  if (!containers.is_array()) return;
  for (json::Value& one : containers.get_array()) {
    if (!one.is_object()) continue;
    merge.list(one.get_object(), "env", "env", "name", "env", " in container");
    merge.mounts(one.get_object());
    merge.sources(one.get_object());
    merge.words(one.get_object());
  }
}

}  // namespace

Result<std::vector<kube::SharedValue>> chosen_defaults(const std::vector<kube::SharedValue>& all,
                                                       const json::Value& pod) {
  const model::Labels labels = labels_of(pod);
  std::vector<kube::SharedValue> chosen;
  for (const kube::SharedValue& one : all) {
    const json::Value* selector = json::find_path(*one, {"spec", "selector"});
    if (!selector) continue;
    if (TRY(model::Selector::from_label_selector(*selector)).matches(labels)) chosen.push_back(one);
  }
  std::ranges::sort(chosen, {}, [](const kube::SharedValue& one) { return name_of(*one); });
  return chosen;
}

Result<void> apply_defaults(const std::vector<kube::SharedValue>& chosen, json::Value& pod) {
  json::Value& spec = json::at_path(pod, {"spec"});
  if (!spec.is_object()) return {};
  json::Value& metadata = json::at_path(pod, {"metadata"});
  std::vector<std::string> names, conflicts;
  for (const kube::SharedValue& one : chosen) {
    names.push_back(name_of(*one));
    Merge merge(*one);
    merge_spec(merge, spec.get_object());
    merge.map(metadata, "annotations");
    merge.map(metadata, "labels");
    for (std::string_view member : {"serviceAccountName", "automountServiceAccountToken"})
      if (const json::Value* wanted = json::find_path(*one, {"spec", member}))
        spec.get_object()[member] = *wanted;
    json::at_path(metadata, {"annotations", std::string(kMark) + names.back()}) =
        json::text_at(*one, {"metadata", "resourceVersion"});
    conflicts.insert(conflicts.end(), merge.conflicts().begin(), merge.conflicts().end());
  }
  if (conflicts.empty()) return {};
  const std::string text = joined(conflicts, ", ");
  return fail(Code::forbidden, "conflict occurred while applying poddefaults: " +
                                   joined(names, ",") + " on pod: " + name_of(pod) +
                                   " err: " + (conflicts.size() > 1 ? "[" + text + "]" : text));
}

}  // namespace hekla::admission
