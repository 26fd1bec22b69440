#include "main/cluster/node_filter.h"

#include "kube/decoded.h"
#include "model/meta.h"

namespace hekla {
namespace {

struct Labelled {
  model::ObjectMeta metadata;
};
BOOST_DESCRIBE_STRUCT(Labelled, (), (metadata))

bool shown(const NodeLabels& labels, const kube::Object& node) {
  Result<Labelled> read = json::decode_text<Labelled>(*node.json);
  if (!read) return false;
  for (const auto& label : read->metadata.labels)
    if (labels.contains(label)) return true;
  return false;
}

}  // namespace

Result<NodeLabels> parse_node_selector(const std::vector<std::string>& selector) {
  NodeLabels labels;
  for (const std::string& item : selector) {
    std::size_t colon = item.rfind(':');
    if (colon == std::string::npos || colon == 0)
      return fail(Code::bad_request, "--node-selector: \"" + item + "\" is not LABEL:VALUE");
    labels.emplace(item.substr(0, colon), item.substr(colon + 1));
  }
  return labels;
}

void NodeFilter::get(const kube::Resource& resource, const kube::Key& key,
                     std::move_only_function<void(Result<kube::ObjectPtr>)> done) {
  inner_.get(resource, key, std::move(done));
}

void NodeFilter::list(const kube::Resource& resource, const kube::ListOptions& options,
                      std::move_only_function<void(Result<kube::List>)> done) {
  if (resource != kube::resources::nodes) return inner_.list(resource, options, std::move(done));
  inner_.list(resource, options,
              [labels = labels_, done = std::move(done)](Result<kube::List> list) mutable {
                if (list)
                  std::erase_if(list->items, [&](const kube::ObjectPtr& node) {
                    return !shown(*labels, *node);
                  });
                done(std::move(list));
              });
}

std::unique_ptr<kube::Watch> NodeFilter::watch(const kube::Resource& resource,
                                               const kube::WatchOptions& options,
                                               kube::WatchCallbacks callbacks) {
  if (resource == kube::resources::nodes)
    callbacks.on_events = [labels = labels_, tell = std::move(callbacks.on_events)](
                              std::vector<kube::WatchEvent> events) {
      // A node that is not shown is one that is gone.
      for (kube::WatchEvent& event : events)
        if (event.object && !shown(*labels, *event.object))
          event.type = kube::WatchEvent::Type::deleted;
      tell(std::move(events));
    };
  return inner_.watch(resource, options, std::move(callbacks));
}

void NodeFilter::batch(std::vector<kube::Write> writes, kube::BatchDone done) {
  inner_.batch(std::move(writes), std::move(done));
}

}  // namespace hekla
