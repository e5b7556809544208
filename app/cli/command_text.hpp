// What a command says of itself, in parts: its --help, the completion of shells and its man page
// are made of the same.
#pragma once

#include <string>
#include <vector>

namespace pipesim::app {

struct OptionText {
  std::string name;    // without dashes
  char letter = '\0';  // a short form, if there is one
  std::string value;   // how --help writes its value: FILE; empty: it has none
  std::string about;
  std::vector<std::string> words;  // all that the value can be, if that is a list
};

struct CommandText {
  std::string name;
  std::string about;  // in one line
  std::string help;   // what --help says above the options
  std::vector<OptionText> options;
  std::vector<std::string> words;  // all that its first argument can be, if that is a list
};

}  // namespace pipesim::app
