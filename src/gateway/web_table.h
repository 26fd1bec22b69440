// The fixed table of the modules' web routes: longest prefix first, no two alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/web_route.h"

namespace hekla::gateway {

class WebTable {
 public:
  // Immutable afterwards, and so for any thread. Refuses a prefix that is no path, that two routes
  // claim, or that has no handler.
  static Result<WebTable> make(kube::WebRoutes routes);

  struct Found {
    const kube::WebRoute* route = nullptr;  // null: the table has nothing to say
    std::string redirect = {};              // instead: the prefix with the slash that is missing
  };
  // `path` is normalised (gateway/path.h).
  Found find(std::string_view path) const;
  // Whether a route of somebody else's that begins so would hide one of the table, or be hidden by
  // it. "/" hides nothing: it is the page's catch-all.
  bool owns(std::string_view prefix) const;

 private:
  kube::WebRoutes routes_;
};

}  // namespace hekla::gateway
