#include "tokenizer/byte_level.h"

#include <array>

#include "base/utf8.h"

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
  for (const char b : bytes) AppendUtf8(out, CharOfByte(static_cast<uint8_t>(b)));
}

bool AppendByteLevelBytes(std::string_view spelling, std::string& out) {
  const size_t old_size = out.size();
  // The alphabet's characters have one or two bytes of UTF-8, so the result is not longer.
  out.resize(old_size + spelling.size());
  char* end = out.data() + old_size;
  for (size_t at = 0; at < spelling.size();) {
    const auto lead = static_cast<uint8_t>(spelling[at]);
    const auto next =
        at + 1 < spelling.size() ? static_cast<uint8_t>(spelling[at + 1]) : uint8_t{0};
    int32_t byte = -1;
    if (lead < 0x80) {
      byte = kAlphabet.byte_of_char[lead];
      at += 1;
    } else if (lead >= 0xC2 && lead < 0xE0 && (next & 0xC0) == 0x80) {
      byte = ByteOfChar((lead & 0x1Fu) << 6 | (next & 0x3Fu));
      at += 2;
    }
    if (byte < 0) {
      out.resize(old_size);
      return false;
    }
    *end++ = static_cast<char>(byte);
  }
  out.resize(static_cast<size_t>(end - out.data()));
  return true;
}

}  // namespace deepinfer::tokenizer
