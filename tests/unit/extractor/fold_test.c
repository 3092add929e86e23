/* SPDX-License-Identifier: Apache-2.0 */
/* fold_test.c: names that a file system may take for one, and names that none does. */
#include <string.h>

#include "extractor/fold.h"
#include "tests/unit/unit.h"

static bool same(const char *a, const char *b)
{
    static uint32_t left[FOLD_MAX], right[FOLD_MAX];
    size_t left_count = fold_name(left, (const uint8_t *)a, strlen(a));
    size_t right_count = fold_name(right, (const uint8_t *)b, strlen(b));

    assert_true(left_count <= FOLD_MAX && right_count <= FOLD_MAX);
    return left_count == right_count && memcmp(left, right, left_count * sizeof(left[0])) == 0;
}

static void names_that_meet(void **state)
{
    static const char *const pairs[][2] = {
        {"ReadMe", "README"}, {"caf\xc3\xa9", "cafe\xcc\x81"}, /* U+00E9, e U+0301 */
        {"CAF\xc3\x89", "cafe\xcc\x81"},                       /* in case too */
        {"\xc3\xa5", "\xe2\x84\xab"},                 /* a with ring, the sign of Angstrom */
        {"\xce\xa9", "\xe2\x84\xa6"},                 /* Omega, Ohm */
        {"k", "\xe2\x84\xaa"},                        /* Kelvin */
        {"\xea\xb0\x80", "\xe1\x84\x80\xe1\x85\xa1"}, /* Hangul GA */
        {"\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"},
        {"\xd0\x96", "\xd0\xb6"},                   /* Cyrillic */
        {"\xcf\x83", "\xcf\x82"},                   /* sigma and final sigma */
        {"q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87"}, /* marks in either order */
        {"\xe1\xbb\x87", "e\xcc\xa3\xcc\x82"},      /* two steps */
        {"\xef\xa4\x80", "\xe8\xb1\x88"},           /* a compatibility ideograph */
        {"\xf0\x90\x90\x80", "\xf0\x90\x90\xa8"},   /* Deseret, beyond 16 bits */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (!same(pairs[i][0], pairs[i][1]))
            fail_msg("pair %zu does not fold to the same", i);
    }
}

static void names_that_differ(void **state)
{
    static const char *const pairs[][2] = {{"a", "b"}, {"resume", "r\xc3\xa9sum\xc3\xa9"},
        {"\xc3\xa9", "\xc3\xa8"}, {"e\xcc\x81", "e"}, {"a\xcc\x81z", "az\xcc\x81"}, {"", "a"},
        {"\xef\xbc\xa1", "A"}, {"1", "\xc2\xb9"}, {"@", "`"}, {"[", "{"}};

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (same(pairs[i][0], pairs[i][1]))
            fail_msg("pair %zu folds to the same", i);
    }
}

/* The longest of each length of a character: none outgrows its room. */
static void the_room_is_enough(void **state)
{
    static const char *const characters[] = {
        "A", "\xce\x90", "\xe1\xbe\x82", "\xf0\x9d\x85\xa0", "\xea\xb0\x81"};

    (void)state;
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        char name[NAME_COMPONENT_MAX_BYTES + 1] = "";

        while (strlen(name) + strlen(characters[i]) <= NAME_COMPONENT_MAX_BYTES)
            strcat(name, characters[i]);
        assert_true(same(name, name));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_that_meet),
    cmocka_unit_test(names_that_differ),
    cmocka_unit_test(the_room_is_enough),
};

UNIT_MAIN(tests)
