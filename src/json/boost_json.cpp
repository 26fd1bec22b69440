// The one translation unit that compiles Boost.JSON, which we use without its shared library.
#include <boost/json/src.hpp>
