// The API server's opinion of pod templates, for tests of modules beside it.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace hekla::test {

std::vector<std::string> pod_template_errors(const json::Value& pod_template);

}  // namespace hekla::test
