// Memory for values that live and die together.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/storage_ptr.hpp>

namespace hekla::json {

// Where a value's memory comes from. What is made in an arena is given back all at once, with it:
// such a value, its members and its copies must not outlive the arena; what they are assigned to
// keeps its own memory.
using Storage = boost::json::storage_ptr;
using Arena = boost::json::monotonic_resource;

}  // namespace hekla::json
