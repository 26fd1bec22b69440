// The PodGroup a pod gets that names our scheduler but belongs to no job. Pure.
#pragma once

#include <map>
#include <string>

#include "json/value.h"
#include "model/volcano.h"

namespace hekla::controllers {

// `podgroup-<uid of the pod's controller>`, or of the pod itself.
std::string plain_group_name(const model::Pod& pod);

// `owner_annotations` are those of the pod's controller.
json::Value make_plain_group(const model::Pod& pod,
                             const std::map<std::string, std::string>& owner_annotations);

// What brings a group that is there to what `pod`, the newest of its owner's, and the owner's
// annotations ask for; empty when nothing differs. The queue stays unless the pod names one, and
// annotations that others have added stay too.
json::Object plain_group_patch(const model::PodGroup& group, const model::Pod& pod,
                               const std::map<std::string, std::string>& owner_annotations);

}  // namespace hekla::controllers
