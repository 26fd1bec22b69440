#include "main/token_file.h"

#include <string>

namespace hekla {
namespace {

// The fields of a CSV line; a quoted field may hold commas.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

}  // namespace

Result<std::vector<apiserver::StaticToken>> parse_token_file(std::string_view text) {
  std::vector<apiserver::StaticToken> tokens;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> fields = csv_fields(line);
    if (fields.size() < 3 || fields[0].empty())
      return fail(Code::bad_request, "--token-auth-file line " + std::to_string(number) +
                                         ": write token,user,uid[,\"group1,group2\"]");
    apiserver::StaticToken token{fields[0], fields[1], fields[2], {}};
    if (fields.size() > 3) token.groups = csv_fields(fields[3]);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace hekla
