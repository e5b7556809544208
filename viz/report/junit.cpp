#include "viz/report/junit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "viz/report/xml.hpp"

namespace pipesim::viz {
namespace {

std::string xml_attribute(std::string_view text) {
  std::string result;
  for (const char c : xml_text(text)) {
    if (c == '\n' || c == '\t') {
      result += c == '\n' ? "&#10;" : "&#9;";
    } else {
      result += c;
    }
  }
  return result;
}

// Converts a file name to a JUnit class. Build servers group classes by the text before the last
// dot.
std::string class_name(std::string name) {
  const std::size_t point = name.rfind('.');
  if (point != std::string::npos && name.find('/', point) == std::string::npos) name.erase(point);
  while (name.substr(0, 2) == "./") name.erase(0, 2);
  while (name.substr(0, 1) == "/") name.erase(0, 1);
  std::replace(name.begin(), name.end(), '.', '_');
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string counts_of(const std::vector<TestResult>& results) {
  return fmt::format(
      R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="0")", results.size(),
      count_results(results, TestStatus::kFailed), count_results(results, TestStatus::kBad),
      count_results(results, TestStatus::kSkipped) + count_results(results, TestStatus::kNotRun));
}

std::string test_case(const TestResult& result) {
  const std::string head =
      fmt::format(R"(    <testcase name="{}" classname="{}" time="0")", xml_attribute(result.name),
                  xml_attribute(class_name(result.file)));
  const std::string message = xml_attribute(result.message);
  switch (result.status) {
    case TestStatus::kPassed:
    case TestStatus::kUpdated:
      return head + "/>\n";
    case TestStatus::kSkipped:
    case TestStatus::kNotRun:
      return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, message);
    case TestStatus::kFailed:
    case TestStatus::kBad:
      break;
  }
  const char* tag = result.status == TestStatus::kFailed ? "failure" : "error";
  return fmt::format("{}>\n      <{} message=\"{}\">{}</{}>\n    </testcase>\n", head, tag, message,
                     xml_text(result.details), tag);
}

}  // namespace

std::size_t count_results(const std::vector<TestResult>& results, TestStatus status) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const TestResult& result) { return result.status == status; }));
}

std::string junit_xml(const std::vector<TestResult>& results) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"pipesim\" {}>\n", counts_of(results));
  for (auto begin = results.begin(); begin != results.end();) {
    const auto end = std::find_if(
        begin, results.end(), [&](const TestResult& result) { return result.file != begin->file; });
    const std::vector<TestResult> suite(begin, end);
    text +=
        fmt::format("  <testsuite name=\"{}\" {}>\n", xml_attribute(begin->file), counts_of(suite));
    for (const TestResult& result : suite) text += test_case(result);
    text += "  </testsuite>\n";
    begin = end;
  }
  return text + "</testsuites>\n";
}

}  // namespace pipesim::viz
