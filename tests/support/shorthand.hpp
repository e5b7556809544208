// Scenarios in a shorthand, for tables of small programs: "r0: AR, S1; r1: R0, AR(g)".
//
// Programs are separated by ';', steps by ','. A program begins with its ranks, `r0:`, `r0-2:` or
// `r0,r2:`, perhaps with a thread, `r0 T1:`. A call without a group is on group w, which has all
// ranks.
//
//   AR AG RS A2A BAR      collectives: all_reduce, all_gather, reduce_scatter, all_to_all, barrier
//   B0 G0 SC0 RD0         broadcast, gather, scatter, reduce with root 0
//   S1 R0 Rany            send to 1, recv from 0, recv from any rank
//   AR(g) S1(g) B0(g)     the same on group g
//   S1:1GiB               with a size
//   iAR iS1               asynchronous; the k-th `w` of a program waits for its k-th such call,
//                         and `w2` for the second such call
//   [S1 R1]               one NCCL group
//   sync                  the host waits for the device
//   abort x, shrink x y   other words: the key of a step and its value; `into` of a shrink
//   abort x+y             a list of values
//   get k:3               `times` of a get
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipesim::testing {

class Shorthand {
 public:
  /// Returns a scenario. `top` has further lines, such as "backend: gloo\n"; `groups` further
  /// groups, as in "g: [0, 1]".
  static std::string scenario(std::string_view programs, const std::string& groups = {},
                              const std::string& top = {}) {
    Shorthand reader;
    // A call of gloo is on the stream that has the name of its communicator.
    if (top.find("backend: gloo") != std::string::npos) reader.stream_ = "";
    std::string text;
    for (const std::string& program : split(programs, ';')) text += reader.program(program);
    return "schema: 1\nranks: " + std::to_string(reader.ranks_) + "\ngroups: {w: all" +
           (groups.empty() ? "" : ", " + groups) + "}\n" + top + "programs:\n" + text;
  }

 private:
  // Splits at a character outside of brackets, and trims spaces.
  static std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text) {
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
      if (c == at && depth == 0) {
        parts.emplace_back();
      } else if (c != ' ' || !parts.back().empty()) {
        parts.back() += c;
      }
    }
    for (std::string& part : parts) part.erase(part.find_last_not_of(' ') + 1);
    while (!parts.empty() && parts.back().empty()) parts.pop_back();
    return parts;
  }

  std::string program(const std::string& text) {
    const std::size_t colon = text.find(':');
    std::vector<std::string> head = split(text.substr(0, colon), ' ');
    std::string ranks;
    for (std::string part : split(head[0], ',')) {
      const std::size_t dash = part.find('-');
      const std::string last = part.substr(dash == std::string::npos ? 1 : dash + 1);
      ranks_ = std::max(ranks_, 1 + std::atoi(last.c_str()));
      if (dash != std::string::npos) part = part.substr(0, dash) + ".." + last;
      ranks += (ranks.empty() ? "" : ", ") + part.substr(1);
    }
    asynchronous_.clear();
    awaited_ = 0;
    std::string steps;
    for (const std::string& each : split(std::string_view(text).substr(colon + 1), ',')) {
      steps += (steps.empty() ? "" : ", ") + step(each);
    }
    return "  - {on: [" + ranks + "]" + (head.size() > 1 ? ", thread: " + head[1] : "") +
           ", do: [" + steps + "]}\n";
  }

  std::string step(const std::string& text) {
    if (text == "sync") return "{synchronize: device}";
    if (text[0] == 'w' &&
        (text.size() == 1 || text.find_first_not_of("0123456789", 1) == std::string::npos)) {
      const std::size_t number =
          text.size() == 1 ? awaited_++ : static_cast<std::size_t>(std::atoi(text.c_str() + 1)) - 1;
      return "{await: " + asynchronous_.at(number) + "}";
    }
    if (text[0] == '[') {
      std::string calls;
      for (const std::string& each : split(text.substr(1, text.size() - 2), ' ')) {
        calls += (calls.empty() ? "{" : ", {") + call(each) + "}";
      }
      return "{group: [" + calls + "]}";
    }
    if (text[0] == 'i' && is_call(text.substr(1))) {
      const std::string made = call(text.substr(1));
      asynchronous_.push_back("work" + std::to_string(works_++));
      return "{" + made + ", blocking: off}, {record: " + asynchronous_.back() +
             ", stream: " + stream_ + group_ + "}";
    }
    if (is_call(text)) return "{" + call(text) + "}";
    const std::size_t space = text.find(' ');
    const std::string word = text.substr(0, space);
    std::string value = space == std::string::npos ? "a" : text.substr(space + 1);
    if (const std::size_t second = value.find(' '); second != std::string::npos) {
      return "{" + word + ": " + value.substr(0, second) + ", into: " + value.substr(second + 1) +
             "}";
    }
    if (const std::size_t times = value.find(':'); times != std::string::npos) {
      value.replace(times, 1, ", times: ");
    }
    if (value.find('+') == std::string::npos) return "{" + word + ": " + value + "}";
    while (value.find('+') != std::string::npos) value.replace(value.find('+'), 1, ", ");
    return "{" + word + ": [" + value + "]}";
  }

  static bool is_call(const std::string& text) {
    return !text.empty() && text[0] >= 'A' && text[0] <= 'Z';
  }

  // Reads a call: word, number, (group), :size.
  std::string call(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string bytes = colon == std::string::npos ? "4KiB" : text.substr(colon + 1);
    const std::size_t open = text.find('(');
    group_ = open == std::string::npos ? "w" : text.substr(open + 1, text.find(')') - open - 1);
    const std::string head = text.substr(0, std::min(open, colon));
    const std::size_t digits = head.find_first_of("0123456789");
    const std::string word = head.substr(0, head == "A2A" ? 3 : digits);
    const std::string number =
        word == "A2A" || digits == std::string::npos ? "" : head.substr(digits);
    static const std::vector<std::pair<std::string, std::string>> kWords = {
        {"AR", "all_reduce"},  {"AG", "all_gather"}, {"RS", "reduce_scatter"},
        {"A2A", "all_to_all"}, {"BAR", "barrier"},   {"B", "broadcast"},
        {"G", "gather"},       {"SC", "scatter"},    {"RD", "reduce"},
        {"S", "send"},         {"R", "recv"},        {"Rany", "recv"}};
    for (const auto& [own, operation] : kWords) {
      if (own != word) continue;
      std::string made = operation + ": " + group_;
      if (operation == "send") made += ", to: " + number;
      if (operation == "recv") made += ", from: " + (number.empty() ? "any" : number);
      if (!number.empty() && operation != "send" && operation != "recv")
        made += ", root: " + number;
      return operation == "barrier" ? made : made + ", bytes: " + bytes;
    }
    throw std::runtime_error("not a call: " + text);
  }

  int ranks_ = 1;
  int works_ = 0;
  std::string group_;
  std::string stream_ = "nccl ";           // prefix of a communicator's stream
  std::vector<std::string> asynchronous_;  // events of the program's asynchronous calls
  std::size_t awaited_ = 0;
};

}  // namespace pipesim::testing
