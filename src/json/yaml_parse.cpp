// YAML text to values: libyaml's events, built with go-yaml v2's and sigs.k8s.io/yaml's rules.
// Where those are odd, they are followed, because the same file goes through kubectl: `<<`
// overrides the keys before it, keys that are numbers or booleans become their text.
#include <yaml.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <set>

#include "base/bytes.h"
#include "base/check.h"
#include "json/parse.h"
#include "json/yaml_scalar.h"

namespace hekla::json {
namespace {

// What aliases may add to a text: go-yaml's bound on nodes, and one on the bytes of their strings.
constexpr std::size_t kAliasedNodesMax = 400'000;
constexpr std::size_t kAliasedBytesMax = std::size_t{16} << 20;

struct Parser {
  yaml_parser_t raw{};
  explicit Parser(std::string_view text) {
    if (text.empty()) text = "";  // a view of nothing has no address, and libyaml insists on one
    CHECK(yaml_parser_initialize(&raw) != 0);
    yaml_parser_set_input_string(&raw, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    yaml_parser_set_encoding(&raw, YAML_UTF8_ENCODING);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { yaml_parser_delete(&raw); }
};

// One event, freed with its owner.
struct Event {
  yaml_event_t raw{};
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { clear(); }
  void clear() {
    yaml_event_delete(&raw);
    raw = {};
  }
  yaml_event_type_t type() const { return raw.type; }
  std::size_t line() const { return raw.start_mark.line + 1; }
};

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view{} : reinterpret_cast<const char*>(text);
}

// The short form of a core tag: "!!str"; others as they are.
std::string short_tag(std::string_view tag) {
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  return tag.starts_with(kCore) ? "!!" + std::string(tag.substr(kCore.size())) : std::string(tag);
}

struct Size {
  std::size_t nodes = 0, bytes = 0;
};

void measure(const Value& value, Size& size) {
  ++size.nodes;
  if (const String* text = value.if_string()) size.bytes += text->size();
  if (const Array* array = value.if_array())
    for (const Value& element : *array) measure(element, size);
  if (const Object* object = value.if_object())
    for (const auto& member : *object) {
      size.bytes += member.key().size();
      measure(member.value(), size);
    }
}

class YamlReader {
 public:
  YamlReader(std::string_view text, std::vector<std::string>* duplicates, YamlBooleans booleans)
      : parser_(text), duplicates_(duplicates), booleans_(booleans) {}

  Result<std::vector<YamlDocument>> read() {
    std::vector<YamlDocument> documents;
    TRY(next());  // stream start
    while (true) {
      TRY(next());
      if (event_.type() == YAML_STREAM_END_EVENT) return documents;
      anchors_.clear();
      TRY(next());  // past the document start, to its root
      YamlDocument document;
      document.line = static_cast<int>(event_.line());
      TRY(build(document.value, 0));
      TRY(next());  // document end
      if (!document.value.is_null()) documents.push_back(std::move(document));
    }
  }

 private:
  std::unexpected<Error> error_at(std::size_t line, std::string_view problem) const {
    return fail(Code::bad_request,
                "yaml: line " + std::to_string(line) + ": " + std::string(problem));
  }
  std::unexpected<Error> error_here(std::string_view problem) const {
    return error_at(event_.line(), problem);
  }

  Result<void> next() {
    event_.clear();
    if (yaml_parser_parse(&parser_.raw, &event_.raw) != 0) return {};
    const yaml_parser_t& parser = parser_.raw;
    const char* problem =
        parser.problem == nullptr ? "unknown problem parsing YAML content" : parser.problem;
    return error_at(parser.problem_mark.line + 1, problem);
  }

  // Builds the node that begins with the current event; ends on the node's last event.
  Result<void> build(Value& out, std::size_t depth) {
    if (depth > kMaxDepth) return error_here("nested deeper than " + std::to_string(kMaxDepth));
    switch (event_.type()) {
      case YAML_ALIAS_EVENT:
        return build_alias(out);
      case YAML_SCALAR_EVENT: {
        const std::string anchor(text_of(event_.raw.data.scalar.anchor));
        out = TRY(scalar_value(true));
        remember(anchor, out);
        return {};
      }
      case YAML_SEQUENCE_START_EVENT: {
        const std::string anchor(text_of(event_.raw.data.sequence_start.anchor));
        if (!anchor.empty()) open_anchors_.insert(anchor);
        TRY(build_sequence(out.emplace_array(), depth));
        remember(anchor, out);
        return {};
      }
      case YAML_MAPPING_START_EVENT: {
        const std::string anchor(text_of(event_.raw.data.mapping_start.anchor));
        if (!anchor.empty()) open_anchors_.insert(anchor);
        TRY(build_mapping(out.emplace_object(), depth));
        remember(anchor, out);
        return {};
      }
      default:
        return error_here("did not find expected node content");
    }
  }

  void remember(const std::string& anchor, const Value& value) {
    if (anchor.empty()) return;
    anchors_.insert_or_assign(anchor, value);
    open_anchors_.erase(anchor);
  }

  Result<void> build_alias(Value& out) {
    const std::string anchor(text_of(event_.raw.data.alias.anchor));
    if (open_anchors_.contains(anchor))
      return error_here("anchor '" + anchor + "' value contains itself");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return error_here("unknown anchor '" + anchor + "' referenced");
    measure(found->second, aliased_);
    if (aliased_.nodes > kAliasedNodesMax || aliased_.bytes > kAliasedBytesMax)
      return error_here("document contains excessive aliasing");
    out = found->second;
    return {};
  }

  Result<void> build_sequence(Array& out, std::size_t depth) {
    while (true) {
      TRY(next());
      if (event_.type() == YAML_SEQUENCE_END_EVENT) return {};
      TRY(build(out.emplace_back(nullptr), depth + 1));
    }
  }

  Result<void> build_mapping(Object& out, std::size_t depth) {
    std::set<std::string> written;  // by the mapping itself, not by a merge
    while (true) {
      TRY(next());
      if (event_.type() == YAML_MAPPING_END_EVENT) return {};
      if (is_merge_key()) {
        TRY(merge(out, depth));
        continue;
      }
      const std::string key = TRY(build_key());
      if (!written.insert(key).second && duplicates_ != nullptr &&
          duplicates_->size() < kMaxDuplicates)
        duplicates_->push_back("line " + std::to_string(event_.line()) + ": key " +
                               json::serialize(Value(key)) + " already set in map");
      TRY(next());
      Value value;
      TRY(build(value, depth + 1));
      out.insert_or_assign(key, std::move(value));
    }
  }

  bool is_merge_key() const {
    if (event_.type() != YAML_SCALAR_EVENT) return false;
    const auto& scalar = event_.raw.data.scalar;
    return scalar_text() == "<<" &&
           (scalar.plain_implicit != 0 || short_tag(text_of(scalar.tag)) == "!!merge");
  }

  Result<void> merge(Object& out, std::size_t depth) {
    TRY(next());
    const std::size_t line = event_.line();
    Value value;
    TRY(build(value, depth + 1));
    const auto bad = [&] {
      return error_at(line, "map merge requires map or sequence of maps as the value");
    };
    const auto assign = [&](const Object& from) {
      for (const auto& member : from) out.insert_or_assign(member.key(), member.value());
    };
    if (const Object* object = value.if_object()) {
      assign(*object);
      return {};
    }
    const Array* array = value.if_array();
    if (array == nullptr) return bad();
    // Backwards, because the earlier takes precedence.
    for (auto at = array->rbegin(); at != array->rend(); ++at) {
      if (!at->is_object()) return bad();
      assign(at->get_object());
    }
    return {};
  }

  // JSON's keys are strings: numbers and booleans become their text, as in sigs.k8s.io/yaml.
  Result<std::string> build_key() {
    if (event_.type() != YAML_SCALAR_EVENT && event_.type() != YAML_ALIAS_EVENT)
      return error_here("invalid map key");
    Value key;
    if (event_.type() == YAML_ALIAS_EVENT) {
      TRY(build_alias(key));
    } else {
      const std::string anchor(text_of(event_.raw.data.scalar.anchor));
      key = TRY(scalar_value(false));
      remember(anchor, key);
    }
    if (const String* text = key.if_string()) return std::string(sv(*text));
    if (key.is_bool() || key.is_int64() || key.is_uint64()) return json::serialize(key);
    if (const double* number = key.if_double()) {
      if (std::isnan(*number)) return std::string(".nan");
      if (std::isinf(*number)) return std::string(*number > 0 ? ".inf" : "-.inf");
      return json::serialize(key);
    }
    return error_here(key.is_null() ? "unsupported map key: null" : "invalid map key");
  }

  std::string_view scalar_text() const {
    const auto& scalar = event_.raw.data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }

  // `must_be_json`: as a value; a key may also be infinite.
  Result<Value> scalar_value(bool must_be_json) {
    const auto& scalar = event_.raw.data.scalar;
    const std::string_view text = scalar_text();
    const std::string tag = short_tag(text_of(scalar.tag));
    if ((tag.empty() && scalar.plain_implicit == 0) || tag == "!!str") return Value(text);
    if (tag == "!!binary") return binary_value(text);
    const bool core = tag.empty() || tag == "!!null" || tag == "!!bool" || tag == "!!int" ||
                      tag == "!!float" || tag == "!!merge";
    if (!core) return Value(text);
    YamlScalar resolved = resolve_yaml_scalar(text);
    if (booleans_ == YamlBooleans::words && resolved.tag == YamlTag::boolean && text.size() != 4 &&
        text.size() != 5)
      return Value(text);  // neither true nor false
    const bool widened = tag == "!!float" && resolved.tag == YamlTag::integer;
    if (!tag.empty() && tag != "!!merge" && !widened && tag != yaml_tag_name(resolved.tag))
      return error_here("cannot decode " + std::string(yaml_tag_name(resolved.tag)) + " `" +
                        std::string(text) + "` as a " + tag);
    if (resolved.tag == YamlTag::string) return Value(text);
    if (const double* number = resolved.value.if_double();
        must_be_json && number != nullptr && !std::isfinite(*number))
      return error_here("json: unsupported value: " + std::string(text));
    return std::move(resolved.value);
  }

  Result<Value> binary_value(std::string_view text) const {
    std::string packed;
    for (char c : text)
      if (c != '\n' && c != ' ' && c != '\r') packed.push_back(c);
    const std::optional<std::string> bytes = base64_decode(packed);
    if (!bytes) return error_here("!!binary value contains invalid base64 data");
    return Value(valid_utf8(*bytes));
  }

  Parser parser_;
  Event event_;
  std::vector<std::string>* duplicates_;
  YamlBooleans booleans_;
  boost::unordered_flat_map<std::string, Value> anchors_;
  std::set<std::string> open_anchors_;
  Size aliased_;
};

}  // namespace

Result<std::vector<YamlDocument>> parse_yaml(std::string_view text,
                                             std::vector<std::string>* duplicates,
                                             YamlBooleans booleans) {
  // JSON is read as JSON: it may be indented with tabs, which YAML forbids.
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') {
    std::vector<std::string> twice;  // which line they are on, YAML's reader knows
    if (Result<Value> value = json::parse(text, &twice);
        value && (twice.empty() || duplicates == nullptr)) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(start), '\n');
      std::vector<YamlDocument> documents;
      documents.push_back({std::move(*value), static_cast<int>(line)});
      return documents;
    }
  }
  return YamlReader(text, duplicates, booleans).read();
}

}  // namespace hekla::json
