/* Text from outside ends up in terminals, JSON and SVG, which each go wrong in their own way on invalid bytes. */
#include "share/base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t utf8_length(const unsigned char *bytes, size_t left)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (bytes[0] < forms[i].first_low || bytes[0] > forms[i].first_high)
            continue;
        if (forms[i].length > left)
            return 0;
        if (forms[i].length > 1 && (bytes[1] < forms[i].second_low || bytes[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

size_t utf8_clean(char *text, const char *bytes, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const unsigned char *at = (const unsigned char *)bytes + i;
        size_t character = utf8_length(at, length - i);
        bool control = character == 1 ? at[0] < 0x20 || at[0] == 0x7f : character == 2 && at[0] == 0xc2 && at[1] < 0xa0;
        i += character == 0 ? 1 : character;
        if (character == 0 || control) {
            text[used++] = at[0] == '\t' || at[0] == '\n' || at[0] == '\r' ? ' ' : '?';
        } else {
            memmove(text + used, at, character);
            used += character;
        }
    }
    text[used] = '\0';
    return used;
}
