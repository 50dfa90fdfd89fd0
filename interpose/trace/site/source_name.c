/* Compilers mangle names of functions; a demangled one of C++ is a whole declaration. Here symbols become names as the
 * source has them, and these become short. */
#include "interpose/trace/site/source_name.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "share/base/memory.h"

/* Demangling uses the C++ library, which every machine has that runs programs in C++; it is loaded for the first
 * mangled name.
 *
 * Fortran compilers mangle simply. A procedure `exchange` of a module `halo` is __halo_MOD_exchange by gfortran and
 * halo_mp_exchange_ by ifort and ifx. Outside of modules it is exchange_, with -fsecond-underscore also exchange__,
 * and inside another procedure exchange.3. */
#define LIBRARY      "libstdc++.so.6"
#define LONGEST_NAME 65536 /* no compiler makes longer ones; the demangler recurses */

/* The Itanium C++ ABI defines this function; its result comes from malloc(). */
typedef char *demangle_function(const char *symbol, char *buffer, size_t *length, int *status);

static demangle_function *load_demangler(void)
{
    static demangle_function *function;
    static bool is_tried;
    if (!is_tried) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        void *found = library == NULL ? NULL : dlsym(library, "__cxa_demangle");
        memcpy(&function, &found, sizeof found);
        is_tried = true;
    }
    return function;
}

/* True if a source is Fortran's, by the last part of its name; one that is not known may be. */
static bool may_be_fortran(const char *file)
{
    static const char *const ends[] = {"f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08", "f18"};
    const char *dot = file == NULL ? NULL : strrchr(file, '.');
    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot + 1, ends[i]) == 0)
            return true;
    return file == NULL;
}

/* Returns "module::name" of two parts of a symbol, the second up to length. */
static char *join_path(const char *module, size_t module_length, const char *name, size_t length)
{
    return xasprintf("%.*s::%.*s", (int)module_length, module, (int)length, name);
}

/* Returns the length of a name without what gfortran adds to an internal procedure's: ".3". */
static size_t length_without_number(const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t digits = dot == NULL ? 0 : strspn(dot + 1, "0123456789");
    return digits > 0 && dot > name && dot[1 + digits] == '\0' ? (size_t)(dot - name) : strlen(name);
}

static char *demangle_fortran(const char *symbol, const char *file)
{
    size_t length = length_without_number(symbol);
    const char *part = strstr(symbol, "_MOD_");
    if (strncmp(symbol, "__", 2) == 0 && part != NULL && part > symbol + 2 && part + 5 < symbol + length)
        return join_path(symbol + 2, (size_t)(part - symbol - 2), part + 5, (size_t)(symbol + length - part - 5));
    if (!may_be_fortran(file))
        return xstrdup(symbol);
    size_t kept = length;
    while (kept > 0 && length - kept < 2 && symbol[kept - 1] == '_')
        kept--;
    part = strstr(symbol, "_mp_");
    if (length - kept == 1 && part != NULL && part > symbol && part + 4 < symbol + kept)
        return join_path(symbol, (size_t)(part - symbol), part + 4, (size_t)(symbol + kept - part - 4));
    return xstrndup(symbol, kept > 0 ? kept : length);
}

char *demangle(const char *symbol, const char *file)
{
    int status = -1;
    demangle_function *function = NULL;
    char *name = NULL;
    if (strncmp(symbol, "_Z", 2) == 0 && strnlen(symbol, LONGEST_NAME) < LONGEST_NAME)
        function = load_demangler();
    if (function != NULL)
        name = function(symbol, NULL, NULL, &status);
    return name != NULL && status == 0 ? name : demangle_fortran(symbol, file);
}

/* A short name: a demangled function of C++ is a declaration: result, name, parameters, qualifiers. The name is the
 * last word before the parameters, where a word ends at a blank outside of all brackets. What makes that difficult:
 *
 *     void (*choose<int>(int))(double)            the name lies inside of the result
 *     decltype ((a)+(b)) add<int, long>(int)      brackets of the result
 *     A::operator void (*)(int)() const           a conversion: the name goes up to the last brackets
 *     bool A::operator< <A>(A)                    no bracket, and a blank that is none
 *     main::Local::bar(double)::{lambda(int)#1}::operator()(int) const        parameters inside of the name
 *
 * (anonymous namespace):: is left out, and so is what says no more than that a lambda was called. */
enum { LONG_NAME = 24 }; /* characters, which fit into a table; a longer name goes without template arguments */

/* Collects the name, which is never longer than the declaration. */
struct word {
    char *text;
    size_t length;
    bool brief; /* without template arguments */
};

static bool starts(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_of_identifier(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Returns what follows the brackets that open here, ( [ or {; the end of the text if they are never closed. */
static const char *behind_brackets(const char *at)
{
    size_t depth = 0;
    for (; *at != '\0'; at++) {
        depth += *at == '(' || *at == '[' || *at == '{';
        if ((*at == ')' || *at == ']' || *at == '}') && --depth == 0)
            return at + 1;
    }
    return at;
}

/* Returns what follows "operator", which stands here, and its symbol or word; NULL where something else stands here.
 * Of a conversion that is the "operator " alone. */
static const char *behind_operator(const char *begin, const char *at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=",    ">>=",  "->*",       "->",      "<<",       ">>",
                                          "<=", ">=", "==",  "!=",     "&&",   "||",        "++",      "--",       "+=",
                                          "-=", "*=", "/=",  "%=",     "&=",   "|=",        "^=",      "<",        ">",
                                          "=",  "!",  "+",   "-",      "*",    "/",         "%",       "&",        "|",
                                          "^",  "~",  ",",   " new[]", " new", " delete[]", " delete", " co_await"};
    if (!starts(at, "operator") || is_of_identifier(at[8]) || (at > begin && is_of_identifier(at[-1])))
        return NULL;
    at += strlen("operator");
    if (starts(at, "\"\"")) {
        for (at += 2 + (at[2] == ' '); is_of_identifier(*at); at++)
            ;
        return at;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        size_t length = strlen(symbols[i]);
        if (starts(at, symbols[i]) && !(symbols[i][0] == ' ' && is_of_identifier(at[length])))
            return at + length;
    }
    return at + (*at == ' ');
}

/* Returns what follows the template arguments that open here. */
static const char *behind_arguments(const char *at)
{
    const char *begin = at, *next;
    size_t depth = 0;
    while (*at != '\0') {
        if ((next = behind_operator(begin, at)) != NULL)
            at = next;
        else if (*at == '(' || *at == '[' || *at == '{')
            at = behind_brackets(at);
        else if (at[0] == '-' && at[1] == '>')
            at += 2;
        else if (depth += *at == '<', *at++ == '>' && --depth == 0)
            break;
    }
    return at;
}

static void add_name(struct word *word, const char *text, const char *end)
{
    memmove(word->text + word->length, text, (size_t)(end - text));
    word->length += (size_t)(end - text);
}

/* Adds template arguments, and returns what follows them. */
static const char *add_arguments(struct word *word, const char *at)
{
    static const char left_out[] = "<...>";
    const char *end = behind_arguments(at);
    if (word->brief && end - at > (ptrdiff_t)strlen(left_out))
        add_name(word, left_out, left_out + strlen(left_out));
    else
        add_name(word, at, end);
    return end;
}

/* Returns what follows the qualifiers of a function behind its parameters. */
static const char *behind_qualifiers(const char *at)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "&&", "&", " noexcept"};
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
        if (starts(at, qualifiers[i])) {
            at += strlen(qualifiers[i]);
            i = (size_t)-1;
        }
    return *at == '[' ? behind_brackets(at) : at;
}

/* Adds the type of a conversion, and returns what follows it: its parameters. The type may have brackets of its own, so
 * the last ones are the parameters, or those before "::". */
static const char *add_type(struct word *word, const char *at)
{
    const char *end = NULL, *next = at;
    while (*next != '\0' && !starts(next, " [clone")) {
        if (*next == '(') {
            end = next;
            next = behind_brackets(next);
            if (starts(behind_qualifiers(next), "::"))
                break;
        } else {
            next = *next == '<' ? behind_arguments(next) : next + 1;
        }
    }
    end = end != NULL ? end : next;
    while (at < end)
        if (*at == '<') {
            at = add_arguments(word, at);
        } else {
            add_name(word, at, at + 1);
            at++;
        }
    return end;
}

/* Adds an operator that ends there, and returns what follows it. */
static const char *add_operator(struct word *word, const char *at, const char *end)
{
    add_name(word, at, end);
    if (end[-1] == ' ')
        return add_type(word, end);
    if (end[0] != ' ' || end[1] != '<')
        return end;
    add_name(word, end, end + 1); /* the blank keeps < and << apart from their arguments */
    return add_arguments(word, end + 1);
}

/* Adds "{lambda#1}" for "{lambda(int)#1}::operator()", other braces as they are; returns what follows. */
static const char *add_braces(struct word *word, const char *at)
{
    const char *end = behind_brackets(at), *number = end;
    if (!starts(at, "{lambda(")) {
        add_name(word, at, end);
        return end;
    }
    while (number > at && *number != '#')
        number--;
    add_name(word, at, at + strlen("{lambda"));
    add_name(word, number > at ? number : end, end);
    if (starts(end, "::operator()")) {
        end += strlen("::operator()");
        if (*end == '<')
            end = behind_arguments(end);
    }
    return end;
}

/* True if brackets that open a word hold the name, as in "void (*choose(int))(double)"; *inner is then behind what
 * says so. */
static bool hold_name(const char *at, const char **inner)
{
    const char *end = behind_brackets(at);
    for (at++; at < end && (is_of_identifier(*at) || *at == ':' || *at == '<');)
        at = *at == '<' ? behind_arguments(at) : at + 1;
    *inner = at + strspn(at, "*& ");
    return at < end && (*at == '*' || *at == '&') && *inner < end;
}

/* Collects the name of a declaration; returns false where there is none. */
static bool read_name(struct word *word, const char *text)
{
    static const char anonymous[] = "(anonymous namespace)::";
    bool is_declaration = strchr(text, '(') != NULL;
    word->length = 0;
    for (const char *at = text, *next; *at != '\0';) {
        bool is_empty = word->length == 0;
        if ((next = behind_operator(text, at)) != NULL) {
            at = add_operator(word, at, next);
        } else if (starts(at, anonymous)) {
            at += strlen(anonymous);
        } else if (*at == '<') {
            at = add_arguments(word, at);
        } else if (*at == '{') {
            at = add_braces(word, at);
        } else if (*at == '[') {
            at = behind_brackets(at);
        } else if (*at == ' ' && is_declaration) {
            if (at[1] == '[') /* a clone, or the array that is returned */
                break;
            bool is_type = word->length == strlen("decltype") && memcmp(word->text, "decltype", word->length) == 0;
            at = is_type && at[1] == '(' ? behind_brackets(at + 1) : at + 1;
            word->length = 0;
        } else if (*at == '(' && is_empty && hold_name(at, &next)) {
            at = next;
        } else if (*at == '(') {
            if (is_empty)
                return false;
            at = behind_qualifiers(behind_brackets(at));
            if (!starts(at, "::"))
                break;
        } else {
            add_name(word, at, at + 1);
            at++;
        }
    }
    return word->length > 0;
}

/* Returns how much of a name is left without what compilers add to copies and parts of a function of C, and without the
 * version of a symbol. */
static size_t length_without_clone(const char *text, size_t length)
{
    static const char *const marks[] = {"@", ".cold", ".constprop.", ".isra.", ".llvm.", ".lto_priv.", ".part."};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *found = memmem(text, length, marks[i], strlen(marks[i]));
        if (found > text)
            length = (size_t)(found - text);
    }
    return length;
}

char *short_name(const char *function)
{
    size_t length = strlen(function);
    struct word word = {.text = xmalloc(length + 1)};
    if (read_name(&word, function) && word.length > LONG_NAME) {
        word.brief = true;
        read_name(&word, function);
    }
    if (word.length == 0)
        add_name(&word, function, function + length);
    word.length = length_without_clone(word.text, word.length);
    word.text[word.length] = '\0';
    return word.text;
}
