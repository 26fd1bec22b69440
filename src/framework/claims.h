// Whose children are whose: adoption, release, and which owners a change of a child concerns. For
// the runtime.
#pragma once

#include <memory>
#include <vector>

#include "framework/held.h"
#include "framework/kind_description.h"

namespace hekla::framework {

struct OwnedCache {
  const OwnedKind* kind = nullptr;
  std::unique_ptr<Held> cache;
};

// spec.selector, a label selector or (ReplicationController) a map of labels. Matches nothing when
// it is missing, empty or wrong.
std::optional<model::Selector> spec_selector(const AnyObject& object);

// The children of `owner` under Claim::selector. Writes that adopt and release are appended.
View::Claims claim_by_selector(const KindDescription& kind, const OwnedCache& owned,
                               const AnyObject& owner, std::vector<kube::Write>& writes);

// Keys of the objects that a change of a child concerns: its controllers before and after, and
// those that might adopt it.
std::vector<kube::Key> owners_concerned(const KindDescription& kind, const Held& objects,
                                        const OwnedKind& owned, const model::ObjectMeta* before,
                                        const model::ObjectMeta* after);

// Puts the kind's finalizer on the object, or takes it away.
kube::Write finalizer_write(const KindDescription& kind, const model::ObjectMeta& object, bool put);

}  // namespace hekla::framework
