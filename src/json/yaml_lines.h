// Where things stand in a YAML text.
#pragma once

#include <string_view>

namespace hekla::json {

// The line at which a field ("spec.tasks[0].name") stands in the document that begins at
// `document_line`, as YamlDocument has it; of what is not there, that of the part which is.
int yaml_line_of(std::string_view text, int document_line, std::string_view path);

}  // namespace hekla::json
