// libyaml's node tree knows the lines of its nodes.
#include "json/yaml_lines.h"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/check.h"

namespace hekla::json {
namespace {

struct Step {
  std::string_view key;
  std::optional<int> index;
};

// "spec.tasks[0].name", "metadata.labels[example.org/a]".
std::vector<Step> steps_of(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    if (path[0] == '.') path.remove_prefix(1);
    if (path.starts_with('[')) {
      const std::size_t end = std::min(path.find(']'), path.size());
      Step step{path.substr(1, end - 1), std::nullopt};
      int index = 0;
      auto [at, error] = std::from_chars(step.key.data(), step.key.data() + step.key.size(), index);
      if (error == std::errc() && at == step.key.data() + step.key.size()) step.index = index;
      steps.push_back(step);
      path.remove_prefix(std::min(end + 1, path.size()));
      continue;
    }
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    if (end == 0) break;
    steps.push_back({path.substr(0, end), std::nullopt});
    path.remove_prefix(end);
  }
  return steps;
}

int line_of(const yaml_node_t& node) { return static_cast<int>(node.start_mark.line) + 1; }

// The node a step leads to, and the line that names it.
yaml_node_t* follow(yaml_document_t& document, yaml_node_t* node, const Step& step, int& line) {
  if (node->type == YAML_SEQUENCE_NODE && step.index) {
    yaml_node_item_t* item = node->data.sequence.items.start + *step.index;
    if (*step.index < 0 || item >= node->data.sequence.items.top) return nullptr;
    yaml_node_t* found = yaml_document_get_node(&document, *item);
    if (found) line = line_of(*found);
    return found;
  }
  if (node->type != YAML_MAPPING_NODE) return nullptr;
  for (auto* pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; ++pair) {
    const yaml_node_t* key = yaml_document_get_node(&document, pair->key);
    if (!key || key->type != YAML_SCALAR_NODE) continue;
    const std::string_view name(reinterpret_cast<const char*>(key->data.scalar.value),
                                key->data.scalar.length);
    if (name != step.key) continue;
    line = line_of(*key);
    return yaml_document_get_node(&document, pair->value);
  }
  return nullptr;
}

int line_in(yaml_document_t& document, yaml_node_t* node, std::string_view path) {
  int line = line_of(*node);
  for (const Step& step : steps_of(path)) {
    node = follow(document, node, step, line);
    if (!node) break;
  }
  return line;
}

}  // namespace

int yaml_line_of(std::string_view text, int document_line, std::string_view path) {
  yaml_parser_t parser{};
  CHECK(yaml_parser_initialize(&parser) != 0, "there is memory");
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
  int line = document_line;
  for (bool more = true; more;) {
    yaml_document_t document{};
    if (yaml_parser_load(&parser, &document) == 0) break;
    yaml_node_t* root = yaml_document_get_root_node(&document);
    more = root != nullptr;
    if (root && line_of(*root) == document_line) {
      line = line_in(document, root, path);
      more = false;
    }
    yaml_document_delete(&document);
  }
  yaml_parser_delete(&parser);
  return line;
}

}  // namespace hekla::json
