// How the process's memory allocator is set.
#pragma once

namespace hekla {

// Once, before the threads of a server begin. Nothing where the allocator is not mimalloc.
void set_up_allocator();

}  // namespace hekla
