// Get and list, answered from snapshots. Any past revision the history still reaches can be listed:
// the changes since are undone on the fly, so that pages of one traversal agree without holding
// anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/object/list_options.h"
#include "apiserver/object/registry.h"
#include "apiserver/read/filter.h"
#include "base/result.h"
#include "kube/client.h"
#include "store/store.h"

namespace hekla::apiserver {

struct ListPage {
  store::Revision revision = 0;
  std::vector<store::ItemPtr> items;
  std::string continue_token;             // empty on the last page
  std::optional<std::int64_t> remaining;  // known without selectors
};

Result<store::ItemPtr> get_object(const store::Store& store, const ServedKind& served,
                                  const kube::Key& key, std::string_view resource_version = {});

// `ns` empty: all namespaces. What a filter that waits for conversion asks of fields is left to the
// caller.
Result<ListPage> list_objects(const store::Store& store, const ServedKind& served,
                              const std::string& ns, const ListOptions& options);

// Everything that matches, as of a snapshot.
std::vector<store::ItemPtr> scan_objects(const store::Snapshot& snapshot, const ServedKind& served,
                                         const std::string& ns, const ObjectFilter& filter);

// Of a version that has not been reached.
Error too_large_error(store::Revision wanted, store::Revision current);

// For the 410 answer to an expired continue token: the same place at whatever revision is current.
std::string inconsistent_token(const std::string& expired);

}  // namespace hekla::apiserver
