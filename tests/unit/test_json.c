/* Tests json.h: text, numbers and layouts as readers of JSON and golden outputs have them. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/json.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static void expect(struct json *value, enum json_layout layout, const char *text)
{
    char *printed = NULL;
    size_t length;
    FILE *stream = open_memstream(&printed, &length);
    assert_non_null(stream);
    assert_int_equal(json_print(stream, value, layout), 0);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(printed, text);
    free(printed);
    json_release(value);
}

static void writes_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {2, "2.0"},
        {0.1, "0.10000000000000001"},
        {1e20, "1e20"},
        {-1.5e-7, "-1.4999999999999999e-7"},
        {1e16, "10000000000000000.0"},
        {1e17, "1e17"},
        {DBL_MAX, "1.7976931348623157e308"},
        {5e-324, "4.9406564584124654e-324"},
        {NAN, "null"},
        {INFINITY, "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(json_finite(cases[i].value), JSON_LINE, cases[i].text);
    expect(json_finite(0.1), JSON_PAGE, "0.1");
    expect(json_finite(123456789012), JSON_PAGE, "1.23456789e11");
    expect(json_integer(INT64_MIN), JSON_LINE, "-9223372036854775808");
    expect(json_count(INT64_MAX), JSON_LINE, "9223372036854775807");
    expect(json_count(UINT64_MAX), JSON_LINE, "1.8446744073709552e19");
}

static void writes_text(void **state)
{
    (void)state;
    expect(json_string(""), JSON_LINE, "\"\"");
    expect(json_string("\"\\/\b\f\n\r\t\x01\x1f\x7f<"), JSON_LINE, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001F\x7f<\"");
    expect(json_string("</script>\xc3\xa4\xf0\x9f\x98\x80"), JSON_PAGE, "\"\\u003c/script>\xc3\xa4\xf0\x9f\x98\x80\"");
}

static void lays_out(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\n  \"a\": 1,\n  \"b\": [\n    null,\n    true\n  ],\n  \"c\": [],\n  \"d\": {},\n  \"e\": null\n}",
        "{\"a\": 1, \"b\": [null, true], \"c\": [], \"d\": {}, \"e\": null}",
        "{\"a\":1,\"b\":[null,true],\"c\":[],\"d\":{},\"e\":null}",
    };
    for (enum json_layout layout = JSON_INDENTED; layout <= JSON_PAGE; layout++) {
        struct json *object = json_pack("{s:I, s:o, so}", "a", INT64_C(1), "b", json_array(), "c", json_array());
        assert_true(json_has(object, "c"));
        assert_false(json_has(object, "d"));
        json_move(object, json_pack("{so ss?}", "d", json_object(), "e", NULL));
        json_move(object, json_object());
        expect(object, JSON_LINE, "{\"a\": 1, \"b\": [], \"c\": [], \"d\": {}, \"e\": null}");
        struct json *array = json_pack("[o, b]", json_null(), 7);
        assert_int_equal(json_size(array), 2);
        object = json_pack("{si so}", "a", 1, "b", array);
        json_set(object, "c", json_array());
        json_set(object, "d", json_object());
        json_set(object, "e", json_null());
        expect(object, layout, texts[layout]);
    }
    expect(json_pack("[s f i b]", "x", 0.5, -3, 0), JSON_LINE, "[\"x\", 0.5, -3, false]");
}

static void writes_rows(void **state)
{
    (void)state;
    char *printed = NULL;
    size_t length;
    FILE *stream = open_memstream(&printed, &length);
    assert_non_null(stream);
    struct json_rows none = {.stream = stream}, rows = {.stream = stream}, bad = {.stream = stream};
    struct error error = {.text = ""};
    assert_int_equal(json_rows_end(&none, &error), 0);
    json_rows_add(&rows, json_pack("{sI}", "n", INT64_C(1)));
    json_rows_add(&rows, json_pack("{sI}", "n", INT64_C(2)));
    assert_int_equal(json_rows_end(&rows, &error), 0);
    assert_int_equal(json_write(stream, json_pack("[s]", "a"), &error), 0);
    fflush(stream);
    assert_string_equal(printed, "[]\n[\n{\"n\": 1},\n{\"n\": 2}\n]\n[\n  \"a\"\n]\n");
    json_rows_add(&bad, json_pack("{ss}", "n", "\xff"));
    json_rows_add(&bad, json_pack("{ss}", "n", "good"));
    assert_int_equal(json_rows_end(&bad, &error), -1);
    assert_non_null(strstr(error.text, "not UTF-8"));
    assert_int_equal(json_write(stream, json_pack("{sI}", "\xc3", INT64_C(1)), &error), -1);
    assert_int_equal(fclose(stream), 0);
    free(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_numbers),
        cmocka_unit_test(writes_text),
        cmocka_unit_test(lays_out),
        cmocka_unit_test(writes_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
