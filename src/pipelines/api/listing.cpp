#include "pipelines/api/listing.h"

#include <charconv>

#include "base/bytes.h"
#include "json/node.h"
#include "json/parse.h"
#include "model/time.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr std::int64_t kPageDefault = 20, kPageMax = 200;
constexpr std::size_t kPredicatesMax = 64;

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return made;
}

struct Sort {
  const ListedField* field = nullptr;
  bool descending = false;
};

// A condition with its parameters.
struct Where {
  std::string sql;
  std::vector<records::Value> parameters;

  std::string place(records::Value value) {
    parameters.push_back(std::move(value));
    return "?" + std::to_string(parameters.size());
  }
  void add(const std::string& condition) { sql += (sql.empty() ? " WHERE " : " AND ") + condition; }
};

const ListedField* find_field(const Listing& listing, std::string_view name) {
  for (const ListedField& field : listing.fields)
    if (field.name == name) return &field;
  return nullptr;
}

Result<Sort> read_sort(const Listing& listing, std::string_view text) {
  Sort sort{find_field(listing, "created_at"), false};
  const std::string wanted = lower(text);
  if (wanted.empty()) return sort;
  const std::size_t space = wanted.find(' ');
  const std::string name = wanted.substr(0, space);
  const std::string order = space == std::string::npos ? "asc" : wanted.substr(space + 1);
  sort.field = find_field(listing, name);
  if (sort.field == nullptr)
    return invalid("Failed to parse list options: invalid sorting field: \"" + name + "\"");
  if (order != "asc" && order != "desc")
    return invalid("Failed to parse list options: received invalid order by format \"" +
                   std::string(text) + "\"");
  sort.descending = order == "desc";
  return sort;
}

enum class Op {
  none,
  equals,
  not_equals,
  greater,
  greater_equals,
  less,
  less_equals,
  in,
  substring
};

Op operation_of(const json::Value& predicate) {
  const json::Value* given = json::find(predicate, "operation");
  if (given == nullptr) given = json::find(predicate, "op");
  if (given == nullptr) return Op::none;
  static constexpr std::pair<std::string_view, int> names[] = {
      {"EQUALS", 1},    {"NOT_EQUALS", 2},       {"GREATER_THAN", 3}, {"GREATER_THAN_EQUALS", 5},
      {"LESS_THAN", 6}, {"LESS_THAN_EQUALS", 7}, {"IN", 8},           {"IS_SUBSTRING", 9}};
  std::int64_t number = 0;
  json::Node(*given).to_number(number);
  for (const auto& [name, value] : names)
    if (given->is_string() && json::sv(given->get_string()) == name) number = value;
  switch (number) {
    case 1:
      return Op::equals;
    case 2:
      return Op::not_equals;
    case 3:
      return Op::greater;
    case 5:
      return Op::greater_equals;
    case 6:
      return Op::less;
    case 7:
      return Op::less_equals;
    case 8:
      return Op::in;
    case 9:
      return Op::substring;
    default:
      return Op::none;
  }
}

const json::Value* value_at(const json::Value& predicate, std::string_view snake,
                            std::string_view camel) {
  const json::Value* found = json::find(predicate, snake);
  return found ? found : json::find(predicate, camel);
}

Result<std::vector<records::Value>> values_of(const json::Value& predicate,
                                              const ListedField& field) {
  std::vector<records::Value> values;
  const auto add = [&](const json::Value& value) -> Result<void> {
    std::int64_t number = 0;
    if (json::Node(value).to_number(number)) {
      values.emplace_back(field.time ? number * 1000 : number);
      return {};
    }
    if (!value.is_string()) return invalid("a filter's value is neither number nor text");
    const std::string text(json::sv(value.get_string()));
    values.emplace_back(field.stored ? field.stored(text) : text);
    return {};
  };
  if (const json::Value* time = value_at(predicate, "timestamp_value", "timestampValue")) {
    if (!time->is_string()) return invalid("a filter's timestamp_value is no text");
    const WallTime when = TRY(model::parse_rfc3339(json::sv(time->get_string())));
    values.emplace_back(store::to_millis(when));
    return values;
  }
  for (const auto& [snake, camel] :
       {std::pair<std::string_view, std::string_view>{"string_value", "stringValue"},
        {"int_value", "intValue"},
        {"long_value", "longValue"}})
    if (const json::Value* one = value_at(predicate, snake, camel)) TRY(add(*one));
  for (const auto& [snake, camel] :
       {std::pair<std::string_view, std::string_view>{"string_values", "stringValues"},
        {"int_values", "intValues"},
        {"long_values", "longValues"}})
    if (const json::Value* several = value_at(predicate, snake, camel))
      if (const json::Array* list = json::array_at(*several, {"values"}))
        for (const json::Value& one : *list) TRY(add(one));
  if (values.empty()) return invalid("a filter's predicate has no value");
  return values;
}

Result<void> add_predicate(const Listing& listing, const json::Value& predicate, Where& where) {
  const std::string key(json::string_at(predicate, {"key"}));
  const Op op = operation_of(predicate);
  if (op == Op::none) return invalid("Invalid predicate: operation is unspecified or unknown");
  ListedField field;
  std::string column;
  if (const ListedField* known = find_field(listing, key)) {
    field = *known;
    column = std::string(field.column);
  } else if (listing.has_tags && key.starts_with("tags.")) {
    column = "json_extract(tags, " + where.place("$.\"" + key.substr(5) + "\"") + ")";
  } else {
    return invalid(
        "Failed to parse list options: no support for filtering on unrecognized field \"" + key +
        "\"");
  }
  const std::vector<records::Value> values = TRY(values_of(predicate, field));
  if (op == Op::in) {
    std::string all;
    for (const records::Value& value : values)
      all += (all.empty() ? "" : ", ") + where.place(value);
    where.add(column + " IN (" + all + ")");
    return {};
  }
  if (values.size() != 1) return invalid("only IN takes several values");
  const bool text = std::holds_alternative<std::string>(values[0]);
  if (op == Op::substring) {
    if (!text) return invalid("IS_SUBSTRING needs a string_value");
    where.add("instr(lower(" + column + "), lower(" + where.place(values[0]) + ")) > 0");
    return {};
  }
  static constexpr std::string_view kSigns[] = {"", "=", "<>", ">", ">=", "<", "<="};
  where.add(column + " " + std::string(kSigns[static_cast<std::size_t>(op)]) + " " +
            where.place(values[0]));
  return {};
}

Result<void> add_filter(const Listing& listing, std::string_view text, Where& where) {
  if (text.empty()) return {};
  Result<json::Value> filter = json::parse(text);
  if (!filter || !filter->is_object())
    return invalid("Failed to parse list options: failed to parse filter: it is no JSON object");
  const json::Array* predicates = json::array_at(*filter, {"predicates"});
  if (predicates == nullptr) return {};
  if (predicates->size() > kPredicatesMax) return invalid("a filter has too many predicates");
  for (const json::Value& predicate : *predicates) TRY(add_predicate(listing, predicate, where));
  return {};
}

// The first row of the page: its sort value and its id.
struct Token {
  std::string sort_by, filter;
  records::Value value;
  std::string id;
};

std::string write_token(const Token& token) {
  json::Object made{{"sort_by", token.sort_by}, {"filter", token.filter}, {"id", token.id}};
  if (const auto* number = std::get_if<std::int64_t>(&token.value))
    made.emplace("value", *number);
  else
    made.emplace("value", std::get<std::string>(token.value));
  return base64_encode(json::serialize(made));
}

Result<Token> read_token(std::string_view text) {
  const std::optional<std::string> raw = base64_decode(text);
  Result<json::Value> value = raw ? json::parse(*raw) : fail(Code::bad_request, "");
  const json::Value* at = value ? json::find(*value, "value") : nullptr;
  if (at == nullptr) return invalid("Failed to parse list options: invalid package token");
  Token token{json::text_at(*value, {"sort_by"}),
              json::text_at(*value, {"filter"}),
              {},
              json::text_at(*value, {"id"})};
  if (at->is_int64())
    token.value = at->get_int64();
  else if (at->is_string())
    token.value = std::string(json::sv(at->get_string()));
  else
    return invalid("Failed to parse list options: invalid package token");
  return token;
}

Result<std::int64_t> read_size(std::string_view text) {
  std::int64_t size = 0;
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || end != text.data() + text.size())
      return invalid("The page size is no number: " + std::string(text));
  }
  if (size < 0)
    return invalid("The page size should be greater than 0. Got \"" + std::to_string(size) + "\"");
  return size == 0 ? kPageDefault : std::min(size, kPageMax);
}

}  // namespace

std::string stored_state(const std::string& text) {
  constexpr std::string_view kOld = "STORAGESTATE_";
  std::string made = text.substr(text.starts_with(kOld) ? kOld.size() : 0);
  for (char& c : made)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return made == "TERMINATING" ? "CANCELING" : made;
}

Result<json::Value> list(records::Database& database, const net::Query& query,
                         const Listing& listing) {
  const std::int64_t size = TRY(read_size(query.get("page_size")));
  Token token{std::string(query.get("sort_by")), std::string(query.get("filter")), {}, ""};
  const std::string_view given = query.get("page_token");
  if (!given.empty()) {
    Token from = TRY(read_token(given));
    const bool other = (!token.sort_by.empty() && token.sort_by != from.sort_by) ||
                       (!token.filter.empty() && token.filter != from.filter);
    if (other)
      return invalid("page token does not match the supplied sort by and/or filtering criteria");
    token = std::move(from);
  }
  const Sort sort = TRY(read_sort(listing, token.sort_by));
  Where where;
  for (const auto& [column, value] : listing.where) where.add(column + " = " + where.place(value));
  TRY(add_filter(listing, token.filter, where));

  const std::string table(listing.table), column(sort.field->column);
  records::Statement* counted =
      TRY(database.query("SELECT count(*) FROM " + table + where.sql, where.parameters));
  TRY(counted->step());
  const std::int64_t total = counted->integer(0);
  if (!token.id.empty()) {
    const std::string sign = sort.descending ? "<=" : ">=";
    where.add("(" + column + ", id) " + sign + " (" + where.place(token.value) + ", " +
              where.place(token.id) + ")");
  }
  const std::string order = sort.descending ? " DESC" : "";
  records::Statement* rows = TRY(database.query(
      "SELECT " + column + ", id, " + std::string(listing.columns) + " FROM " + table + where.sql +
          " ORDER BY " + column + order + ", id" + order + " LIMIT " + where.place(size + 1),
      where.parameters));
  json::Array found;
  json::Object answer;
  while (TRY(rows->step())) {
    if (static_cast<std::int64_t>(found.size()) == size) {
      const bool number = sort.field->time;
      Token next{token.sort_by, token.filter, {}, rows->text(1)};
      if (number)
        next.value = rows->integer(0);
      else
        next.value = rows->text(0);
      answer.emplace("next_page_token", write_token(next));
      break;
    }
    found.push_back(TRY(listing.row_of(*rows)));
  }
  if (!found.empty()) answer.emplace(listing.member, std::move(found));
  if (total > 0) answer.emplace("total_size", total);
  return answer;
}

}  // namespace hekla::pipelines::api
