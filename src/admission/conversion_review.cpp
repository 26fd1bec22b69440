#include "admission/conversion_review.h"

#include <algorithm>

namespace hekla::admission {
namespace {

const kube::Conversion* conversion_of(const json::Value& object) {
  const std::string_view kind = json::string_at(object, {"kind"});
  const kube::Resource* resource = kind == kube::resources::tf_jobs.kind ? &kube::resources::tf_jobs
                                   : kind == kube::resources::mpi_jobs.kind
                                       ? &kube::resources::mpi_jobs
                                       : nullptr;
  if (!resource) return nullptr;
  auto found = std::ranges::find(conversions(), resource->plural + "." + resource->group,
                                 &kube::Conversion::crd);
  return found == conversions().end() ? nullptr : &*found;
}

}  // namespace

Result<json::Value> answer_conversion(const json::Value& review) {
  const json::Array* objects = json::array_at(review, {"request", "objects"});
  if (json::string_at(review, {"kind"}) != "ConversionReview" || !objects)
    return fail(Code::bad_request, "the body is no ConversionReview with objects");
  const std::string wanted = json::text_at(review, {"request", "desiredAPIVersion"});
  json::Array converted;
  json::Object result{{"status", "Success"}};
  for (const json::Value& object : *objects) {
    const kube::Conversion* conversion = conversion_of(object);
    json::Value made = object;
    if (conversion) conversion->convert(made, wanted.substr(wanted.find('/') + 1));
    if (json::string_at(made, {"apiVersion"}) != wanted)
      result = json::Object{
          {"status", "Failed"},
          {"message", "nothing here converts " + json::text_at(object, {"apiVersion"}) + " " +
                          json::text_at(object, {"kind"}) + " to " + wanted}};
    converted.push_back(std::move(made));
  }
  json::Object response{{"uid", json::text_at(review, {"request", "uid"})}};
  if (json::equal(result["status"], "Success")) response["convertedObjects"] = std::move(converted);
  response["result"] = std::move(result);
  return json::Object{{"apiVersion", "apiextensions.k8s.io/v1"},
                      {"kind", "ConversionReview"},
                      {"response", std::move(response)}};
}

std::vector<kube::Conversion> conversions_for(const std::vector<const Step*>& steps) {
  std::vector<kube::Conversion> wanted;
  for (const kube::Resource* resource : {&kube::resources::tf_jobs, &kube::resources::mpi_jobs})
    if (std::ranges::any_of(steps, [&](const Step* step) {
          return step->matches(*resource, kube::Operation::create, "");
        }))
      wanted.push_back(*conversion_of(json::Object{{"kind", resource->kind}}));
  return wanted;
}

bool has_versions(const json::Value& crd) {
  const json::Array* versions = json::array_at(crd, {"spec", "versions"});
  return versions && versions->size() > 1;
}

json::Value conversion_patch(const Registration& registration) {
  return json::Object{
      {"spec",
       json::Object{
           {"conversion",
            json::Object{
                {"strategy", "Webhook"},
                {"webhook",
                 json::Object{{"clientConfig", client_config(kConversionPath, registration)},
                              {"conversionReviewVersions", json::Array{json::Value("v1")}}}}}}}}};
}

}  // namespace hekla::admission
