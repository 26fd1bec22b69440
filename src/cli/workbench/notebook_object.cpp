#include "cli/workbench/notebook_object.h"

namespace hekla::cli {

using json::Array;
using json::Object;

namespace {

std::string workspace_name(const std::string& notebook) { return notebook + "-workspace"; }

void mount(Array& volumes, Array& mounts, const std::string& claim, const std::string& path,
           bool read_only) {
  volumes.push_back(
      Object{{"name", claim}, {"persistentVolumeClaim", Object{{"claimName", claim}}}});
  Object place{{"name", claim}, {"mountPath", path}};
  if (read_only) place["readOnly"] = true;
  mounts.push_back(std::move(place));
}

Result<void> mount_wish(Array& volumes, Array& mounts, std::string wish) {
  const bool read_only = wish.ends_with(":ro");
  if (read_only) wish.resize(wish.size() - 3);
  const std::size_t colon = wish.find(":/");
  if (colon == 0 || colon == std::string::npos)
    return fail(Code::bad_request, "--volume " + wish + ": expected CLAIM:/PATH or CLAIM:/PATH:ro");
  mount(volumes, mounts, wish.substr(0, colon), wish.substr(colon + 1), read_only);
  return {};
}

}  // namespace

Object workspace_claim(const std::string& name, const NotebookWishes& wishes) {
  Object requests{{"storage", wishes.workspace}};
  return {{"metadata", Object{{"name", workspace_name(name)}}},
          {"spec", Object{{"accessModes", Array{"ReadWriteOnce"}},
                          {"resources", Object{{"requests", std::move(requests)}}}}}};
}

Result<Object> notebook_object(const kube::Key& key, const NotebookWishes& wishes) {
  Array volumes{Object{{"name", "dshm"}, {"emptyDir", Object{{"medium", "Memory"}}}}};
  Array mounts{Object{{"name", "dshm"}, {"mountPath", "/dev/shm"}}};
  if (wishes.workspace != "none")
    mount(volumes, mounts, workspace_name(key.name), "/home/jovyan", false);
  for (const std::string& wish : wishes.volumes) TRY(mount_wish(volumes, mounts, wish));
  Object labels{{"app", key.name}};
  for (const std::string& label : wishes.configurations) labels[label] = "true";
  Object resources{{"requests", Object{{"cpu", wishes.cpu}, {"memory", wishes.memory}}}};
  if (wishes.gpus > 0)
    resources["limits"] = Object{{"nvidia.com/gpu", std::to_string(wishes.gpus)}};
  Object container{{"name", key.name},
                   {"image", wishes.image},
                   {"imagePullPolicy", "IfNotPresent"},
                   {"resources", std::move(resources)},
                   {"volumeMounts", std::move(mounts)}};
  Object pod{{"serviceAccountName", "default-editor"},
             {"containers", Array{std::move(container)}},
             {"volumes", std::move(volumes)}};
  Object annotations{{"notebooks.kubeflow.org/server-type", "jupyter"}};
  return Object{{"metadata", Object{{"name", key.name},
                                    {"namespace", key.ns},
                                    {"labels", std::move(labels)},
                                    {"annotations", std::move(annotations)}}},
                {"spec", Object{{"template", Object{{"spec", std::move(pod)}}}}}};
}

}  // namespace hekla::cli
