#include "scheduler/cluster/device_selector.h"

#include "model/quantity.h"

namespace hekla::scheduler {

namespace {

constexpr std::uint64_t kMostCost = 1'000'000;  // CELSelectorExpressionMaxCost

enum Verdict : std::uint8_t { unknown, yes, no, failed };

class DeviceShape final : public cel::Shape {
 public:
  cel::Type cel_type() const override {
    cel::Type out = cel::simple_type(cel::Type::Kind::object);
    out.shape = this;
    return out;
  }
  Reading reading() const override { return Reading::plain; }
  const Shape* member(std::string_view) const override { return nullptr; }
  const Shape* element() const override { return nullptr; }
  bool has_fields() const override { return true; }
  std::optional<cel::Type> field(std::string_view name) const override {
    if (name == "driver") return cel::simple_type(cel::Type::Kind::string);
    if (name == "attributes") return cel::parse_type("map<string,map<string,dyn>>");
    if (name == "capacity") return cel::parse_type("map<string,map<string,quantity>>");
    if (name == "allowMultipleAllocations") return cel::simple_type(cel::Type::Kind::boolean);
    return std::nullopt;
  }
};

const DeviceShape& device_shape() {
  static const DeviceShape made;
  return made;
}

using Entries = std::vector<std::pair<cel::Value, cel::Value>>;
using Domains = std::map<std::string, Entries, std::less<>>;

// "domain/name"; the driver is the domain of names without one.
void add(Domains& to, std::string_view name, std::string_view driver, cel::Value value) {
  std::size_t slash = name.find('/');
  std::string_view domain = slash == std::string_view::npos ? driver : name.substr(0, slash);
  std::string_view id = slash == std::string_view::npos ? name : name.substr(slash + 1);
  to[std::string(domain)].emplace_back(cel::Value::text(std::string(id)), std::move(value));
}

// Of a domain nobody has heard of a device has no attributes; asking is no error.
cel::Value map_of(Domains&& domains) {
  Entries out;
  for (auto& [domain, entries] : domains)
    out.emplace_back(cel::Value::text(domain), cel::Value::map(std::move(entries)));
  return cel::Value::map_or(std::move(out), cel::Value::map({}));
}

Result<cel::Value> attribute_value(const json::Value& given) {
  if (const json::Value* number = json::find(given, "int"); number && number->is_int64())
    return cel::Value(number->get_int64());
  if (const json::Value* truth = json::find(given, "bool"); truth && truth->is_bool())
    return cel::Value(truth->get_bool());
  if (const json::Value* text = json::find(given, "string"); text && text->is_string())
    return cel::Value::text(std::string(json::sv(text->get_string())));
  if (const json::Value* text = json::find(given, "version"); text && text->is_string()) {
    Result<cel::Semver> version = cel::Semver::parse(json::sv(text->get_string()));
    if (!version) return fail(Code::invalid, "parse semantic version: " + version.error().message);
    return cel::Value(std::move(*version));
  }
  return fail(Code::invalid, "unsupported attribute value");
}

}  // namespace

SelectedDevice selected_device(const json::Value& body, std::string_view driver) {
  SelectedDevice out;
  Domains attributes, capacity;
  if (const json::Object* given = json::object_at(body, {"attributes"}))
    for (const auto& member : *given) {
      Result<cel::Value> value = attribute_value(member.value());
      if (!value) {
        out.malformed = "attribute " + std::string(member.key()) + ": " + value.error().message;
        return out;
      }
      add(attributes, member.key(), driver, std::move(*value));
    }
  if (const json::Object* given = json::object_at(body, {"capacity"}))
    for (const auto& member : *given) {
      // In the oldest version of the API the quantity itself.
      const json::Value* inner = json::find(member.value(), "value");
      Result<model::Quantity> value = model::Quantity::from_json(inner ? *inner : member.value());
      if (value) add(capacity, member.key(), driver, cel::Value(*value));
    }
  Entries fields;
  fields.emplace_back(cel::Value::text("driver"), cel::Value::text(std::string(driver)));
  fields.emplace_back(cel::Value::text("attributes"), map_of(std::move(attributes)));
  fields.emplace_back(cel::Value::text("capacity"), map_of(std::move(capacity)));
  fields.emplace_back(cel::Value::text("allowMultipleAllocations"),
                      cel::Value(json::bool_at(body, {"allowMultipleAllocations"})));
  out.value = cel::Value::map(std::move(fields));
  return out;
}

std::uint32_t DeviceSelectors::intern(std::string_view expression) {
  auto [known, fresh] =
      by_text_.emplace(std::string(expression), static_cast<std::uint32_t>(all_.size()));
  if (!fresh) return known->second;
  Selector& made = all_.emplace_back();
  auto program =
      cel::Program::compile(std::string(expression), {{"device", device_shape().cel_type()}});
  if (!program) {
    made.error = "CEL compile error: compilation failed: " + program.error().message;
  } else if (cel::Type::Kind kind = (*program)->type().kind;
             kind != cel::Type::Kind::boolean && kind != cel::Type::Kind::dyn) {
    made.error = "CEL compile error: must evaluate to bool or the unknown type, not " +
                 (*program)->type().text();
  } else {
    made.program = std::move(*program);
  }
  return known->second;
}

Result<bool> DeviceSelectors::matches(std::uint32_t selector, const SelectedDevice& device) const {
  if (device.verdicts.size() <= selector) device.verdicts.resize(all_.size(), Verdict::unknown);
  std::uint8_t& verdict = device.verdicts[selector];
  if (verdict == Verdict::unknown) {
    std::string failure = all_[selector].program ? device.malformed : all_[selector].error;
    if (failure.empty()) {
      cel::Budget budget(kMostCost);
      Result<cel::Value> value = all_[selector].program->run({{"device", device.value}}, budget);
      if (!value)
        failure = value.error().message;
      else if (value->as<bool>() == nullptr)
        failure = "CEL result of type " + std::string(value->type_name()) +
                  " could not be converted to bool";
      else
        verdict = value->is_true() ? Verdict::yes : Verdict::no;
    }
    if (verdict == Verdict::unknown) {
      verdict = Verdict::failed;
      device.failures[selector] = "CEL runtime error: " + failure;
    }
  }
  if (verdict == Verdict::failed) return fail(Code::invalid, device.failures.at(selector));
  return verdict == Verdict::yes;
}

}  // namespace hekla::scheduler
