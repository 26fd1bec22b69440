// Conversion reviews: the conversions of conversion.h as a webhook that CRDs name.
#pragma once

#include <vector>

#include "admission/conversion.h"
#include "admission/review.h"

namespace hekla::admission {

inline constexpr std::string_view kConversionPath = "/convert";

// ConversionReview v1 in, ConversionReview v1 out. An error is a body that is no review.
Result<json::Value> answer_conversion(const json::Value& review);

// Of the kinds that these steps are about.
std::vector<kube::Conversion> conversions_for(const std::vector<const Step*>& steps);
// Whether a CRD has more than one version.
bool has_versions(const json::Value& crd);
// What makes a CRD ask here: a merge patch.
json::Value conversion_patch(const Registration& registration);

}  // namespace hekla::admission
