#include <gtest/gtest.h>

#include "muffle/core/html_text.hpp"
#include "muffle/core/text.hpp"

namespace muffle {
namespace {

TEST(Printable, LeavesTextOfAnyLanguageAlone) {
  for (const char* text : {"", "plain", "Zürich", "東京", "😀 and more", "\xc2\xa0 is a space"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsControlCharactersAsQuestionMarks) {
  EXPECT_EQ(printable("a\x1b[2J\nb\r\t\x07\x7f"), "a?[2J?b????");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  // C1: U+009B is CSI, U+0080 and U+009F the first and the last of them.
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \xc2\x80 \xc2\x9f \xc2\xa1"),
            "?2J ? ? \xc2\xa1");
  // Line separator, right-to-left override, isolate.
  EXPECT_EQ(printable("\xe2\x80\xa8|\xe2\x80\xae|\xe2\x81\xa6|"), "?|?|?|");
}

TEST(Printable, BytesThatAreNoUtf8AreQuestionMarks) {
  // Alone, cut off, longer than need be, half of a pair, beyond the last code.
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "?2J");
  EXPECT_EQ(printable("\xe2\x80"), std::string(2, '?'));
  EXPECT_EQ(printable("\xc0\x9b|\xe0\x82\x9b"), std::string(2, '?') + "|" + std::string(3, '?'));
  EXPECT_EQ(printable("\xed\xa0\x80|\xf4\x90\x80\x80"), std::string(3, '?') + "|" + std::string(4, '?'));
}

TEST(Printable, HasNoMarksInHtml) {
  EXPECT_EQ(html_escaped("a<b>&\"'c\x1b"), "a&lt;b&gt;&amp;&quot;&#39;c?");
}

}  // namespace
}  // namespace muffle
