// What Kubernetes accepts as a name, a label key and a label value. Each function returns the
// messages apimachinery's validation gives, none when the text is valid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hekla::model {

std::vector<std::string> dns1123_label_errors(
    std::string_view text);  // namespaces, container names
std::vector<std::string> dns1123_subdomain_errors(std::string_view text);  // most object names
std::vector<std::string> path_segment_errors(
    std::string_view text);  // anything that can be one segment of a path
std::vector<std::string> dns1035_label_errors(std::string_view text);   // services
std::vector<std::string> qualified_name_errors(std::string_view text);  // label and annotation keys
std::vector<std::string> label_value_errors(std::string_view text);

}  // namespace hekla::model
