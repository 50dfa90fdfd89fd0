/* Tests interpose/trace/site/source_name.h: the name alone is left of a declaration, whatever stands around and in it.
 * The declarations are what __cxa_demangle of GCC 12 says of functions that were compiled. */
#include "interpose/trace/site/source_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *function, const char *expected)
{
    char *name = short_name(function);
    assert_non_null(name);
    assert_string_equal(name, expected);
    free(name);
}

static void test_declarations(void **state)
{
    (void)state;
    expect("ring::pass(int)", "ring::pass");
    expect("double ring<double>::pass<3>(double, int)", "ring<double>::pass<3>");
    expect("int Foam::returnReduce<int, Foam::sumOp<int> >(int const&, Foam::sumOp<int> const&, int, int)",
           "Foam::returnReduce<...>");
    expect("void f<&(A::operator>)>()", "f<&(A::operator>)>");
    expect("std::vector<double, std::allocator<double> > Foam<std::vector<double, std::allocator<double> > >::reduce<"
           "std::plus<int> >(std::vector<double, std::allocator<double> > const&, std::plus<int> const&)",
           "Foam<...>::reduce<...>");
    expect("void (*choose<int>(int))(double)", "choose<int>");
    expect("void (*(*deep<int>(int))(double))(char)", "deep<int>");
    expect("void (A::*member<int>(int))(int)", "member<int>");
    expect("int (&array<int>(int)) [3]", "array<int>");
    expect("decltype (((int)())+((long)())) add<int, long>(int, long)", "add<int, long>");
    expect("decltype (((({parm#1}.size)())>(3))) more<A>(A)", "more<A>");
    expect("void ns::call<void (*)(int)>(void (*)(int))", "ns::call<void (*)(int)>");
    expect("A::~A()", "A::~A");
    expect("Tag[abi:v2]::f()", "Tag::f");
    expect("f(int) [clone .cold]", "f");
    expect("non-virtual thunk to X::f(int)", "X::f");
    expect("A::f(int) const volatile &&", "A::f");
}

static void test_operators(void **state)
{
    (void)state;
    static const char *const names[] = {
        "()", "[]", "->",   "->*",    "<<",      ">>",        "<",       ">",    "<=>",      "==",
        "=",  ",",  " new", " new[]", " delete", " delete[]", "\"\" _x", " int", " double*", " void (*)(int)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char function[128], name[64];
        snprintf(name, sizeof name, "A::operator%s", names[i]);
        snprintf(function, sizeof function, "%s(A const&) const", name);
        expect(function, name);
    }
    expect("A& A::operator<< <double>(double)", "A::operator<< <double>");
    expect("bool A::operator< <A>(A)", "A::operator< <A>");
    expect("A::operator-><int>()", "A::operator-><int>");
    expect("double A::operator()<double>(double)", "A::operator()<double>");
    expect("A::operator double*<double>()", "A::operator double*<...>");
    expect("A::operator std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int> > >()",
           "A::operator std::vector<...>");
    expect("void pointer<&(A::operator>(A const&) const)>()", "pointer<...>");
    expect("operatorial(int)", "operatorial");
}

static void test_nested(void **state)
{
    (void)state;
    expect("(anonymous namespace)::hidden(double)", "hidden");
    expect("long* (anonymous namespace)::Anon::of<long>(long) const", "Anon::of<long>");
    expect("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}");
    expect("auto main::{lambda(auto:1)#2}::operator()<int>(int) const", "main::{lambda#2}");
    expect("main::Local::bar(double)::{lambda(char const*)#1}::operator()(char const*) const",
           "main::Local::bar::{lambda#1}");
    expect("A::operator int() const::{lambda(int)#1}::operator()(int) const", "A::operator int::{lambda#1}");
}

/* What is no declaration stays, and so does what is cut off. */
static void test_others(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",    "main", "halo::exchange", "exchange_", "a b", "_Z3foo", "(", "((", "<", ">", "{", "[",
        "a)b", "()",   "operator",       ".cold",     "@"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(names[i], names[i]);
    expect("main.cold", "main");
    expect("exchange.part.0.constprop.3", "exchange");
    expect("__libc_start_main@@GLIBC_2.34", "__libc_start_main");
    expect("f<", "f<");
    expect("f(", "f");
}

/* Any text gives a name that is no longer; a sanitizer sees the rest. */
static void test_any(void **state)
{
    (void)state;
    static const char *const parts[] = {"operator", " ",        "(",   ")",        "<",
                                        ">",        "{lambda(", "#1}", "}",        "[",
                                        "]",        "::",       "a",   "decltype", "(anonymous namespace)::",
                                        "*",        "&",        "-",   ".cold",    " const",
                                        "\"\""};
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char text[512] = "";
        for (int k = 0; k < 16; k++) {
            seed = seed * 1664525 + 1013904223;
            strcat(text, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
        }
        char *name = short_name(text);
        assert_non_null(name);
        assert_true(strlen(name) <= strlen(text) && name[0] != '\0');
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_declarations), cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_nested), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_any)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
