// Patches: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7396), and the merge patch between two
// values.
#pragma once

#include "json/value.h"

namespace hekla::json {

inline constexpr std::size_t kPatchOperationsMax = 10'000;
// What all "copy" operations of one patch may add, so that copies of copies do not grow without
// bound.
inline constexpr std::size_t kPatchCopiedBytesMax = std::size_t{3} << 20;
// Elements that all operations of one patch may shift in lists or take to a deeper place: a tenth
// of a second.
inline constexpr std::size_t kPatchShiftedMax = 50'000'000;

// All or nothing: on failure `document` is as it was. The code says why: bad_request for a patch
// that is none, too_large beyond the limits above, not_found for a path that does not exist,
// invalid for a "test" that does not hold. As in Kubernetes, a test for null holds where there is
// nothing.
Result<void> apply_json_patch(Value& document, const Value& patch);

void apply_merge_patch(Value& target, const Value& patch);

// The smallest merge patch that turns `from` into `to`; {} when they are equal and objects. A merge
// patch cannot set a member to null: members of `to` that are null are treated as absent.
Value diff_merge(const Value& from, const Value& to);

}  // namespace hekla::json
