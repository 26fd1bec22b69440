#include "controllers/volcano/job/volumes.h"

#include <algorithm>
#include <set>

#include "controllers/volcano/job/names.h"

namespace hekla::controllers {
namespace {

bool is_scratch(const model::JobVolume& volume) {
  return volume.volumeClaimName.empty() && volume.volumeClaim.is_null();
}

}  // namespace

std::string claim_name(const model::VcJob& job, std::size_t index) {
  return job.metadata.name + "-pvc-" +
         stable_suffix(job.metadata.uid + "/volume/" + std::to_string(index));
}

std::optional<kube::Write> name_claims(const model::VcJob& job) {
  std::vector<model::JobVolume> volumes = job.spec.volumes;
  bool changed = false;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (!volumes[i].volumeClaimName.empty() || is_scratch(volumes[i])) continue;
    volumes[i].volumeClaimName = claim_name(job, i);
    changed = true;
  }
  if (!changed) return std::nullopt;
  json::Object patch{{"metadata", json::Object{{"resourceVersion", job.metadata.resourceVersion}}},
                     {"spec", json::Object{{"volumes", json::encode(volumes)}}}};
  return merge_patch(kube::resources::vcjobs, kube::Key{job.metadata.ns, job.metadata.name},
                     std::move(patch));
}

Result<void> make_claims(const JobView& view, model::VcJobStatus& status, Plan& plan) {
  const model::VcJob& job = *view.job;
  for (const model::JobVolume& volume : job.spec.volumes) {
    if (is_scratch(volume)) continue;
    const std::string& name = volume.volumeClaimName;
    std::string mark = "volume-pvc-" + name;
    if (status.controlledResources.contains(mark)) continue;
    if (std::find(plan.prepares.begin(), plan.prepares.end(), mark) != plan.prepares.end())
      continue;  // an entry before this one describes the claim
    if (view.claim_exists(name) || view.prepared.contains(mark)) {
      status.controlledResources[mark] = name;
    } else {
      if (volume.volumeClaim.is_null())
        return fail(
            Code::not_found,
            "pvc " + name +
                " is not found, the job will be in the Pending state until the PVC is created");
      json::Value owner = json::encode(model::controller_reference(
          kube::resources::vcjobs.api_version(), kube::resources::vcjobs.kind, job.metadata));
      json::Object claim{
          {"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"metadata", json::Object{{"name", name},
                                    {"namespace", job.metadata.ns},
                                    {"ownerReferences", json::Array{std::move(owner)}}}},
          {"spec", volume.volumeClaim}};
      plan.add(Purpose::claim, create(kube::resources::persistent_volume_claims, job.metadata.ns,
                                      std::move(claim)));
      plan.prepares.push_back(mark);
    }
  }
  return {};
}

void mount_volumes(const model::VcJob& job, json::Value& pod) {
  std::set<std::string> claims;
  for (std::size_t i = 0; i < job.spec.volumes.size(); ++i) {
    const model::JobVolume& volume = job.spec.volumes[i];
    json::Object source;
    if (is_scratch(volume)) {
      source["emptyDir"] = json::Object();
    } else {
      if (!claims.insert(volume.volumeClaimName).second) continue;
      source["persistentVolumeClaim"] = json::Object{{"claimName", volume.volumeClaimName}};
    }
    std::string name =
        job.metadata.name + "-" + stable_suffix(job.metadata.uid + "/mount/" + std::to_string(i));
    source["name"] = name;
    add_volume(pod, std::move(source));
    for_each_container(pod, false, [&](json::Object& container) {
      add_mount(container, json::Object{{"name", name}, {"mountPath", volume.mountPath}});
    });
  }
}

}  // namespace hekla::controllers
