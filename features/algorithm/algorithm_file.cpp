#include "features/algorithm/algorithm_file.hpp"

namespace pipesim::formats {

std::optional<models::CollectiveAlgorithm> read_algorithm(const std::string& text,
                                                          models::Diagnostics& diagnostics) {
  if (text.size() > kMaxAlgorithmBytes) {
    diagnostics.error({}, models::Code::kLimit, "the file is larger than 256 MiB");
    return std::nullopt;
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    diagnostics.error({1, 1}, models::Code::kAlgorithmSyntax, "the file is empty")
        .notes.emplace_back(
            "expected an algorithm as MSCCL's XML or as an execution plan of MSCCL++");
    return std::nullopt;
  }
  return text[first] == '{' ? read_mscclpp_plan(text, diagnostics)
                            : read_msccl_xml(text, diagnostics);
}

}  // namespace pipesim::formats
