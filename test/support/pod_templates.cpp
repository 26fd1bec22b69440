#include "support/pod_templates.h"

#include "apiserver/kinds/pod/pod_template.h"

namespace hekla::test {

std::vector<std::string> pod_template_errors(const json::Value& pod_template) {
  return apiserver::pod_template_errors(pod_template);
}

}  // namespace hekla::test
