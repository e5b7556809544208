// Text files that the build embeds, so that the program needs no files at run time.
#pragma once

#include <string_view>

namespace pipesim::models {

/// Returns the text of an embedded file. `path` is relative to the root of the sources, such as
/// "data/new/program.yaml"; models/CMakeLists.txt lists the files.
std::string_view data_file(std::string_view path);

}  // namespace pipesim::models
