#include "tokenizer/byte_level.h"

#include <array>

#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr int32_t kNumStandIns = 68;

constexpr bool SpellsItself(int32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> char_of_byte{};
  std::array<int16_t, kFirstStandIn + kNumStandIns> byte_of_char{};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet a;
  for (int16_t& byte : a.byte_of_char) byte = -1;
  char32_t stand_in = kFirstStandIn;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const char32_t c = SpellsItself(byte) ? static_cast<char32_t>(byte) : stand_in++;
    a.char_of_byte[static_cast<size_t>(byte)] = c;
    a.byte_of_char[c] = static_cast<int16_t>(byte);
  }
  return a;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

char32_t CharOfByte(uint8_t byte) { return kAlphabet.char_of_byte[byte]; }

int32_t ByteOfChar(char32_t c) {
  return c < kAlphabet.byte_of_char.size() ? kAlphabet.byte_of_char[c] : -1;
}

void AppendByteLevelSpelling(std::string_view bytes, std::string& out) {
  for (const char b : bytes) AppendUtf8(CharOfByte(static_cast<uint8_t>(b)), out);
}

bool AppendByteLevelBytes(std::string_view spelling, std::string& out) {
  const size_t old_size = out.size();
  while (!spelling.empty()) {
    const Utf8Char c = DecodeUtf8(spelling);
    const int32_t byte = c.is_valid ? ByteOfChar(c.code_point) : -1;
    if (byte < 0) {
      out.resize(old_size);
      return false;
    }
    out += static_cast<char>(byte);
    spelling.remove_prefix(static_cast<size_t>(c.num_bytes));
  }
  return true;
}

}  // namespace deepinfer::tokenizer
