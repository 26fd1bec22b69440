// The CRDs that belong to the platform. Somebody may install another edition of one of them over
// ours (upstream's own manifests, for instance) or take it away: what the platform serves stays as
// it is. Only versions that it does not have are taken from others.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/registry.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/admission.h"
#include "kube/conversion.h"

namespace hekla::apiserver {

class PlatformCrds {
 public:
  // A CRD the server cannot read is an error. `conversions` are for those of several shapes. The
  // texts stay where they are: a CRD is read again when somebody writes over it.
  static Result<PlatformCrds> of(const std::vector<std::string_view>& yamls,
                                 std::span<const kube::Conversion> conversions = {});

  // Kinds of api_server.h's open_kind_yamls: nobody's CRDs, and not protected.
  Result<void> add_open(const std::vector<std::string_view>& yamls);

  bool has(std::string_view name) const { return crds_.contains(name); }
  std::vector<std::string> names() const;
  // The CRD as the platform has it.
  json::Value crd(std::string_view name) const;
  // Makes a spec that somebody writes ours, with the versions that only theirs has. False when
  // something of theirs was not taken.
  bool keep_ours(std::string_view name, json::Value& spec) const;
  // The kinds served of the stored CRD of this name.
  CustomKinds completed(std::string_view name, CustomKinds installed) const;
  // The kinds of those of ours, and of open ones, whose CRDs are not among the `stored`.
  std::vector<CustomKinds> beside(const std::function<bool(std::string_view)>& stored) const;

 private:
  struct Ours {
    CustomKinds kinds;
    std::string_view yaml;
  };
  void plug_conversion(std::string_view name, CustomKinds& kinds) const;

  std::map<std::string, Ours, std::less<>> crds_;
  std::map<std::string, CustomKinds, std::less<>> open_;
  std::vector<kube::Conversion> conversions_;
};

// Writes of the platform's CRDs keep what is ours; their removal is warned of.
kube::AdmissionStep platform_crd_admission(const PlatformCrds& platform);

// The schema with PodTemplateSpec in place of each member `template` that is an object of unknown
// fields.
SchemaPtr with_pod_templates(const SchemaPtr& schema);

}  // namespace hekla::apiserver
