// The CRDs that belong to the platform. Somebody may install another edition of one of them over
// ours (upstream's own manifests, for instance): what is stored is theirs, and what is served is
// theirs together with every version, column and field that the platform itself relies on.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/registry.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/conversion.h"

namespace hekla::apiserver {

class PlatformCrds {
 public:
  // A CRD the server cannot read is an error. `conversions` are for those of several shapes.
  static Result<PlatformCrds> of(const std::vector<json::Value>& crds,
                                 std::span<const kube::Conversion> conversions = {});

  // The kinds of the stored CRD of this name, with nothing taken away that the platform serves.
  CustomKinds completed(std::string_view name, CustomKinds installed) const;

 private:
  void plug_conversion(std::string_view name, CustomKinds& kinds) const;

  std::map<std::string, CustomKinds, std::less<>> crds_;
  std::vector<kube::Conversion> conversions_;
};

// Two editions of one schema. Validation is `installed`'s, except that an enumeration admits the
// values of both; members come from either; where the two disagree about a member's type, ours
// holds.
SchemaPtr union_of(const SchemaPtr& installed, const SchemaPtr& ours);
// The schema with PodTemplateSpec in place of each member `template` that is an object of unknown
// fields.
SchemaPtr with_pod_templates(const SchemaPtr& schema);

}  // namespace hekla::apiserver
