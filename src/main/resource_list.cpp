#include "main/resource_list.h"

namespace hekla {

Result<model::ResourceList> parse_resource_list(const std::string& text, const std::string& flag) {
  model::ResourceList list;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    std::string entry = text.substr(at, comma - at);
    at = comma + 1;
    if (entry.empty()) continue;
    std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::bad_request, flag + ": \"" + entry + "\" is not name=quantity");
    Result<model::Quantity> quantity = model::Quantity::parse(entry.substr(equals + 1));
    if (!quantity)
      return fail(Code::bad_request, flag + ": " + entry + ": " + quantity.error().message);
    list[entry.substr(0, equals)] = *quantity;
  }
  return list;
}

}  // namespace hekla
