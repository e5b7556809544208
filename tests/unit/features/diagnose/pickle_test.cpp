// The tests contain pickles byte by byte, most of them as `pickle.dumps(..., protocol=N)` of Python
// 3.11 writes them. The reader refuses the opcodes that make `pickle.loads` run code.
#include "features/diagnose/pickle.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using formats::YamlValue;

namespace {

// Returns the literal as a string that can contain zero bytes.
template <std::size_t N>
std::string bytes(const char (&text)[N]) {
  return std::string(text, N - 1);
}

// Returns the value with its strings in quotes.
std::string shown(const YamlValue& value) {
  std::string text;
  if (value.is_null()) return "None";
  if (value.is_scalar()) {
    return (value.quoted() ? "'" : "") + std::string(value.text()) + (value.quoted() ? "'" : "");
  }
  if (value.is_list()) {
    for (const YamlValue& item : value.items()) text += (text.empty() ? "" : ", ") + shown(item);
    return "[" + text + "]";
  }
  for (const YamlValue::Entry& entry : value.entries()) {
    text += (text.empty() ? "" : ", ") + shown(entry.key) + ": " + shown(entry.value);
  }
  return "{" + text + "}";
}

std::string text_of_pickle(const std::string& pickle) {
  formats::PickleProblem problem;
  const auto document = formats::read_pickle(pickle, problem);
  if (!document) return "byte " + std::to_string(problem.byte) + ": " + problem.message;
  return shown(document->root());
}

}  // namespace

TEST_CASE("plain data of every protocol is read", "[formats][pickle]") {
  // {"a": [1, -2, None, True, 2.5], "b": (3, "x")}
  const std::string expected = "{'a': [1, -2, None, true, 2.5], 'b': [3, 'x']}";
  CHECK(text_of_pickle(
            "(dp0\nVa\np1\n(lp2\nI1\naI-2\naNaI01\naF2.5\nasVb\np3\n(I3\nVx\np4\ntp5\ns.") ==
        expected);
  CHECK(
      text_of_pickle(bytes("\x80\x02}q\x00(X\x01\x00\x00\x00"
                           "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffN\x88G@\x04\x00\x00\x00\x00\x00\x00"
                           "eX\x01\x00\x00\x00"
                           "bq\x03K\x03X\x01\x00\x00\x00xq\x04\x86q\x05u.")) == expected);
  CHECK(text_of_pickle(bytes("\x80\x04\x95\x2e\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
                             "a\x94]\x94(K\x01J\xfe\xff\xff\xffN\x88G@\x04\x00\x00\x00\x00\x00\x00"
                             "e\x8c\x01"
                             "b\x94K\x03\x8c\x01x\x94\x86\x94u.")) == expected);
}

TEST_CASE("numbers of all lengths", "[formats][pickle]") {
  CHECK(text_of_pickle(bytes("\x80\x02M\xd0\x07.")) == "2000");
  CHECK(text_of_pickle(bytes("\x80\x02\x8a\x08\x79\x9e\xf5\x07\xf0\xd6\x67\x18.")) ==
        "1758610505925500537");
  CHECK(text_of_pickle(bytes("\x80\x02\x8a\x00.")) == "0");
  CHECK(text_of_pickle(bytes("\x80\x02\x8a\x01\xff.")) == "-1");
  CHECK(text_of_pickle(bytes("\x80\x02\x8a\x02\x00\x80.")) == "-32768");
  CHECK(text_of_pickle("L-5L\n.") == "-5");
  CHECK(text_of_pickle(bytes("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.")) ==
        "byte 2: this pickle has an integer of more than 64 bits");
}

TEST_CASE("what was kept is recalled, but not in itself", "[formats][pickle]") {
  CHECK(text_of_pickle(bytes("\x80\x02]q\x00(X\x01\x00\x00\x00zq\x01h\x01"
                             "e.")) == "['z', 'z']");
  // l = []; m = [l]; l.append(1); (m, l)
  CHECK(text_of_pickle(bytes("]q\x00(h\x00lh\x00(K\x01"
                             "e0h\x00\x86.")) == "[[[1]], [1]]");
  // l = []; l.append(l)
  CHECK(text_of_pickle(bytes("\x80\x02]q\x00h\x00"
                             "a.")) ==
        "byte 8: this pickle has a list or dict that contains itself");
}

TEST_CASE("a pickle nests like other documents", "[formats][pickle]") {
  const auto nested = [](std::size_t depth) {
    return text_of_pickle(std::string(depth, ']') + std::string(depth - 1, 'a') + ".");
  };
  CHECK(nested(100) == std::string(100, '[') + std::string(100, ']'));
  CHECK(nested(101) == "byte 201: nested more than 100 deep");
}

TEST_CASE("texts of protocol 0 have escapes", "[formats][pickle]") {
  CHECK(text_of_pickle("S'it\\'s\\x41\\n'\n.") == "'it'sA\n'");
  CHECK(text_of_pickle("V\\u00e9\\U0001f600\n.") == "'\xc3\xa9\xf0\x9f\x98\x80'");
}

TEST_CASE("nothing is imported, called or built", "[formats][pickle]") {
  const std::string refused =
      "refused: this pickle imports or calls code, which a Flight Recorder dump never does; "
      "nothing "
      "was executed";
  // Pickles that call os.system("true"), in protocols 0 and 4; then each other opcode that is
  // refused.
  CHECK(text_of_pickle("cos\nsystem\n(S'true'\ntR.") == "byte 0: " + refused);
  CHECK(text_of_pickle(
            bytes("\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system"
                  "\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.")) == "byte 28: " + refused);
  for (const char opcode : std::string("Rbio\x81\x92\x82\x83\x84PQ\x97\x98")) {
    CHECK(text_of_pickle(std::string("N") + opcode) == "byte 1: " + refused);
  }
}

TEST_CASE("what is cut off or no pickle says where", "[formats][pickle]") {
  const std::string whole = bytes(
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01]q\x02(K\x01K\x02"
      "eu.");
  REQUIRE(text_of_pickle(whole) == "{'a': [1, 2]}");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(text_of_pickle(whole.substr(0, size)).find("truncated pickle") != std::string::npos);
  }
  CHECK(text_of_pickle(".") == "byte 0: invalid pickle: it pops an empty stack");
  CHECK(text_of_pickle("e") == "byte 0: invalid pickle: no mark on the stack");
  CHECK(text_of_pickle("NNa.") ==
        "byte 2: invalid pickle: it appends to something that is not a list or dict");
  CHECK(text_of_pickle("}(Nu.") ==
        "byte 3: invalid pickle: it appends to something that is not a list or dict");
  CHECK(text_of_pickle(bytes("h\x05.")) ==
        "byte 0: invalid pickle: it reads a memo entry that was never written");
  CHECK(text_of_pickle(bytes("Nr\xff\xff\xff\xff.")) ==
        "byte 1: invalid pickle: memo index out of range");
  CHECK(text_of_pickle(bytes("\x80\x09N.")) == "byte 0: unsupported pickle protocol 9");
  CHECK(text_of_pickle("~") == "byte 0: invalid pickle: unknown opcode 0x7e");
  // The length of this string exceeds the file.
  CHECK(text_of_pickle(bytes("\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.")) ==
        "byte 0: truncated pickle");
}
