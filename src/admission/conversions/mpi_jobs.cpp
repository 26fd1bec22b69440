// MPIJob: v1 is the Training Operator's, v2beta1 the MPI Operator's. v1 as it is stored has all
// that v2beta1 has, so that one controller sees everything in one place.
#include <array>

#include "admission/conversion.h"

namespace hekla::admission {
namespace {

void from_v2beta1(json::Value&) {}

// v1's older place for cleanPodPolicy counts when runPolicy says nothing.
void to_v2beta1(json::Value& object) {
  json::Object* spec = part_of(object, "spec");
  if (!spec) return;
  take(*spec, "mainContainer");
  json::Value clean = take(*spec, "cleanPodPolicy");
  if (clean.is_null()) return;
  json::Value& policy = json::at_path(object, {"spec", "runPolicy", "cleanPodPolicy"});
  if (policy.is_null()) policy = std::move(clean);
}

constexpr std::array<Translation, 1> kTranslations{{{"v2beta1", from_v2beta1, to_v2beta1}}};

}  // namespace

void convert_mpi_job(json::Value& object, std::string_view version) {
  convert_by(kTranslations, object, version);
}

}  // namespace hekla::admission
