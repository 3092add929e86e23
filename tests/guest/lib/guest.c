/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c: start, text out, end of a test guest. See guest.h. */
#include "lib/guest.h"

#include <stdarg.h>

#include "lib/port.h"

/* Zero page: e820 map and initramfs (Documentation/x86/zero-page.rst). */
enum {
    ZP_RAMDISK_IMAGE = 0x218,
    ZP_RAMDISK_SIZE = 0x21c,
    ZP_E820_COUNT = 0x1e8,
    ZP_E820 = 0x2d0,
    E820_ENTRY_BYTES = 20,

    COM1 = 0x3f8,
    ARGUMENT_BYTES = 64,
    LINE_BYTES = 256,
    MAPPED_GIB = 5,
    PAGE_PRESENT_WRITE = 0x03,
    PAGE_LARGE = 0x80,
    CODE_SELECTOR = 0x10,
    TIMER_VECTOR = 32,
};

static uint64_t low_end, high_end;
static uint64_t pml4[512] __attribute__((aligned(4096)));
static uint64_t pdpt[512] __attribute__((aligned(4096)));
static uint64_t pd[MAPPED_GIB][512] __attribute__((aligned(4096)));
static uint64_t idt[2 * (TIMER_VECTOR + 1)];

extern const char exception_entries[]; /* 16 bytes each */
extern const char timer_entry[];

/* ---- what the compiler calls, and wire.c ---- */

void *memcpy(void *to, const void *from, size_t size)
{
    void *at = to;

    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    void *at = to;

    __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(byte) : "memory");
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const uint8_t *l = left, *r = right;

    for (size_t i = 0; i < size; i++) {
        if (l[i] != r[i])
            return l[i] < r[i] ? -1 : 1;
    }
    return 0;
}

size_t strnlen(const char *text, size_t size)
{
    size_t length = 0;

    while (length < size && text[length])
        length++;
    return length;
}

size_t strlen(const char *text)
{
    return strnlen(text, SIZE_MAX);
}

_Noreturn void must_failed(const char *file, int line, const char *expr);
_Noreturn void must_failed(const char *file, int line, const char *expr)
{
    say("# %s:%u: %s\n", file, (unsigned)line, expr);
    guest_end();
}

bool text_equal(const char *left, const char *right)
{
    return strlen(left) == strlen(right) && memcmp(left, right, strlen(left)) == 0;
}

bool text_number(const char *text, const char *prefix, uint32_t *number)
{
    size_t length = strlen(prefix);

    if (strlen(text) <= length || memcmp(text, prefix, length) != 0)
        return false;
    *number = 0;
    for (text += length; *text >= '0' && *text <= '9'; text++)
        *number = *number * 10 + (uint32_t)(*text - '0');
    return *text == '\0';
}

uint32_t random_next(void)
{
    static uint32_t state = 2463534242; /* xorshift32 */

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* ---- text ---- */

struct line {
    char text[LINE_BYTES];
    size_t used;
};

static void line_put(struct line *line, char byte)
{
    if (line->used < sizeof(line->text))
        line->text[line->used++] = byte;
}

static void line_number(struct line *line, uint64_t value, unsigned base)
{
    char digits[20];
    unsigned count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    while (count > 0)
        line_put(line, digits[--count]);
}

void say(const char *format, ...)
{
    struct line line = {.used = 0};
    va_list args;

    va_start(args, format);
    for (; *format; format++) {
        if (*format != '%') {
            line_put(&line, *format);
            continue;
        }
        format++;
        if (*format == 's') {
            for (const char *text = va_arg(args, const char *); *text; text++)
                line_put(&line, *text);
        } else if (*format == 'u') {
            line_number(&line, va_arg(args, unsigned), 10);
        } else if (*format == 'x') {
            line_number(&line, va_arg(args, unsigned), 16);
        } else if (*format == 'l') {
            line_number(&line, va_arg(args, unsigned long), 16);
            format++;
        }
    }
    va_end(args);
    port_out_string(COM1, line.text, line.used);
}

/* ---- memory, exceptions, the end ---- */

uint64_t ram_low_end(void)
{
    return low_end;
}

uint64_t ram_high_end(void)
{
    return high_end;
}

void breathe(void)
{
    (void)port_in8(0x80); /* nothing is there: the monitor answers */
}

/* An access through a pointer that the compiler cannot follow: the zero page is below its image. */
static const uint8_t *bytes_at(uint64_t address)
{
    __asm__("" : "+r"(address));
    return (const uint8_t *)address;
}

static uint64_t load(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void memory_find(const uint8_t *zero_page)
{
    for (unsigned i = 0; i < zero_page[ZP_E820_COUNT]; i++) {
        const uint8_t *entry = zero_page + ZP_E820 + (size_t)E820_ENTRY_BYTES * i;
        uint64_t end = load(entry, 8) + load(entry + 8, 8);

        if (end > 4 * GIB)
            high_end = end;
        else if (end > low_end)
            low_end = end;
    }
}

static void memory_map(void)
{
    pml4[0] = (uint64_t)pdpt | PAGE_PRESENT_WRITE;
    for (uint64_t i = 0; i < MAPPED_GIB; i++) {
        pdpt[i] = (uint64_t)pd[i] | PAGE_PRESENT_WRITE;
        for (uint64_t j = 0; j < 512; j++)
            pd[i][j] = i * GIB + j * 2 * MIB + (PAGE_LARGE | PAGE_PRESENT_WRITE);
    }
    __asm__ volatile("mov %0, %%cr3" : : "r"(pml4) : "memory");
}

struct table_register {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

static void idt_load(uint16_t limit)
{
    const struct table_register idtr = {.limit = limit, .base = (uint64_t)idt};

    __asm__ volatile("lidt %0" : : "m"(idtr));
}

static void idt_set(unsigned vector, uint64_t entry)
{
    const uint64_t present_interrupt_gate = 0x8e00;

    idt[2 * vector] = (entry & 0xffff) | (uint64_t)CODE_SELECTOR << 16 |
                      present_interrupt_gate << 32 | (entry >> 16 & 0xffff) << 48;
    idt[2 * vector + 1] = entry >> 32;
}

_Noreturn void guest_exception(uint64_t vector, uint64_t code, uint64_t rip);
_Noreturn void guest_exception(uint64_t vector, uint64_t code, uint64_t rip)
{
    say("not ok - exception %u, error 0x%lx at 0x%lx\n", (unsigned)vector, code, rip);
    guest_end();
}

_Noreturn void guest_end(void)
{
    idt_load(0);
    for (;;)
        __asm__ volatile("ud2");
}

_Noreturn void guest_die(const char *why)
{
    say("not ok - %s\n", why);
    guest_end();
}

void guest_start(uint64_t zero_page_gpa);
void guest_start(uint64_t zero_page_gpa)
{
    static char argument[ARGUMENT_BYTES];
    const uint8_t *zero_page = bytes_at(zero_page_gpa);
    const uint8_t *words;
    uint64_t count;

    memory_find(zero_page);
    memory_map();
    for (unsigned i = 0; i < TIMER_VECTOR; i++)
        idt_set(i, (uint64_t)exception_entries + (uint64_t)16 * i);
    idt_set(TIMER_VECTOR, (uint64_t)timer_entry);
    idt_load(sizeof(idt) - 1);
    words = bytes_at(load(zero_page + ZP_RAMDISK_IMAGE, 4));
    count = load(zero_page + ZP_RAMDISK_SIZE, 4);
    for (uint64_t i = 0; i < count && i < sizeof(argument) - 1 && words[i] >= ' '; i++)
        argument[i] = (char)words[i];
    guest_main(argument);
    guest_end();
}
