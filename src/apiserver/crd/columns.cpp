#include "apiserver/crd/columns.h"

#include "base/log.h"
#include "json/jsonpath.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

struct PrintedColumn {
  std::string type;
  json::JsonPath path;
};

json::Value age_cell(const json::Value& value, WallTime now) {
  if (!value.is_string()) return nullptr;
  Result<WallTime> at = model::parse_rfc3339(json::sv(value.get_string()));
  if (!at) return "<invalid>";
  if (*at > now + std::chrono::seconds(1)) return "<invalid>";
  return json::Value(model::human_duration(now - *at));
}

// A value of another type than the column's is shown as nothing, as upstream does; text takes
// anything.
json::Value cell_of(const std::string& type, const json::Value& value, WallTime now) {
  if (value.is_null()) return nullptr;
  if (type == "date") return age_cell(value, now);
  if (type == "integer") {
    if (value.is_int64() || value.is_uint64()) return value;
    if (value.is_double()) return static_cast<std::int64_t>(value.get_double());
    return nullptr;
  }
  if (type == "number") return value.is_number() ? value : json::Value(nullptr);
  if (type == "boolean") return value.is_bool() ? value : json::Value(nullptr);
  return value.is_string() ? value : json::Value(json::serialize(value));
}

// False when its path cannot be read.
bool add_column(const json::Value& column, Kind& kind, std::vector<PrintedColumn>& printed) {
  Result<json::JsonPath> path = json::JsonPath::parse(json::string_at(column, {"jsonPath"}));
  if (!path) {
    log_warn("apiserver",
             "a printer column's path cannot be read; it and the columns after it are left out",
             {{"kind", kind.resource.kind}, {"error", path.error().message}});
    return false;
  }
  auto text = [&](std::string_view member) {
    return std::string(json::string_at(column, {member}));
  };
  kind.printing.columns.push_back({text("name"), text("type"), text("format"), text("description"),
                                   static_cast<int>(json::int_at(column, {"priority"}))});
  printed.push_back({text("type"), std::move(*path)});
  return true;
}

}  // namespace

void set_crd_columns(const json::Value& version, Kind& kind) {
  std::vector<PrintedColumn> printed;
  const json::Array* columns = json::array_at(version, {"additionalPrinterColumns"});
  if (columns && !columns->empty()) {
    for (const json::Value& column : *columns)
      if (!add_column(column, kind, printed)) break;
  } else {
    json::Object age{{"name", "Age"},
                     {"type", "date"},
                     {"jsonPath", ".metadata.creationTimestamp"},
                     {"description", "CreationTimestamp of the object"}};
    add_column(json::Value(std::move(age)), kind, printed);
  }
  kind.printing.cells = [printed = std::move(printed)](const json::Value& object, WallTime now) {
    json::Array cells;
    cells.reserve(printed.size());
    for (const PrintedColumn& column : printed) {
      const json::Value* value = column.path.find_first(object);
      cells.push_back(value ? cell_of(column.type, *value, now) : json::Value(nullptr));
    }
    return cells;
  };
  if (const json::Array* fields = json::array_at(version, {"selectableFields"})) {
    for (const json::Value& field : *fields) {
      std::string_view text = json::string_at(field, {"jsonPath"});
      Result<json::JsonPath> path = json::JsonPath::parse(text);
      if (!path) continue;
      if (text.starts_with('.')) text.remove_prefix(1);
      kind.selectable[std::string(text)] = [path = *path](const json::Node& object) {
        const json::Value copy =
            object.value() ? json::Value() : object.to_value().value_or(nullptr);
        const json::Value* value = path.find_first(object.value() ? *object.value() : copy);
        if (!value) return std::string();
        return value->is_string() ? std::string(json::sv(value->get_string()))
                                  : json::serialize(*value);
      };
    }
  }
}

}  // namespace hekla::apiserver
