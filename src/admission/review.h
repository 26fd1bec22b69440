// Admission reviews: what a webhook is asked, and its answer.
#pragma once

#include <string>
#include <string_view>

#include "admission/step.h"

namespace hekla::admission {

// The step vc-webhook-manager would run for this path, or null.
const Step* step_at(std::string_view path);

// What a step must see besides the review.
struct ReviewContext {
  const Settings& settings;
  const kube::AdmissionReader& reader;
  WallTime now;
};

// AdmissionReview v1 in, AdmissionReview v1 out. An error is a body that is no review; a denial is
// an answer.
Result<json::Value> answer_review(const Step& step, const json::Value& review,
                                  const ReviewContext& context);

// The JSON patch that turns `from` into `to`: members one by one, arrays as a whole.
json::Array json_patch_between(const json::Value& from, const json::Value& to);

// The webhook configurations that send requests to the steps: one per step, Mutating or Validating.
struct Registration {
  std::string service_name = "volcano-admission-service", ns = "volcano-system";
  std::string url;  // in place of the service, for a server outside of the cluster
  std::string ca_pem;
};
// How an API server reaches a path of the webhook server.
json::Value client_config(std::string_view path, const Registration& registration);
struct WebhookObject {
  kube::Resource resource;
  json::Value body;
};
std::vector<WebhookObject> webhook_configurations(const std::vector<const Step*>& steps,
                                                  const Registration& registration);

}  // namespace hekla::admission
