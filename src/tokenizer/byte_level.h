// The byte-level alphabet: how a tokenizer.json spells token bytes as printable characters.
//
// Each byte has one character: the printable bytes of Latin-1 stand for themselves, the other 68 for
// U+0100 + their number in ascending order (so 0x20 is U+0120 and 0x0A is U+010A).  A token spelled with
// these characters alone means those bytes; any other spelling is literal text, which is how added tokens
// with blanks or full-width bars are written.
//
// Threading: functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer::tokenizer {

// The character that spells `byte`.
char32_t CharOfByte(uint8_t byte);

// The byte that `c` spells, or -1 when it is not in the alphabet.
int32_t ByteOfChar(char32_t c);

// Appends the spelling of `bytes`.
void AppendByteLevelSpelling(std::string_view bytes, std::string& out);

// Appends the bytes that `spelling` (UTF-8) means and returns true; or appends nothing and returns false
// when a character is outside the alphabet.
bool AppendByteLevelBytes(std::string_view spelling, std::string& out);

}  // namespace deepinfer::tokenizer
