/* Tests interpose/trace/site/source_name.h: what compilers of C++ and Fortran make of names is undone; names of C
 * stay. */
#include "interpose/trace/site/source_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *symbol, const char *file, const char *expected)
{
    char *name = demangle(symbol, file);
    assert_non_null(name);
    assert_string_equal(name, expected);
    free(name);
}

static void test_fortran(void **state)
{
    (void)state;
    expect("__halo_MOD_exchange", NULL, "halo::exchange");
    expect("__halo_mesh_MOD_exchange_all", "mesh.F90", "halo_mesh::exchange_all");
    expect("__halo_MOD_inner.12", "/src/halo.f90", "halo::inner");
    expect("halo_mp_exchange_", NULL, "halo::exchange");
    expect("halo_mp_exchange_all_", "halo.FOR", "halo::exchange_all");
    expect("halo_exchange_", NULL, "halo_exchange");
    expect("halo_exchange__", "halo.f", "halo_exchange");
    expect("halo_exchange___", "halo.f", "halo_exchange_");
    expect("exchange.3", "halo.F08", "exchange");
    expect("MAIN__", "halo.f90", "MAIN");
}

static void test_c(void **state)
{
    (void)state;
    static const char *const names[] = {"halo_exchange_", "halo_mp_exchange_", "exchange.3", "main", "_start", "a"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(names[i], "halo.c", names[i]);
    expect("main", NULL, "main");
    expect("part.isra.0", "halo.cc", "part.isra.0");
}

static void test_cpp(void **state)
{
    (void)state;
    char *name = demangle("_ZN4ring4passEi", "ring.cpp");
    assert_non_null(name);
    assert_true(strcmp(name, "ring::pass(int)") == 0 || strcmp(name, "_ZN4ring4passEi") == 0); /* no C++ library here */
    free(name);
    expect("_Z", "zoo.c", "_Z");
}

/* Nothing of a name is left out that is all mark, or cut off. */
static void test_odd(void **state)
{
    (void)state;
    static const char *const names[] = {"", "__MOD_x", "_mp_x", "_mp_a", ".3", "a.3b", "a.", "a.b", "__MOD", "x_MOD_y"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(names[i], NULL, names[i]);
    expect("_", NULL, "_");
    expect("__", NULL, "__");
    expect("_mp_a_", NULL, "_mp_a");
    expect("a_mp__", NULL, "a_mp");
    expect("__x_MOD_", NULL, "__x_MOD");
    expect("__x_MOD_.3", NULL, "__x_MOD");
    size_t length = 200000;
    char *symbol = malloc(length + 1), *name;
    assert_non_null(symbol);
    memset(symbol, 'a', length);
    symbol[length] = '\0';
    memcpy(symbol, "_Z", 2);
    name = demangle(symbol, NULL);
    assert_string_equal(name, symbol);
    free(name);
    free(symbol);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fortran), cmocka_unit_test(test_c),
                                       cmocka_unit_test(test_cpp), cmocka_unit_test(test_odd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
