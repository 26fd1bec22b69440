#include "gateway/web_table.h"

#include <algorithm>
#include <utility>

namespace hekla::gateway {
namespace {

bool matches(const kube::WebRoute& route, std::string_view path) {
  if (!path.starts_with(route.prefix)) return false;
  return route.any_tail || route.prefix.ends_with('/') || path.size() == route.prefix.size() ||
         path[route.prefix.size()] == '/';
}

}  // namespace

Result<WebTable> WebTable::make(kube::WebRoutes routes) {
  std::ranges::stable_sort(routes, [](const kube::WebRoute& a, const kube::WebRoute& b) {
    return a.prefix.size() != b.prefix.size() ? a.prefix.size() > b.prefix.size()
                                              : a.prefix < b.prefix;
  });
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const kube::WebRoute& route = routes[i];
    if (!route.prefix.starts_with('/'))
      return fail(Code::invalid, "web route \"" + route.prefix + "\" does not begin with a slash");
    if (i > 0 && routes[i - 1].prefix == route.prefix)
      return fail(Code::already_exists, "two web routes claim " + route.prefix);
    if (!route.handler) return fail(Code::invalid, "web route " + route.prefix + " has no handler");
    if ((route.gate == kube::WebGate::object) != static_cast<bool>(route.access))
      return fail(Code::invalid, "web route " + route.prefix +
                                     " must name the object that authorises it, and only with the "
                                     "gate \"object\"");
  }
  WebTable table;
  table.routes_ = std::move(routes);
  return table;
}

WebTable::Found WebTable::find(std::string_view path) const {
  const kube::WebRoute* best = nullptr;
  for (const kube::WebRoute& route : routes_) {
    if (matches(route, path)) {
      best = &route;
      break;
    }
    // "/jupyter" for "/jupyter/", which is longer than whatever else would match.
    if (route.prefix.size() == path.size() + 1 && route.prefix.ends_with('/') &&
        route.prefix.starts_with(path))
      return {nullptr, route.prefix};
  }
  return {best};
}

bool WebTable::owns(std::string_view prefix) const {
  return std::ranges::any_of(routes_, [&](const kube::WebRoute& route) {
    std::string_view own = route.prefix;
    if (own == "/") return false;
    if (own.ends_with('/')) own.remove_suffix(1);
    return prefix.starts_with(own) || (own.starts_with(prefix) && prefix != "/");
  });
}

}  // namespace hekla::gateway
