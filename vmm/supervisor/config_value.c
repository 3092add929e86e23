/* SPDX-License-Identifier: Apache-2.0 */
/* config_value.c: see config_value.h. The input is the user's. */
#include "supervisor/config_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "supervisor/config_keys.h"

struct unit {
    const char *name;
    uint64_t factor;
};

/* Largest first: value_unit_text() takes the first that divides. */
static const struct unit size_units[] = {
    {"T", 1024 * GIB}, {"G", GIB}, {"M", MIB}, {"K", KIB}, {"B", 1}, {NULL, 0}};
static const struct unit duration_units[] = {
    {"h", 3600 * NS_PER_S}, {"m", 60 * NS_PER_S}, {"s", NS_PER_S}, {"ms", NS_PER_MS}, {NULL, 0}};

/* Leading digits of *TEXT, which moves past them. False when there are none or too many. */
static bool take_digits(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t value = 0;

    while (*at >= '0' && *at <= '9') {
        if (!u64_mul(value, 10, &value) || !u64_add(value, (uint64_t)(*at - '0'), &value))
            return false;
        at++;
    }
    if (at == *text)
        return false;
    *text = at;
    *number = value;
    return true;
}

static int value_with_unit(
    const char *text, const struct unit *units, const char *right, uint64_t *value, struct err *err)
{
    const char *at = text;
    uint64_t number;

    if (!take_digits(&at, &number))
        return err_set(err, "it must be a whole number and a unit, %s", right);
    if (*at == '\0')
        return err_set(err, "the unit is missing; write it %s", right);
    for (const struct unit *unit = units; unit->name; unit++) {
        if (strcmp(unit->name, at) != 0)
            continue;
        if (!u64_mul(number, unit->factor, value))
            return err_set(err, "the number is too large");
        return 0;
    }
    return err_set(err, "unknown unit; write it %s", right);
}

int value_size(const char *text, uint64_t *bytes, struct err *err)
{
    return value_with_unit(text, size_units, "like 64K, 512M or 2G", bytes, err);
}

int value_duration(const char *text, uint64_t *ns, struct err *err)
{
    return value_with_unit(text, duration_units, "like 500ms, 30s, 10m or 2h", ns, err);
}

int value_count(const char *text, uint64_t *count, struct err *err)
{
    const char *at = text;

    if (!take_digits(&at, count) || *at != '\0')
        return err_set(err, "it must be a whole number without a unit");
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int value_sha256(const char *text, uint8_t digest[32], struct err *err)
{
    for (size_t i = 0; strlen(text) == 64 && i < 32; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            break;
        digest[i] = (uint8_t)(high << 4 | low);
        if (i == 31)
            return 0;
    }
    return err_set(err, "it must be 64 hexadecimal digits, as sha256sum prints them");
}

/* Append the stretch that starts at the quote; returns what follows it, NULL when it is open. */
static const char *take_quoted(const char *at, char *word, size_t *used)
{
    char quote = *at++;

    while (*at && *at != quote) {
        if (quote == '"' && *at == '\\' && at[1] && strchr("$`\"\\", at[1]))
            at++;
        word[(*used)++] = *at++;
    }
    return *at ? at + 1 : NULL;
}

/* One word from *TEXT, which moves past it. WORD has room for all of it. */
static int take_word(const char **text, char *word, struct err *err)
{
    const char *at = *text;
    size_t used = 0;

    while (*at && *at != ' ' && *at != '\t') {
        if (*at == '\'' || *at == '"') {
            char quote = *at;

            at = take_quoted(at, word, &used);
            if (!at)
                return err_set(err, "the %c quote is never closed", quote);
        } else if (*at == '\\') {
            if (!at[1])
                return err_set(err, "it ends in a backslash");
            word[used++] = at[1];
            at += 2;
        } else {
            word[used++] = *at++;
        }
    }
    word[used] = '\0';
    *text = at;
    return 0;
}

int value_words(const char *text, struct text_list *words, struct err *err)
{
    AUTO_FREE char *word = text_clone(text, strlen(text));

    if (!word)
        return err_set(err, "out of memory");
    for (;;) {
        while (*text == ' ' || *text == '\t')
            text++;
        if (!*text)
            break;
        if (take_word(&text, word, err) < 0 || text_list_keep(words, word, err) < 0)
            return -1;
    }
    if (words->count == 0)
        return err_set(err, "it is empty");
    return 0;
}

int value_list(const char *text, struct text_list *items, struct err *err)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        const char *end = text + length;
        bool more = *end == ',';
        AUTO_FREE char *item = NULL;

        while (text < end && (*text == ' ' || *text == '\t'))
            text++;
        while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        if (end == text)
            return err_set(err, "an item of the list is empty");
        item = text_clone(text, (size_t)(end - text));
        if (!item)
            return err_set(err, "out of memory");
        text = strchr(end, ',');
        if (text_list_keep(items, item, err) < 0)
            return -1;
        if (!more)
            break;
        text++;
        if (!*text)
            return err_set(err, "an item of the list is empty");
    }
    return 0;
}

int value_task_path(const char *text, char **clean, struct err *err)
{
    AUTO_FREE char *path = text_clone(text, strlen(text)); /* room for the clean one */
    size_t used = 0;

    if (!path)
        return err_set(err, "out of memory");
    if (text[0] == '/') {
        if (strncmp(text, "/task/", 6) != 0)
            return err_set(
                err, "it must be a path below /task: relative, or beginning with /task/");
        text += 6;
    }
    while (*text) {
        size_t length = strcspn(text, "/");

        if (length == 2 && memcmp(text, "..", 2) == 0)
            return err_set(err, "\"..\" is not allowed; it must stay below /task");
        if (length > 255)
            return err_set(err, "a component is longer than 255 bytes");
        if (length > 0 && !(length == 1 && *text == '.')) {
            if (used > 0)
                path[used++] = '/';
            memcpy(path + used, text, length);
            used += length;
        }
        text += length;
        if (*text == '/')
            text++;
    }
    path[used] = '\0';
    if (used == 0)
        return err_set(err, "it names /task itself; name a file or directory below it");
    if (used > 4095)
        return err_set(err, "the path is longer than 4095 bytes");
    *clean = take(&path);
    return 0;
}

int value_guest_path(const char *text, struct err *err)
{
    if (text[0] != '/')
        return err_set(err, "it must be an absolute path in the guest, such as /task");
    if (strlen(text) > 4095)
        return err_set(err, "the path is longer than 4095 bytes");
    return 0;
}

static void value_unit_text(char to[32], uint64_t value, const struct unit *units)
{
    const struct unit *unit = units;

    while (unit[1].name && (value == 0 || value % unit->factor != 0))
        unit++;
    snprintf(to, 32, "%" PRIu64 "%s", value / unit->factor, unit->name);
}

void value_size_text(char to[32], uint64_t bytes)
{
    value_unit_text(to, bytes, size_units);
}

void value_duration_text(char to[32], uint64_t ns)
{
    value_unit_text(to, ns, duration_units);
}

int config_parse_uids(struct config *config, const struct config_key *row,
    const struct config_item *item, struct err *err)
{
    unsigned long long low, high;
    int used = 0;

    (void)row;
    if (sscanf(item->value, "%llu-%llu%n", &low, &high, &used) != 2 || item->value[used] ||
        low < 1 || low > high || high >= UINT32_MAX)
        return err_set(err, "it must be FIRST-LAST, two numbers from 1 to 4294967294");
    config->first_uid = (uint32_t)low;
    config->uid_count = (uint32_t)(high - low + 1);
    return 0;
}
