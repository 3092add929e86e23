/* SPDX-License-Identifier: Apache-2.0 */
/* content_test.c: what files are, whole and in pieces of one byte; files that are two things. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "extractor/content.h"
#include "tests/unit/unit.h"

enum { ANY = 0, BYTES_MAX = 640 << 10 };
#define BIT(type) (1U << ARTIFACT_##type)

static uint8_t bytes[BYTES_MAX];
static size_t used;
static enum artifact_type type;

static void put(const void *from, size_t size)
{
    assert_true(size <= sizeof(bytes) - used);
    memcpy(bytes + used, from, size);
    used += size;
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

static void begin(const char *text)
{
    used = 0;
    put_text(text);
}

static void put_u32(uint32_t value)
{
    const uint8_t big[] = {
        (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};

    put(big, 4);
}

static void put_chunk(const char *name, const void *data, size_t size)
{
    size_t from;

    put_u32((uint32_t)size);
    from = used;
    put_text(name);
    put(data, size);
    put_u32((uint32_t)crc32(0, bytes + from, (uInt)(used - from)));
}

static void png_begin(void)
{
    used = 0;
    put("\x89PNG\r\n\x1a\n", 8);
    put_chunk("IHDR", "\0\0\0\1\0\0\0\1\10\0\0\0", 13);
}

/* A picture with one more chunk. */
static void png_with(const char *name, const void *data, size_t size)
{
    png_begin();
    put_chunk("IDAT", "pixels", 6);
    put_chunk(name, data, size);
    put_chunk("IEND", "", 0);
}

static void png(void)
{
    png_begin();
    put_chunk("IDAT", "pixels", 6);
    put_chunk("IEND", "", 0);
}

static void jpeg(void)
{
    used = 0;
    put("\xff\xd8\xff\xe0\0\7JFIF\0", 11);
    put("\xff\xff\xc0\0\10\10\0\1\0\1\0", 11); /* with a fill byte */
    put("\xff\xda\0\4ab", 6);
    put("scan\xff\0\xff\xd3more", 12);
    put("\xff\xc4\0\3x\xff\xda\0\2scan\xff\xff\xd9", 16);
}

static void pdf(void)
{
    begin("%PDF-1.7\n1 0 obj % \x80\nxref\n%%%EOF\n1 0 R\n%%EOF\r\n \n");
}

/* An end of central directory with COMMENT_BYTES behind it. */
static void put_zip_end(size_t comment_bytes)
{
    uint8_t end[22] = "PK\5\6";

    end[20] = (uint8_t)comment_bytes;
    put(end, sizeof(end));
}

/* What content says of `bytes`, whichever way they come. */
static bool judge(const char *name, uint32_t types)
{
    bool whole, single;
    enum artifact_type first;
    struct content *content = content_begin((const uint8_t *)name, strlen(name), used, types);

    content_feed(content, bytes, used);
    whole = content_end(content, &first);
    content = content_begin((const uint8_t *)name, strlen(name), used, types);
    for (size_t i = 0; i < used; i++)
        content_feed(content, bytes + i, 1);
    single = content_end(content, &type);
    assert_int_equal(first, type);
    assert_int_equal(whole, single);
    return whole;
}

static void is(const char *name, enum artifact_type right)
{
    assert_true(judge(name, ANY));
    if (type != right)
        fail_msg("%s is of type %d, not %d", name, type, right);
}

static void whole_pictures(void **state)
{
    (void)state;
    png();
    is("a.png", ARTIFACT_PNG);
    is("a", ARTIFACT_PNG);
    assert_true(judge("a.PNG", BIT(PNG)) && judge("a", BIT(PNG) | BIT(JSON)));
    assert_false(judge("a.png", BIT(JPEG)));
    assert_false(judge("a.jpg", BIT(PNG))); /* it lies about itself */
    assert_false(judge("a.txt", BIT(PNG) | BIT(TEXT)));
    jpeg();
    is("a.jpeg", ARTIFACT_JPEG);
    assert_true(judge("a.jpg", BIT(JPEG)));
}

static void broken_pngs(void **state)
{
    (void)state;
    png();
    put("x", 1);
    is("behind the end", ARTIFACT_DATA);
    png();
    used--;
    is("cut", ARTIFACT_DATA);
    png();
    bytes[used - 1] ^= 1;
    is("checksum", ARTIFACT_DATA);
    png();
    bytes[45] ^= 1;
    is("checksum of data", ARTIFACT_DATA);
    png();
    bytes[0] = 'x';
    is("signature", ARTIFACT_DATA);
    png_begin();
    put_chunk("IEND", "", 0);
    is("no data", ARTIFACT_DATA);
    png_begin();
    put_chunk("IDAT", "x", 1);
    put_chunk("IEND", "x", 1);
    is("an end with something in it", ARTIFACT_DATA);
    png_begin();
    put_chunk("IHDR", "\0\0\0\1\0\0\0\1\10\0\0\0", 13);
    put_chunk("IDAT", "x", 1);
    put_chunk("IEND", "", 0);
    is("two headers", ARTIFACT_DATA);
    used = 0;
    put("\x89PNG\r\n\x1a\n", 8);
    put_chunk("IDAT", "x", 1);
    put_chunk("IEND", "", 0);
    is("no header", ARTIFACT_DATA);
    png_begin();
    put_chunk("ID4T", "x", 1);
    is("a name that is none", ARTIFACT_DATA);
    png_begin();
    put_u32(0x80000000U);
    put_text("IDAT");
    is("longer than a chunk can be", ARTIFACT_DATA);
}

static void broken_jpegs(void **state)
{
    (void)state;
    jpeg();
    put("x", 1);
    is("behind the end", ARTIFACT_DATA);
    jpeg();
    used -= 2;
    is("cut", ARTIFACT_DATA);
    used = 0;
    put("\xff\xd8\xff\xd9", 4);
    is("nothing in it", ARTIFACT_DATA);
    used = 0;
    put("\xff\xd8\xff\xc0\0\1", 6);
    is("a segment shorter than its length", ARTIFACT_DATA);
    used = 0;
    put("\xff\xd8\xff\xd8", 4);
    is("two starts", ARTIFACT_DATA);
    used = 0;
    put("\xff\xd8"
        "GIF",
        5);
    is("no marker", ARTIFACT_DATA);
    used = 0;
    put("\xff\xd8\xff\x01", 4);
    is("a marker that is none", ARTIFACT_DATA);
}

static void pages(void **state)
{
    (void)state;
    pdf();
    is("a.pdf", ARTIFACT_PDF);
    assert_true(judge("a", BIT(PDF)));
    assert_false(judge("a.pdf", BIT(PNG)));
    put_text("x");
    is("behind the end", ARTIFACT_DATA);
    begin("%PDF-1.7\n");
    is("no end", ARTIFACT_DATA);
    begin("%PDF-x.7\n%%EOF");
    is("no version", ARTIFACT_DATA);
    begin(" %PDF-1.7\n%%EOF");
    is("not at the start", ARTIFACT_DATA);
    begin("%PDF-1.7\n%%EO");
    is("half an end", ARTIFACT_DATA);
    begin("%PDF-1.%%EOF");
    is("version and end in one", ARTIFACT_DATA);
}

static void texts(void **state)
{
    static const char *const good[] = {"", "hello\n", "a,b\r\n1,2\r\n", "caf\xc3\xa9\t\f",
        "\xef\xbb\xbf with a mark", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "#!/bin/sh", "<script>"};
    static const char *const bad[] = {"\x1b[2J", "\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xe0\x9f\xbf", "\xc2\x85", "a\x7f", "\b", "GIF89a=1;", "%!PS\n",
        "x %PDF-1.4", "\xf0\x8f\xbf\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        begin(good[i]);
        is("a.txt", ARTIFACT_TEXT);
        is("a.csv", ARTIFACT_CSV);
        assert_true(judge("a", BIT(TEXT)) && judge("a.tsv", BIT(CSV)));
        assert_false(judge("a", BIT(CSV))); /* nobody said so */
        assert_false(judge("a.csv", BIT(TEXT)));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin(bad[i]);
        is("a.txt", ARTIFACT_DATA);
        assert_false(judge("a.txt", BIT(TEXT)));
    }
    used = 0;
    put("a\0b", 3);
    is("a.csv", ARTIFACT_DATA);
    memset(bytes, 'x', 2000);
    memcpy(bytes + 1024, "%PDF-", 5); /* no reader looks there */
    used = 2000;
    is("a.txt", ARTIFACT_TEXT);
    memcpy(bytes + 1023, "%PDF-", 5);
    is("a.txt", ARTIFACT_DATA);
}

static void json(void **state)
{
    static const char *const good[] = {
        "{}", "[1, 2.5e3, \"\\u00e9\", null]", "\"x\"", "1 ", "{\"a\": {\"a\": []}}\n"};
    static const char *const bad[] = {"", " ", "{", "{}{}", "{,}", "// x\n{}", "{\"a\": 01}",
        "['a']", "NaN", "\xef\xbb\xbf{}", "{\"a\"}", "[1,]", "\"\n\""};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        begin(good[i]);
        is("a.json", ARTIFACT_JSON);
        is("a.txt", ARTIFACT_TEXT);
        assert_true(judge("a", BIT(JSON)) && judge("a.json", BIT(JSON)));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin(bad[i]);
        is("a.json", ARTIFACT_TEXT);
        assert_false(judge("a.json", BIT(JSON)));
        assert_false(judge("a.json", BIT(JSON) | BIT(TEXT)));
        assert_false(judge("a", BIT(JSON)));
    }
    begin("[\"\xff\"]");
    is("a.json", ARTIFACT_DATA);
}

static void nested(size_t depth)
{
    used = 0;
    memset(bytes, '[', depth);
    memset(bytes + depth, ']', depth);
    used = 2 * depth;
}

static void json_depth_and_size(void **state)
{
    (void)state;
    nested(CONTENT_JSON_DEPTH_MAX);
    assert_true(judge("a.json", BIT(JSON)));
    nested(CONTENT_JSON_DEPTH_MAX + 1);
    assert_false(judge("a.json", BIT(JSON)));
    nested(BYTES_MAX / 2);
    assert_false(judge("a.json", BIT(JSON)));
    memset(bytes, 'x', sizeof(bytes));
    bytes[0] = bytes[99999] = '"';
    used = 100000;
    assert_true(judge("a.json", BIT(JSON)));
    bytes[99999] = 'x';
    bytes[BYTES_MAX - 1] = '"'; /* one string that a parser would have to keep */
    used = BYTES_MAX;
    assert_false(judge("a.json", BIT(JSON)));
}

static void two_things_at_once(void **state)
{
    (void)state;
    png();
    put_zip_end(0);
    is("zip behind a picture", ARTIFACT_DATA);
    png_with("teSt", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\0", 22);
    is("zip in a chunk, its comment to the end", ARTIFACT_DATA);
    png_with("teSt", "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff", 22);
    is("what no reader would take", ARTIFACT_PNG);
    png_with("tEXt", "PK\5\6PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26);
    is("a false start in front of it", ARTIFACT_DATA);
    png_with("tEXt", "%PDF-1.4", 8);
    is("pdf in a picture", ARTIFACT_DATA);
    pdf();
    used -= 9;
    put_zip_end(9);
    put_text("\n%%EOF\n \n");
    is("zip in a pdf", ARTIFACT_DATA);
    assert_false(judge("a.pdf", BIT(PDF)));
}

static void holes_are_zeroes(void **state)
{
    struct content *content = content_begin((const uint8_t *)"a.txt", 5, 100003, ANY);

    (void)state;
    content_feed(content, (const uint8_t *)"abc", 3);
    content_feed_zeroes(content, 100000);
    assert_true(content_end(content, &type));
    assert_int_equal(type, ARTIFACT_DATA);
    content_drop(content_begin((const uint8_t *)"a.json", 6, 1, ANY));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(whole_pictures),
    cmocka_unit_test(broken_pngs),
    cmocka_unit_test(broken_jpegs),
    cmocka_unit_test(pages),
    cmocka_unit_test(texts),
    cmocka_unit_test(json),
    cmocka_unit_test(json_depth_and_size),
    cmocka_unit_test(two_things_at_once),
    cmocka_unit_test(holes_are_zeroes),
};

UNIT_MAIN(tests)
