#include "model/job_makers.h"

namespace hekla::model {

Result<JobReference> JobReference::from_node(const json::Node& node) {
  json::Value value = TRY(node.to_value());
  auto text = [&](std::string_view member) {
    return std::string(json::string_at(value, {member}));
  };
  return JobReference{text("apiVersion"), text("kind"), text("name"), text("namespace"),
                      text("uid")};
}

json::Value JobReference::to_json() const {
  return json::Object{
      {"apiVersion", apiVersion}, {"kind", kind}, {"name", name}, {"namespace", ns}, {"uid", uid}};
}

}  // namespace hekla::model

JSON_CODEC_DEFINE(hekla::model::VcCronJob);
JSON_CODEC_DEFINE(hekla::model::JobFlow);
JSON_CODEC_DEFINE(hekla::model::JobTemplate);
JSON_CODEC_DEFINE(hekla::model::HyperNode);
