#include "cli/flag.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/check.h"

namespace hekla::cli {
namespace {

using Texts = std::vector<std::string>;

template <class Number>
bool parse_number(const std::string& text, Number& value) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(begin, end, value);
  return error == std::errc() && at == end;
}

template <class Number>
void bind_number(Flag& flag, Number& value) {
  flag.type = std::is_unsigned_v<Number> ? "UINT" : "INT";
  flag.set = [&value](const Texts& texts) { return parse_number(texts.back(), value); };
  flag.get = [&value] { return Texts{std::to_string(value)}; };
}

void bind_switch(Flag& flag, bool& value, bool on) {
  flag.takes = Flag::Takes::nothing;
  flag.set = [&value, on](const Texts& texts) {
    value = (texts.back() == "true") == on;
    return true;
  };
  flag.get = [&value, on] { return Texts{value == on ? "true" : "false"}; };
}

std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string joined(const model::ResourceList& list) {
  std::string text;
  for (const auto& [name, quantity] : list)
    text += (text.empty() ? "" : ",") + name + "=" + quantity.text();
  return text;
}

Flag unbound(std::string names, std::string help) {
  static std::string nothing;
  Flag flag(std::move(names), nothing, std::move(help));
  flag.get = [] { return Texts{}; };
  return flag;
}

}  // namespace

Flag::Flag(std::string names, std::string& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  set = [&value](const Texts& texts) {
    value = texts.back();
    return true;
  };
  get = [&value] { return Texts{value}; };
}

Flag::Flag(std::string names, int& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  bind_number(*this, value);
}
Flag::Flag(std::string names, std::int64_t& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  bind_number(*this, value);
}
Flag::Flag(std::string names, std::uint64_t& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  bind_number(*this, value);
}
Flag::Flag(std::string names, std::uint16_t& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  bind_number(*this, value);
}

Flag::Flag(std::string names, model::ResourceList& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  rules.push_back({"", [](std::string& text) {
                     Result<model::ResourceList> list = parse_resource_list(text);
                     return list ? std::string() : list.error().message;
                   }});
  set = [&value](const Texts& texts) {
    value = parse_resource_list(texts.back()).value();
    return true;
  };
  get = [&value] { return Texts{joined(value)}; };
}

Flag::Flag(std::string names, Texts& values, std::string help)
    : names(std::move(names)), help(std::move(help)), takes(Takes::values) {
  set = [&values](const Texts& texts) {
    values = texts;
    return true;
  };
  get = [&values] { return values; };
}

Flag::Flag(std::string names, bool& value, std::string help)
    : names(std::move(names)), help(std::move(help)) {
  bind_switch(*this, value, true);
}

Flag Flag::switch_off(std::string names, bool& value, std::string help) {
  Flag flag(std::move(names), value, std::move(help));
  bind_switch(flag, value, false);
  return flag;
}

Flag Flag::yes_or_no(std::string names, bool& value, std::string help) {
  Flag flag(std::move(names), value, std::move(help));
  flag.takes = Takes::a_value;
  flag.type = "BOOLEAN";
  flag.set = [&value](const Texts& texts) {
    value = texts.back() == "true" || texts.back() == "1";
    return value || texts.back() == "false" || texts.back() == "0";
  };
  return flag;
}

Flag Flag::seconds(std::string names, Nanos& value, std::string help) {
  Flag flag = unbound(std::move(names), std::move(help));
  flag.type = "SECONDS";
  flag.set = [&value](const Texts& texts) {
    double seconds = 0;
    if (!parse_number(texts.back(), seconds)) return false;
    value = std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds));
    return true;
  };
  flag.get = [&value] { return Texts{shortest(std::chrono::duration<double>(value).count())}; };
  return flag;
}

Flag Flag::call(std::string names, std::function<void(const std::string&)> take, std::string help) {
  Flag flag = unbound(std::move(names), std::move(help));
  flag.set = [take = std::move(take)](const Texts& texts) {
    take(texts.back());
    return true;
  };
  return flag;
}

Flag Flag::call_switch(std::string names, std::function<void()> take, std::string help) {
  Flag flag = unbound(std::move(names), std::move(help));
  flag.takes = Takes::nothing;
  flag.set = [take = std::move(take)](const Texts&) {
    take();
    return true;
  };
  return flag;
}

Flag&& Flag::with(ValueRule rule) && {
  rules.push_back(std::move(rule));
  return std::move(*this);
}
Flag&& Flag::split_at(char one) && {
  delimiter = one;
  return std::move(*this);
}
Flag&& Flag::in_group(std::string title) && {
  group = std::move(title);
  return std::move(*this);
}
Flag&& Flag::with_default(std::string text) && {
  default_text = std::move(text);
  return std::move(*this);
}
Flag&& Flag::from_environment(std::string variable) && {
  environment = std::move(variable);
  return std::move(*this);
}
Flag&& Flag::value_optional() && {
  takes = Takes::perhaps_a_value;
  return std::move(*this);
}
Flag&& Flag::must_be_given() && {
  required = true;
  return std::move(*this);
}
Flag&& Flag::not_in_help() && {
  hidden = true;
  return std::move(*this);
}
Flag&& Flag::completed_with(Names names) && {
  completes = names;
  return std::move(*this);
}
Flag&& Flag::needed_to_stop() && {
  stops = true;
  return std::move(*this);
}

Texts Flag::all_names() const {
  Texts all;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    all.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

std::string Flag::long_name() const {
  for (std::string& name : all_names())
    if (name.starts_with("--")) return std::move(name);
  return names;
}

std::string Flag::shown_default() const {
  if (!default_text.empty() || required) return default_text;
  std::string text;
  for (const std::string& value : get()) text += (text.empty() ? "" : ",") + value;
  return takes == Takes::nothing && text == "false" ? "" : text;
}

ValueRule one_of(Texts values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "{" : ",") + value;
  text += "}";
  return {text, [values = std::move(values), text](std::string& value) {
            if (std::ranges::find(values, value) != values.end()) return std::string();
            return value + " not in " + text;
          }};
}

ValueRule between(std::int64_t low, std::int64_t high) {
  std::string text = "[" + std::to_string(low) + " - " + std::to_string(high) + "]";
  return {"in " + text, [low, high, text](std::string& value) {
            double number = 0;
            if (parse_number(value, number) && number >= static_cast<double>(low) &&
                number <= static_cast<double>(high))
              return std::string();
            return "Value " + value + " not in range " + text;
          }};
}

ValueRule at_least(std::int64_t low) {
  return {"at least " + std::to_string(low), [low](std::string& value) {
            double number = 0;
            if (parse_number(value, number) && number >= static_cast<double>(low))
              return std::string();
            return "Value " + value + " is not at least " + std::to_string(low);
          }};
}

ValueRule existing_file() {
  return {"FILE", [](std::string& value) {
            std::error_code error;
            const auto type = std::filesystem::status(value, error).type();
            if (type == std::filesystem::file_type::directory)
              return "File is actually a directory: " + value;
            return type == std::filesystem::file_type::not_found || error
                       ? "File does not exist: " + value
                       : std::string();
          }};
}

Texts arguments_of(const std::vector<Flag>& flags, const std::vector<Flag>& usual) {
  CHECK(flags.size() == usual.size(), "both tables are made by one function");
  Texts arguments;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const Flag& flag = flags[i];
    CHECK(flag.names == usual[i].names, "both tables are made by one function");
    const Texts texts = flag.get();
    if (texts == usual[i].get()) continue;
    if (flag.takes == Flag::Takes::nothing) {
      arguments.push_back(flag.long_name() + (texts.front() == "true" ? "" : "=false"));
      continue;
    }
    for (const std::string& text : texts) {
      arguments.push_back(flag.long_name());
      arguments.push_back(text);
    }
  }
  return arguments;
}

void append(std::vector<Flag>& flags, std::vector<Flag> more) {
  flags.insert(flags.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

Result<model::ResourceList> parse_resource_list(const std::string& text) {
  model::ResourceList list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string entry = text.substr(at, comma - at);
    at = comma + 1;
    if (entry.empty()) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::bad_request, "\"" + entry + "\" is not name=quantity");
    Result<model::Quantity> quantity = model::Quantity::parse(entry.substr(equals + 1));
    if (!quantity) return fail(Code::bad_request, entry + ": " + quantity.error().message);
    list[entry.substr(0, equals)] = *quantity;
  }
  return list;
}

}  // namespace hekla::cli
