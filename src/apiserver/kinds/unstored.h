// Kinds that are served and never stored.
#pragma once

#include <vector>

#include "apiserver/object/kind.h"
#include "apiserver/object/request_info.h"

namespace hekla::apiserver {

// Resources that can only be posted (bindings, reviews) and are answered by reviews.cpp, and
// component statuses: discovery lists them.
const std::vector<KindPtr>& virtual_kinds();

// Resources that can only be read: what a node agent reports (node_reports.cpp).
const std::vector<KindPtr>& report_kinds();

// The one of either list that a request names; null when it names none.
KindPtr unstored_kind_of(const RequestInfo& info);

// The kind that `kubectl get componentstatuses` shows.
KindPtr component_status_kind();

}  // namespace hekla::apiserver
