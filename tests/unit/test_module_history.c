/* Tests interpose/trace/state/module_history.h: what lay at an address at a time, by histories of whole, damaged and
 * old spools. */
#include "interpose/trace/state/module_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "= 0 100\n* 1000 2000 0 id=aa /bin/program\n+ 5000 6000 1000 id=bb /lib/a\n.\n"

/* A module is the letter at the end of its path. */
static uint32_t letter(void *context, const char *path, const struct module_identity *identity)
{
    struct module_identity *last = context;
    if (last != NULL)
        *last = *identity;
    return (uint32_t)(unsigned char)path[strlen(path) - 1];
}

/* Reads a history and expects, of an address at the times 150, 250, ..., the letters of its modules; ?: not known. */
static void expect(const char *text, uint64_t address, const char *letters)
{
    struct process_modules modules = {0};
    char *copy = strdup(text), found[32] = "";
    bool settled;
    modules_read(&modules, copy, letter, NULL);
    for (size_t i = 0; letters[i] != '\0'; i++) {
        const struct module_stay *stay = module_at(&modules, address, 100 * i + 150, &settled);
        found[i] = stay != NULL ? (char)stay->module : '?';
    }
    assert_string_equal(found, letters);
    modules_release(&modules);
    free(copy);
}

static void test_times(void **state)
{
    (void)state;
    expect(FIRST, 0x1800, "mmmm");
    expect(FIRST, 0x5000, "aaaa");
    expect(FIRST, 0x6000, "????");
    expect(FIRST "= 300 310\n- 5000\n.\n", 0x5800, "aa????");
    /* right before and right after dlclose; the next one came some time before it was seen */
    expect(FIRST "= 300 310\n- 5000\n.\n= 310 500\n+ 5800 6800 0 - /lib/b\n.\n", 0x5900, "aabbbb");
    expect(FIRST "= 300 310\n- 5000\n.\n= 310 500\n+ 5800 6800 0 - /lib/b\n.\n", 0x5700, "aa????");
    /* both were there in the time between, in an order that nobody knows */
    expect(FIRST "= 200 500\n- 5000\n+ 5000 6000 0 - /lib/b\n.\n", 0x5900, "a???bbb");
    /* the same file in two pieces, as mprotect leaves it */
    expect(FIRST "= 200 500\n- 5000\n+ 5000 5800 1000 - /lib/a\n+ 5800 6000 1800 - /lib/a\n.\n", 0x5900, "aaaaaa");
    /* it went at some time, and others may have come and gone */
    expect(FIRST "? 200 500\n- 5000\n.\n", 0x5900, "a????");
    expect(FIRST "? 200 500\n- 5000\n.\n", 0x1900, "mmmmm");
}

static void test_ends(void **state)
{
    (void)state;
    expect(FIRST "! 300\n", 0x5900, "aa???");
    expect(FIRST "! 300\n", 0x1900, "mmmmm");
    expect(FIRST "! 300\n= 300 600\n.\n", 0x5900, "aaaaaaa");
    /* cut off, damaged: what was told before holds */
    expect(FIRST "= 300 310\n- 50", 0x5900, "aa???");
    expect(FIRST "= 300 310\n- 5000\n", 0x5900, "aa???");
    expect(FIRST "= 300 310\n", 0x5900, "aa???");
    expect(FIRST "= 310 300\n.\n", 0x5900, "?????");
    expect(FIRST "nonsense\n", 0x1900, "mmmmm");
    expect("+ 1000", 0x1000, "??");
    expect("= 0 1\n+ 2000 1000 0 - /z\n+ ffffffffffffffffff 1 1 - /z\n.\n", 0x1800, "??");
}

static void test_maps(void **state)
{
    (void)state;
    expect("1000-2000 r-xp 00000000 08:01 5   /bin/program\n2000-3000 r--p 0 0:0 0 /x\nnonsense\n"
           "3000-4000 r-xp 0 0:0 0 [vdso]\n5000-6000 r-xp 0 0:0 0 /lib/a",
           0x5900, "aaaa");
    expect("2000-3000 r--p 0 0:0 0 /x\n", 0x2000, "??");
    expect("", 0x2000, "??");
}

static void expect_identity(const char *word, enum module_evidence evidence, uint64_t inode)
{
    struct process_modules modules = {0};
    struct module_identity identity = {0};
    char text[200];
    snprintf(text, sizeof text, "= 0 1\n+ 1000 2000 0 %s /a b/c d\n.\n", word);
    modules_read(&modules, text, letter, &identity);
    assert_int_equal(modules.n_stays, 1);
    assert_int_equal(modules.stays[0].module, 'd');
    assert_int_equal(identity.evidence, evidence);
    assert_int_equal(identity.inode, inode);
    modules_release(&modules);
}

static void test_identities(void **state)
{
    (void)state;
    expect_identity("id=0123abcd", MODULE_BUILD_ID, 0);
    expect_identity("file=1,2,3,4", MODULE_STATUS, 4);
    expect_identity("file=1,2,3", MODULE_UNKNOWN, 0);
    expect_identity("id=", MODULE_UNKNOWN, 0);
    expect_identity("deleted", MODULE_DELETED, 0);
    expect_identity("-", MODULE_UNKNOWN, 0);
}

/* A plug-in and another one took turns 10,000 times at one address: a call is found by its time. */
static void test_many(void **state)
{
    (void)state;
    enum { TURNS = 10000 };
    char *text = malloc(TURNS * 200 + 1), *end = text;
    struct process_modules modules = {0};
    bool settled;
    for (int i = 0; i < TURNS; i++)
        end += sprintf(end, "= %d %d\n+ 5000 6000 0 - /lib/%c\n.\n= %d %d\n- 5000\n.\n", 10 * i + 1, 10 * i + 5,
                       "ab"[i % 2], 10 * i + 6, 10 * i + 9);
    modules_read(&modules, text, letter, NULL);
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(module_at(&modules, 0x5100, (uint64_t)(10 * i + 4), &settled)->module, "ab"[i % 2]);
    modules_release(&modules);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times), cmocka_unit_test(test_ends),       cmocka_unit_test(test_maps),
        cmocka_unit_test(test_many),  cmocka_unit_test(test_identities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
